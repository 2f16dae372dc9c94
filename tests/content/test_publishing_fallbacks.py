"""Fallback platforms: only those that were signed, only after a certain failure, at most one post."""

from typing import Any
from uuid import UUID

import pytest
from django.contrib.auth.models import User
from django.db import IntegrityError, transaction

from agents.models import Agent
from approvals.services import request_revoke
from chimera.core.errors import ChimeraError
from chimera.core.secrets import encrypt
from content import publishing
from content.models import ContentPackage, PlatformAccount, Publication
from skills.models import SkillExecution, Status
from tests.helpers.calls import again, asked, call, sign, stored
from tests.helpers.world import arm_fault, list_posts, open_account

pytestmark = pytest.mark.req("A5.5")
State = Publication.State


@pytest.fixture
def handle(world: str, orchestrator: Agent, settings: Any) -> str:
    """Aurora has this name on every sandbox platform."""
    settings.CHIMERA = settings.CHIMERA.model_copy(update={"chimera_world_url": world})
    name = f"aurora_{UUID(str(orchestrator.id)).hex[-10:]}"
    for platform in ("twitter", "tiktok", "instagram"):
        PlatformAccount.objects.create(
            platform=platform,
            handle=name,
            agent=orchestrator,
            sealed_credentials=encrypt(open_account(world, platform, name).encode()),
        )
    return name


def _disconnect(*platforms: str) -> None:
    """The platform refuses the token: certain that nothing is posted, PLATFORM_ERROR."""
    accounts = PlatformAccount.objects.filter(platform__in=platforms)
    accounts.update(sealed_credentials=encrypt(b"withdrawn"))


def _publish(
    agent: Agent, content: ContentPackage, reviewer: User, *fallbacks: str
) -> SkillExecution:
    request = asked(agent, content, "twitter", fallback_platforms=list(fallbacks))
    token = sign(request, reviewer)
    data = {"content": content.current.data, "approval_token": token, "platform": "twitter"}
    return call(agent, "publish_content", **data)


def _states() -> dict[str, str]:
    return dict(Publication.objects.order_by("id").values_list("platform", "state"))


def test_a_platform_that_fails_for_good_gives_way_to_the_fallback_that_was_signed(
    handle: str, world: str, orchestrator: Agent, reviewer: User, approval_key: Any
) -> None:
    _disconnect("twitter", "tiktok")

    execution = _publish(orchestrator, stored(orchestrator), reviewer, "tiktok", "instagram")

    assert execution.status == Status.COMPLETED, execution.error
    assert execution.output["platform"] == "instagram"
    (post,) = list_posts(world, handle)
    assert (post["platform"], post["post_id"]) == ("instagram", execution.output["post_id"])
    assert post["text"] == Publication.objects.get(platform="twitter").text, "as it was signed"
    assert _states() == {
        "twitter": State.PUBLISH_FAILED,
        "tiktok": State.PUBLISH_FAILED,
        "instagram": State.PUBLISHED,
    }


@pytest.mark.provokes("publish_content", "PLATFORM_ERROR")
def test_without_a_signed_fallback_nothing_is_posted_elsewhere(
    handle: str, world: str, orchestrator: Agent, reviewer: User, approval_key: Any
) -> None:
    _disconnect("twitter")

    execution = _publish(orchestrator, stored(orchestrator), reviewer)

    assert execution.error["code"] == "PLATFORM_ERROR" and list_posts(world, handle) == []


@pytest.mark.parametrize("fault", ["cut_after_effect", "500_after_effect"])
def test_an_unknown_outcome_never_leads_to_a_fallback(
    handle: str, world: str, orchestrator: Agent, reviewer: User, approval_key: Any, fault: str
) -> None:
    arm_fault(world, "platform", fault)

    execution = _publish(orchestrator, stored(orchestrator), reviewer, "tiktok")
    assert execution.status == Status.OUTCOME_UNKNOWN and list(_states()) == ["twitter"]
    again(execution)

    assert execution.output["platform"] == "twitter" and len(list_posts(world, handle)) == 1


def test_a_platform_that_is_only_busy_is_not_given_up(
    handle: str, world: str, orchestrator: Agent, reviewer: User, approval_key: Any
) -> None:
    arm_fault(world, "platform", "429", 10)

    execution = _publish(orchestrator, stored(orchestrator), reviewer, "tiktok")

    assert execution.error["code"] == "RATE_LIMITED" and list(_states()) == ["twitter"]


def test_a_fallback_where_the_content_stands_already_is_passed_over(
    handle: str, world: str, orchestrator: Agent, reviewer: User, approval_key: Any
) -> None:
    content = stored(orchestrator)
    token = sign(asked(orchestrator, content, "tiktok"), reviewer)
    data = {"content": content.current.data, "approval_token": token, "platform": "tiktok"}
    assert call(orchestrator, "publish_content", **data).status == Status.COMPLETED
    _disconnect("twitter")

    execution = _publish(orchestrator, content, reviewer, "tiktok", "instagram")

    assert execution.output["platform"] == "instagram"
    assert sorted(post["platform"] for post in list_posts(world, handle)) == ["instagram", "tiktok"]


def test_a_worker_killed_on_its_way_to_the_fallback_leaves_one_post_there(
    handle: str,
    world: str,
    orchestrator: Agent,
    reviewer: User,
    approval_key: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    _disconnect("twitter")

    class Killed(BaseException):
        pass

    def die(*_: Any) -> None:
        raise Killed

    with monkeypatch.context() as patch, pytest.raises(Killed):
        patch.setattr(publishing, "fallback_begin", die)
        _publish(orchestrator, stored(orchestrator), reviewer, "tiktok")
    approval_id = Publication.objects.get().approval_id

    for _ in range(2):
        publishing.publication_carry_out(approval_id)

    assert [post["platform"] for post in list_posts(world, handle)] == ["tiktok"]


def test_a_revocation_between_two_platforms_stops_the_fallback(
    handle: str,
    world: str,
    orchestrator: Agent,
    reviewer: User,
    approval_key: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    _disconnect("twitter")
    monkeypatch.setattr(publishing, "fallback_begin", lambda *_: None)
    failed = _publish(orchestrator, stored(orchestrator), reviewer, "tiktok")
    assert failed.error["code"] == "PLATFORM_ERROR"

    assert not publishing.publication_under_way(failed.id), "a revocation can still stop it"
    request_revoke(request_id=failed.approval_id, reviewer=reviewer, reason="A mistake")
    assert list_posts(world, handle) == []


def test_the_database_takes_one_live_publication_per_approval(
    handle: str, orchestrator: Agent, reviewer: User, approval_key: Any
) -> None:
    _publish(orchestrator, stored(orchestrator), reviewer, "tiktok")
    first = Publication.objects.get()
    account = PlatformAccount.objects.get(platform="tiktok")
    copied = {
        name: getattr(first, name)
        for name in ("content", "revision", "approval_id", "execution_id", "agent", "reviewer_id")
    }

    with pytest.raises(IntegrityError), transaction.atomic():
        Publication.objects.create(platform="tiktok", account=account, **copied)


@pytest.mark.parametrize("fallbacks", [["youtube"], ["twitter"]])
def test_a_fallback_without_an_account_of_the_same_name_is_refused_before_anyone_signs(
    handle: str, orchestrator: Agent, fallbacks: list[str]
) -> None:
    with pytest.raises(ChimeraError) as refusal:
        asked(orchestrator, stored(orchestrator), "twitter", fallback_platforms=fallbacks)

    assert refusal.value.code == "INVALID_INPUT" and not Publication.objects.exists()
