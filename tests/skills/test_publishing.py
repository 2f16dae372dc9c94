"""publish_content against the sandbox world with its faults: at most one post per intent."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command

from agents.models import Agent
from approvals.models import ApprovalRequest
from approvals.models import Status as ApprovalStatus
from approvals.services import request_revoke
from chimera.core.clock import iso, now
from chimera.core.models import AuditEntry
from content import publishing
from content.models import ContentPackage, PlatformAccount, Publication
from content.services import content_revise
from skills.models import SkillExecution, Status
from skills.services import submit
from tests.helpers.calls import again, asked, attempt, call, drive, package, sign, stored
from tests.helpers.world import arm_fault, clear_faults, list_posts

Sent = Callable[[], list[dict[str, Any]]]


@pytest.fixture
def content(account: PlatformAccount, orchestrator: Agent) -> ContentPackage:
    return stored(orchestrator)


@pytest.fixture
def token(content: ContentPackage, orchestrator: Agent, reviewer: User, approval_key: Any) -> str:
    """A signed approval of the content on twitter, for now."""
    return sign(asked(orchestrator, content, "twitter"), reviewer)


@pytest.fixture
def sent(sandbox: str, account: PlatformAccount) -> Sent:
    """What the world has of this test's account."""
    return lambda: list_posts(sandbox, account.handle)


def publish(agent: Agent, stored_one: ContentPackage, token: str, **more: Any) -> SkillExecution:
    data = {"content": stored_one.current.data, "approval_token": token, "platform": "twitter"}
    return call(agent, "publish_content", **(data | more))


@pytest.mark.req("A5.1", "A5.4", "C5")
def test_an_approved_post_is_published_once_and_audited(
    orchestrator: Agent, content: ContentPackage, token: str, sent: Sent, reviewer: User
) -> None:
    execution = publish(orchestrator, content, token)

    assert execution.status == Status.COMPLETED, execution.error
    assert [post["post_id"] for post in sent()] == [execution.output["post_id"]]
    entry = AuditEntry.objects.get(action="publication.published")
    assert entry.data["reviewer_id"] == str(reviewer.pk)
    assert entry.data["content_id"] == str(content.id) and entry.at


@pytest.mark.req("A5.9")
def test_the_engagement_of_a_new_post_is_given_as_counts(
    orchestrator: Agent, content: ContentPackage, token: str
) -> None:
    counts = publish(orchestrator, content, token).output["engagement_snapshot"]

    assert set(counts) == {"likes", "comments", "shares"} and min(counts.values()) >= 0


@pytest.mark.req("A5.3")
@pytest.mark.provokes("publish_content", "DUPLICATE_CONTENT")
def test_a_second_publish_names_the_post_that_exists(
    orchestrator: Agent, content: ContentPackage, token: str, sent: Sent
) -> None:
    first = publish(orchestrator, content, token)

    second = publish(orchestrator, content, "any.token.atall")

    assert second.error["code"] == "DUPLICATE_CONTENT" and second.error["http_status"] == 409
    assert second.error["details"]["post_id"] == first.output["post_id"]
    assert second.error["details"]["post_url"] == first.output["post_url"] and len(sent()) == 1


@pytest.mark.parametrize("fault", ["cut_after_effect", "500_after_effect", "slow", "malformed"])
@pytest.mark.req("X2", "A5.5")
def test_a_post_whose_answer_got_lost_is_looked_up_and_never_sent_again(
    fault: str,
    orchestrator: Agent,
    content: ContentPackage,
    token: str,
    sandbox: str,
    sent: Sent,
) -> None:
    arm_fault(sandbox, "platform", fault)
    execution = publish(orchestrator, content, token)
    assert execution.status == Status.OUTCOME_UNKNOWN and len(sent()) == 1
    assert Publication.objects.get().state == Publication.State.OUTCOME_UNKNOWN
    clear_faults(sandbox)

    again(execution)

    assert execution.status == Status.COMPLETED and len(sent()) == 1
    assert execution.output["post_id"] == sent()[0]["post_id"]


