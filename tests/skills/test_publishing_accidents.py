"""What goes wrong around a post that may be out: it is looked up, and never given up by accident."""

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import OperationalError

from agents.models import Agent
from approvals.services import request_revoke
from content import publishing
from content.models import ContentPackage, PlatformAccount, Publication
from skills import runner
from skills.models import SkillExecution, Status
from tests.helpers.calls import again, asked, call, sign, stored
from tests.helpers.world import arm_fault, clear_faults, list_posts

pytestmark = pytest.mark.req("X2", "A5.4")
Sent = Callable[[], list[dict[str, Any]]]


@pytest.fixture
def publish(
    orchestrator: Agent, account: PlatformAccount, reviewer: User, approval_key: Any
) -> Callable[[], SkillExecution]:
    """Publish a signed content on twitter."""

    def go() -> SkillExecution:
        content: ContentPackage = stored(orchestrator)
        token = sign(asked(orchestrator, content, "twitter"), reviewer)
        data = {"content": content.current.data, "approval_token": token}
        return call(orchestrator, "publish_content", platform="twitter", **data)

    return go


@pytest.fixture
def sent(sandbox: str, account: PlatformAccount) -> Sent:
    return lambda: list_posts(sandbox, account.handle)


def once(problem: Exception, then: Callable[..., Any]) -> Callable[..., Any]:
    """Raises the first time it is called."""
    left = [problem]

    def work(*args: Any, **named: Any) -> Any:
        if left:
            raise left.pop()
        return then(*args, **named)

    return work


def test_a_post_on_its_way_is_followed_up_though_its_agent_was_disabled_and_its_approval_revoked(
    publish: Callable[[], SkillExecution], sandbox: str, sent: Sent, reviewer: User
) -> None:
    arm_fault(sandbox, "platform", "cut_after_effect")
    execution = publish()
    assert execution.status == Status.OUTCOME_UNKNOWN and len(sent()) == 1
    request_revoke(request_id=execution.approval_id, reviewer=reviewer, reason="A mistake")
    Agent.objects.update(enabled=False)
    clear_faults(sandbox)

    again(execution)

    assert execution.status == Status.COMPLETED and len(sent()) == 1
    assert Publication.objects.get().state == Publication.State.PUBLISHED


@pytest.mark.parametrize(
    "problem", [OperationalError("database is locked"), ValueError("?"), KeyError("?")]
)
def test_an_accident_right_after_the_post_does_not_end_it_as_failed(
    publish: Callable[[], SkillExecution],
    sent: Sent,
    problem: Exception,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(publishing, "published", once(problem, publishing.published))

    execution = publish()

    assert execution.status == Status.OUTCOME_UNKNOWN, execution.error
    again(execution)
    assert execution.status == Status.COMPLETED and len(sent()) == 1


def test_an_accident_while_the_result_is_kept_does_not_end_it_as_failed(
    publish: Callable[[], SkillExecution], sent: Sent, monkeypatch: pytest.MonkeyPatch
) -> None:
    locked = OperationalError("database is locked")
    monkeypatch.setattr(runner, "complete", once(locked, runner.complete))

    execution = publish()

    assert execution.status == Status.OUTCOME_UNKNOWN, execution.error
    again(execution)
    assert execution.status == Status.COMPLETED and len(sent()) == 1
