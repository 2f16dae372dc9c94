"""The execution that waits for an unknown post ends as the person has settled it."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User

from agents.models import Agent
from approvals.escalations import outcome_settle
from approvals.models import Escalation
from chimera.core.clock import now
from chimera.core.errors import ChimeraError
from content import publishing
from content.models import ContentPackage, PlatformAccount, Publication
from content.publishing import publication_look_up
from content.settling import Verdict
from skills.endings import CLAIMS_UNTIL_A_PERSON
from skills.models import SkillExecution, Status
from tests.helpers.calls import again, asked, call, sign, stored
from tests.helpers.world import list_posts

pytestmark = pytest.mark.req("X2")


class Killed(BaseException):
    """Ends a run without any clean-up of the code under test, as kill -9 does."""


@pytest.fixture
def kill_at(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """The worker that publishes dies at this point."""

    def arm(point: str) -> None:
        def reach(here: str) -> None:
            if here == point:
                raise Killed(point)

        monkeypatch.setattr(publishing, "reach", reach)

    return arm


@pytest.fixture
def content(account: PlatformAccount, orchestrator: Agent) -> ContentPackage:
    return stored(orchestrator)


@pytest.fixture
def unknown(
    kill_at: Callable[[str], None],
    monkeypatch: pytest.MonkeyPatch,
    orchestrator: Agent,
    content: ContentPackage,
    reviewer: User,
    approval_key: Any,
) -> SkillExecution:
    """An execution whose post nobody can say anything about, and its item in the inbox."""
    kill_at("publish.armed")
    token = sign(asked(orchestrator, content, "twitter"), reviewer)
    data = {"content": content.current.data, "approval_token": token, "platform": "twitter"}
    with pytest.raises(Killed):
        call(orchestrator, "publish_content", **data)
    monkeypatch.undo()
    SkillExecution.objects.update(
        lease_until=now() - timedelta(seconds=1), claims=CLAIMS_UNTIL_A_PERSON - 1
    )
    execution = again(SkillExecution.objects.get())
    assert execution.status == Status.OUTCOME_UNKNOWN
    return execution


def settle(reviewer: User, verdict: Verdict, **given: str) -> Escalation:
    """The person looks long after the post was sent; before, only a post that is live settles it."""
    if verdict != Verdict.LIVE:
        Publication.objects.update(armed_at=now() - timedelta(minutes=5))
    item = Escalation.objects.get()
    return outcome_settle(
        escalation_id=item.id, person=reviewer, verdict=verdict, note="I looked.", **given
    )


def test_a_post_that_is_live_completes_the_execution_with_its_address(
    unknown: SkillExecution, reviewer: User, sandbox: str, account: PlatformAccount
) -> None:
    item = settle(reviewer, Verdict.LIVE, post_url=f"{sandbox}/posts/99")
    again(unknown)
    assert (unknown.status, unknown.output["post_id"]) == (Status.COMPLETED, "99")
    assert (item.state, item.settled_by, item.note) == ("settled", reviewer, "I looked.")
    assert list_posts(sandbox, account.handle) == []


def test_an_outcome_that_becomes_known_by_itself_closes_the_item(
    unknown: SkillExecution, sandbox: str
) -> None:
    Publication.objects.update(armed_at=now() - timedelta(minutes=5))
    again(unknown)

    item = Escalation.objects.get()
    assert unknown.status == Status.COMPLETED
    assert (item.state, item.settled_by) == ("settled", None) and "completed" in item.note


@pytest.mark.provokes("publish_content", "PUBLISH_FAILED")
def test_a_post_that_was_not_made_fails_the_execution_and_can_be_published_anew(
    unknown: SkillExecution,
    reviewer: User,
    orchestrator: Agent,
    content: ContentPackage,
    sandbox: str,
    account: PlatformAccount,
) -> None:
    settle(reviewer, Verdict.NOT_POSTED)
    again(unknown)
    assert (unknown.status, unknown.error["code"]) == (Status.FAILED, "PUBLISH_FAILED")
    assert list_posts(sandbox, account.handle) == []
    token = sign(asked(orchestrator, content, "twitter"), reviewer)
    data = {"content": content.current.data, "approval_token": token, "platform": "twitter"}
    assert call(orchestrator, "publish_content", **data).status == Status.COMPLETED
    assert len(list_posts(sandbox, account.handle)) == 1


def test_a_post_that_is_sent_again_goes_out_once_under_the_same_signature(
    unknown: SkillExecution, reviewer: User, sandbox: str, account: PlatformAccount
) -> None:
    settle(reviewer, Verdict.SEND_AGAIN)
    again(unknown)
    assert unknown.status == Status.COMPLETED
    [post] = list_posts(sandbox, account.handle)
    assert post["post_id"] == unknown.output["post_id"]


def test_looking_again_sends_nothing_where_there_is_no_post(
    unknown: SkillExecution, sandbox: str, account: PlatformAccount
) -> None:
    with pytest.raises(ChimeraError) as answer:
        publication_look_up(Publication.objects.get().id)
    assert answer.value.code == "OUTCOME_UNKNOWN"
    assert Publication.objects.get().state == "outcome_unknown"
    assert list_posts(sandbox, account.handle) == []


def test_looking_again_finds_the_post_that_was_made(
    kill_at: Callable[[str], None],
    orchestrator: Agent,
    content: ContentPackage,
    reviewer: User,
    approval_key: Any,
    sandbox: str,
    account: PlatformAccount,
) -> None:
    kill_at("publish.sent")
    token = sign(asked(orchestrator, content, "twitter"), reviewer)
    data = {"content": content.current.data, "approval_token": token, "platform": "twitter"}
    with pytest.raises(Killed):
        call(orchestrator, "publish_content", **data)
    Publication.objects.update(state="outcome_unknown")

    found = publication_look_up(Publication.objects.get().id)

    [post] = list_posts(sandbox, account.handle)
    assert (found.state, found.post_id) == ("published", post["post_id"])