@pytest.mark.req("A5.5", "A0.3")
def test_a_platform_that_is_busy_is_asked_again_as_late_as_it_wants(
    orchestrator: Agent, content: ContentPackage, token: str, sandbox: str, sent: Sent
) -> None:
    arm_fault(sandbox, "platform", "429", 2)

    execution = publish(orchestrator, content, token)

    assert execution.status == Status.COMPLETED and execution.retry_count == 2
    assert len(sent()) == 1 and Publication.objects.get().attempts == 3


@pytest.mark.req("A5.5", "X2")
def test_a_platform_that_is_down_leaves_one_post_in_the_end(
    orchestrator: Agent, content: ContentPackage, token: str, sandbox: str, sent: Sent
) -> None:
    arm_fault(sandbox, "platform", "down", 2)
    execution = publish(orchestrator, content, token)
    assert execution.status == Status.OUTCOME_UNKNOWN and sent() == []

    again(execution)
    assert execution.status == Status.OUTCOME_UNKNOWN, "the look-up failed as well"
    again(execution)
    assert execution.status == Status.OUTCOME_UNKNOWN, "a late arrival is still possible"
    Publication.objects.update(armed_at=now() - timedelta(minutes=5))
    again(execution)

    assert execution.status == Status.COMPLETED and len(sent()) == 1


def test_a_post_that_was_refused_to_the_end_can_be_approved_and_published_anew(
    orchestrator: Agent,
    content: ContentPackage,
    token: str,
    sandbox: str,
    sent: Sent,
    reviewer: User,
) -> None:
    arm_fault(sandbox, "platform", "429", 10)
    failed = publish(orchestrator, content, token)
    clear_faults(sandbox)
    assert failed.error["code"] == "RATE_LIMITED" and failed.retry_count == 3
    assert Publication.objects.get().state == Publication.State.PUBLISH_FAILED

    second = publish(orchestrator, content, sign(asked(orchestrator, content, "twitter"), reviewer))

    assert second.status == Status.COMPLETED and len(sent()) == 1


class Killed(BaseException):
    """Ends a run without any clean-up of the code under test, as kill -9 does."""


def _kill_at(monkeypatch: pytest.MonkeyPatch, point: str) -> None:
    def reach(here: str) -> None:
        if here == point:
            raise Killed(point)

    monkeypatch.setattr(publishing, "reach", reach)


def _let_go(execution: SkillExecution) -> None:
    """The lease of the dead process has run out."""
    SkillExecution.objects.update(lease_until=now() - timedelta(seconds=1))
    execution.refresh_from_db()


@pytest.mark.req("X3", "X2")
def test_a_worker_killed_between_send_and_save_leaves_one_post(
    monkeypatch: pytest.MonkeyPatch,
    orchestrator: Agent,
    content: ContentPackage,
    token: str,
    sent: Sent,
) -> None:
    _kill_at(monkeypatch, "publish.sent")
    with pytest.raises(Killed):
        publish(orchestrator, content, token)
    execution = SkillExecution.objects.get()
    assert execution.status == Status.RUNNING and len(sent()) == 1
    monkeypatch.undo()

    _let_go(execution)
    attempt(execution)

    assert execution.status == Status.COMPLETED and len(sent()) == 1


@pytest.mark.req("X3", "X2")
def test_a_worker_killed_between_arming_and_sending_sends_once_later(
    monkeypatch: pytest.MonkeyPatch,
    orchestrator: Agent,
    content: ContentPackage,
    token: str,
    sent: Sent,
) -> None:
    _kill_at(monkeypatch, "publish.armed")
    with pytest.raises(Killed):
        publish(orchestrator, content, token)
    execution = SkillExecution.objects.get()
    monkeypatch.undo()

    _let_go(execution)
    attempt(execution)
    assert execution.status == Status.OUTCOME_UNKNOWN and sent() == [], "it may be on its way"
    Publication.objects.update(armed_at=now() - timedelta(minutes=5))
    again(execution)

    assert execution.status == Status.COMPLETED and len(sent()) == 1


@pytest.mark.req("X3")
def test_a_second_runner_in_the_middle_of_the_send_does_not_send(
    monkeypatch: pytest.MonkeyPatch,
    orchestrator: Agent,
    content: ContentPackage,
    token: str,
    sent: Sent,
) -> None:
    seen: list[Any] = []

    def meanwhile(point: str) -> None:
        if point == "publish.armed" and not seen:
            seen.append(None)
            execution = SkillExecution.objects.get()
            seen.append(attempt(execution))
            with pytest.raises(publishing.ChimeraError, match="OUTCOME_UNKNOWN"):
                publishing.publication_advance(Publication.objects.get().id)

    monkeypatch.setattr(publishing, "reach", meanwhile)

    execution = publish(orchestrator, content, token)

    assert seen == [None, False] and len(sent()) == 1
    assert execution.status == Status.COMPLETED


@pytest.mark.parametrize(
    ("forge", "code"),
    [
        (lambda token: "x", "INVALID_TOKEN"),
        (lambda token: token[:-4] + "AAAA", "INVALID_TOKEN"),
        (lambda token: token.replace(".", ". "), "INVALID_TOKEN"),
        (lambda token: "e30." + token.split(".", 1)[1], "INVALID_TOKEN"),
    ],
)
@pytest.mark.req("A5.2")
def test_a_forged_token_publishes_nothing_and_uses_nothing_up(
    forge: Callable[[str], str],
    code: str,
    orchestrator: Agent,
    content: ContentPackage,
    token: str,
    sent: Sent,
) -> None:
    refused = publish(orchestrator, content, forge(token))

    assert refused.error["code"] == code and refused.error["http_status"] == 401
    assert sent() == [] and not Publication.objects.exists()
    assert publish(orchestrator, content, token).status == Status.COMPLETED


@pytest.mark.req("A5.2")
@pytest.mark.provokes("publish_content", "TOKEN_EXPIRED")
def test_an_expired_token_publishes_nothing(
    orchestrator: Agent, content: ContentPackage, token: str, sent: Sent, time_machine: Any
) -> None:
    time_machine.move_to(now() + timedelta(seconds=1900))

    refused = publish(orchestrator, content, token)

    assert refused.error["code"] == "TOKEN_EXPIRED" and refused.error["http_status"] == 401
    assert sent() == [] and not Publication.objects.exists()


@pytest.mark.parametrize(
    "change",
    [
        {"captions": "Another caption that nobody has ever seen or signed."},
        {"script": "Another script that is long enough and that nobody has ever signed at all."},
        {"hashtags": ["#One", "#Two", "#Three"]},
        {"platform_variants": {"twitter": {"text": "Swapped after the fact", "media_ids": []}}},
    ],
)
@pytest.mark.req("A5.2", "C5")
@pytest.mark.provokes("publish_content", "INVALID_TOKEN")
def test_other_content_than_was_signed_is_refused(
    change: dict[str, Any],
    orchestrator: Agent,
    content: ContentPackage,
    token: str,
    sent: Sent,
) -> None:
    refused = publish(orchestrator, content, token, content=content.current.data | change)

    assert refused.error["code"] == "INVALID_TOKEN" and sent() == []
    assert ApprovalRequest.objects.get().status == ApprovalStatus.APPROVED, "not used up"


@pytest.mark.req("A5.2")
def test_a_revision_after_the_signature_voids_it(
    orchestrator: Agent, content: ContentPackage, token: str, sent: Sent
) -> None:
    changed = package(content_id=str(content.id), captions="A new caption, twenty letters long.")
    content_revise(content_id=content.id, package=changed, actor=orchestrator.actor)
    content.refresh_from_db()

    assert publish(orchestrator, content, token).error["code"] == "INVALID_TOKEN"
    assert sent() == []


@pytest.mark.req("A5.2")
def test_the_token_of_another_agent_is_refused(
    outsider: Agent, content: ContentPackage, token: str, sent: Sent
) -> None:
    assert publish(outsider, content, token).error["code"] == "INVALID_TOKEN"
    assert sent() == []


def test_content_that_nobody_stored_is_not_found(
    orchestrator: Agent, content: ContentPackage, token: str, sent: Sent
) -> None:
    refused = publish(orchestrator, content, token, content=package(content_id=str(uuid4())))

    assert refused.error["code"] == "NOT_FOUND" and sent() == []


# --- scheduled ------------------------------------------------------------------------------------


@pytest.fixture
def later(
    orchestrator: Agent, content: ContentPackage, reviewer: User, approval_key: Any
) -> SkillExecution:
    """A post accepted now for in an hour."""
    moment = iso(now() + timedelta(hours=1))
    token = sign(asked(orchestrator, content, "twitter", schedule_time=moment), reviewer)
    return publish(orchestrator, content, token, schedule_time=moment)


@pytest.mark.req("A5.7")
def test_a_scheduled_post_uses_its_token_up_and_waits(later: SkillExecution, sent: Sent) -> None:
    assert later.status == Status.QUEUED and later.scheduled_for and sent() == []
    assert ApprovalRequest.objects.get().status == ApprovalStatus.CONSUMED
    assert not later.sealed_token and not attempt(later), "not due"


@pytest.mark.req("A5.7")
def test_a_scheduled_post_goes_out_when_it_is_due(
    later: SkillExecution, sent: Sent, time_machine: Any
) -> None:
    time_machine.move_to(now() + timedelta(hours=1, seconds=1))

    attempt(later)

    assert later.status == Status.COMPLETED and len(sent()) == 1


@pytest.mark.req("A5.7")
def test_a_scheduled_post_that_was_revoked_never_goes_out_and_frees_its_place(
    later: SkillExecution,
    sent: Sent,
    reviewer: User,
    time_machine: Any,
) -> None:
    request_revoke(request_id=later.approval_id, reviewer=reviewer, reason="A mistake")
    time_machine.move_to(now() + timedelta(hours=1, seconds=1))

    attempt(later)

    assert later.status == Status.FAILED and sent() == []
    assert Publication.objects.get().state == Publication.State.PUBLISH_FAILED


def test_a_scheduled_post_called_again_with_its_key_is_the_same(
    orchestrator: Agent, content: ContentPackage, reviewer: User, approval_key: Any
) -> None:
    moment = iso(now() + timedelta(hours=1))
    token = sign(asked(orchestrator, content, "twitter", schedule_time=moment), reviewer)
    data = {"content": content.current.data, "approval_token": token, "platform": "twitter"}

    first = call(orchestrator, "publish_content", key="k", schedule_time=moment, **data)
    second = call(orchestrator, "publish_content", key="k", schedule_time=moment, **data)

    assert first.id == second.id and Publication.objects.count() == 1


def test_a_scheduled_post_whose_approval_is_used_up_cannot_be_cancelled(
    later: SkillExecution, api: Any, orchestrator: Agent
) -> None:
    answer = api(orchestrator).post(f"/api/v1/executions/{later.id}/cancel/")

    assert (answer.status_code, answer.json()["code"]) == (409, "NOT_CANCELLABLE")
    later.refresh_from_db()
    assert later.status == Status.QUEUED


# --- no token anywhere ----------------------------------------------------------------------------


@pytest.mark.req("A0.5")
def test_the_token_is_nowhere_but_in_its_sealed_place(
    orchestrator: Agent, content: ContentPackage, token: str, caplog: Any, settings: Any
) -> None:

    refused = publish(orchestrator, content, token[:-4] + "AAAA")
    done = publish(orchestrator, content, token)

    dump = settings.DATA_DIR / f"dump-{uuid4().hex}.json"
    call_command("dumpdata", output=str(dump), verbosity=0)
    written = [dump, settings.DATA_DIR / "log" / "skills.jsonl"]
    broker = settings.DATA_DIR / "broker"
    written += [path for path in broker.rglob("*") if path.is_file()]
    texts = [path.read_text() for path in written if path.exists()] + [caplog.text]
    dump.unlink()
    assert done.status == Status.COMPLETED and done.input["approval_token"] == "[redacted]"
    assert refused.input["approval_token"] == "[redacted]"
    for secret in (token, token.split(".")[1], token.split(".")[2]):
        assert not any(secret in text for text in texts)


def test_a_call_that_waits_has_its_token_sealed(
    orchestrator: Agent, content: ContentPackage, token: str
) -> None:

    data = {"content": content.current.data, "approval_token": token, "platform": "twitter"}
    made = submit(agent=orchestrator, skill_name="publish_content", data=data, wake=False)

    assert token not in str(vars(made.execution)) and made.execution.sealed_token
    assert not drive(made.execution).sealed_token
