"""skill_execute_publish_intent against the sandbox world: one post per key, and errors that tell."""

import threading
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import OperationalError, connection

from agents.models import Agent
from approvals.models import ApprovalRequest
from chimera.core.clock import now
from chimera.core.errors import ChimeraError
from content import publishing
from content.models import PlatformAccount, Publication
from skills import gating, runner
from skills.models import SkillExecution, Status
from skills.services import submit
from tests.helpers.calls import again, attempt, drive, sign
from tests.helpers.intents import NAME, TEXT, execute, failure, intent, named, review, reviewed
from tests.helpers.world import arm_fault, clear_faults, list_posts

Sent = Callable[[], list[dict[str, Any]]]


@pytest.fixture
def sent(sandbox: str, account: PlatformAccount) -> Sent:
    """What the world has of this test's account."""
    return lambda: list_posts(sandbox, account.handle)


def workers_are_gone() -> None:
    """Their leases have run out, and what they were about to post is old enough to be looked up."""
    running = SkillExecution.objects.filter(lease_until__isnull=False)
    running.update(lease_until=now() - timedelta(seconds=1))
    Publication.objects.filter(armed_at__isnull=False).update(armed_at=now() - timedelta(minutes=5))


@pytest.mark.req("B3", "B3.4")
def test_an_intent_that_a_person_signed_is_posted_and_answered_as_the_document_says(
    orchestrator: Agent, account: PlatformAccount, sent: Sent, reviewer: User, approval_key: Any
) -> None:
    wanted = reviewed(orchestrator, intent(account), reviewer)

    made = execute(orchestrator, wanted)

    [post] = sent()
    assert made.status == Status.COMPLETED and post["text"] == TEXT
    assert made.output == {
        "intentId": "exec-uuid",
        "status": "executed",
        "externalRef": post["post_id"],
        "error": None,
    }
    request = ApprovalRequest.objects.get()
    assert (request.status, request.consumed_by) == ("consumed", made.id)
    assert Publication.objects.get().reviewer_id == str(reviewer.pk)


@pytest.mark.req("B3.4", "W6")
def test_an_intent_whose_review_waits_goes_on_by_itself_once_it_is_signed(
    orchestrator: Agent, account: PlatformAccount, sent: Sent, reviewer: User, approval_key: Any
) -> None:
    wanted = intent(account)
    request = review(orchestrator, wanted)
    waiting = execute(orchestrator, named(wanted, str(request.id)))
    assert waiting.status == Status.BLOCKED and sent() == []

    sign(request, reviewer)
    runner.resume(request.id)
    waiting.refresh_from_db()

    assert drive(waiting).output["status"] == "executed" and len(sent()) == 1


@pytest.mark.req("B3.1")
@pytest.mark.provokes(NAME, "IDEMPOTENCY_CONFLICT")
def test_a_key_stands_for_one_intent_and_one_post(
    orchestrator: Agent, outsider: Agent, account: PlatformAccount, sent: Sent
) -> None:
    wanted = intent(account)
    first, second = (execute(orchestrator, wanted) for _ in range(2))
    assert (first.id, first.output) == (second.id, second.output)

    other = wanted | {"payload": {"content": "Another text altogether.", "mediaRefs": []}}
    for agent, body in ((orchestrator, other), (outsider, wanted)):
        with pytest.raises(ChimeraError, match="IDEMPOTENCY_CONFLICT"):
            execute(agent, body)

    assert len(sent()) == 1 and SkillExecution.objects.count() == 1


@pytest.mark.django_db(transaction=True)
@pytest.mark.req("B3.1", "X3")
def test_callers_that_come_at_once_with_one_key_make_one_post(
    transactional_db: None, orchestrator: Agent, account: PlatformAccount, sent: Sent
) -> None:
    wanted = intent(account)
    data = {"intent": wanted, "environment": "sandbox"}
    gate, ends = threading.Barrier(4), list[str]()

    def work() -> None:
        gate.wait()
        try:
            made = submit(agent=orchestrator, skill_name=NAME, data=data, wake=False).execution
            runner.run(made.id, NAME)
            ends.append("ran")
        except (ChimeraError, OperationalError) as problem:
            ends.append(str(problem))
        finally:
            connection.close()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    workers_are_gone()  # a busy SQLite may have ended a run anywhere
    for execution in SkillExecution.objects.all():
        drive(execution)
    told = execute(orchestrator, wanted)

    assert told.output["status"] == "executed" and len(sent()) == 1, ends
    assert SkillExecution.objects.filter(output__status="executed").count() == 1
    assert ApprovalRequest.objects.count() == 1


# --- where it goes --------------------------------------------------------------------------------


@pytest.mark.req("B3.2")
@pytest.mark.parametrize("environment", ["sandbox", "staging"])
def test_outside_production_it_goes_to_the_sandbox_whatever_is_said(
    orchestrator: Agent,
    account: PlatformAccount,
    sent: Sent,
    reviewer: User,
    approval_key: Any,
    settings: Any,
    environment: str,
) -> None:
    live = {"platform": account.platform, "handle": account.handle, "mode": "live"}
    PlatformAccount.objects.create(**live, agent=orchestrator, base_url="https://api.x.example")
    where = {"chimera_environment": environment, "chimera_platform": "live"}
    settings.CHIMERA = settings.CHIMERA.model_copy(update=where)
    wanted = reviewed(orchestrator, intent(account), reviewer)

    made = execute(orchestrator, wanted, "production")

    assert made.output["status"] == "executed" and len(sent()) == 1
    assert Publication.objects.get().account_id == account.id


# --- what it says of failures ---------------------------------------------------------------------


@pytest.mark.req("B3.3")
@pytest.mark.provokes(NAME, "RATE_LIMITED")
def test_a_busy_platform_is_told_as_retryable_and_the_key_is_free_again(
    orchestrator: Agent, account: PlatformAccount, sandbox: str, sent: Sent
) -> None:
    arm_fault(sandbox, "platform", "429", 10)
    wanted = intent(account)

    failed = execute(orchestrator, wanted)
    clear_faults(sandbox)

    error = failure(failed)
    assert (error["code"], error["retryable"]) == ("RATE_LIMITED", True)
    assert error["backoffSec"] > 0 and failed.retry_count == 3 and sent() == []
    assert Publication.objects.get().state == Publication.State.PUBLISH_FAILED
    second = execute(orchestrator, wanted)
    assert second.output["status"] == "executed" and len(sent()) == 1


@pytest.mark.req("B3.5")
@pytest.mark.provokes(NAME, "BUDGET_EXCEEDED")
@pytest.mark.parametrize(
    ("text", "budget"), [(TEXT, "0.014"), (f"{TEXT} https://aurora.example", "0.19"), (TEXT, 0)]
)
def test_a_post_that_costs_more_than_the_budget_sends_nothing(
    orchestrator: Agent, account: PlatformAccount, sent: Sent, text: str, budget: Any
) -> None:
    wanted = intent(account, budgetUsd=budget, payload={"content": text, "mediaRefs": []})

    failed = execute(orchestrator, wanted)

    error = failure(failed)
    assert (error["code"], error["retryable"], error["backoffSec"]) == ("BUDGET_EXCEEDED", False, 0)
    assert list(error["details"]["errors"]) == ["intent.budgetUsd"] and sent() == []
    assert not Publication.objects.exists() and not ApprovalRequest.objects.exists()


@pytest.mark.req("B3.5", "B3.1")
def test_a_post_that_costs_exactly_the_budget_is_made_under_the_key_that_was_too_poor(
    orchestrator: Agent, account: PlatformAccount, sent: Sent
) -> None:
    wanted = intent(account, budgetUsd="0.014")
    failure(execute(orchestrator, wanted))

    made = execute(orchestrator, wanted | {"budgetUsd": "0.015"})

    assert made.output["status"] == "executed" and len(sent()) == 1


@pytest.mark.req("B3", "B3.3")
@pytest.mark.provokes(NAME, "UNSUPPORTED_ACTION")
@pytest.mark.provokes(NAME, "INVALID_CONTENT")
@pytest.mark.parametrize(
    ("changes", "code", "field"),
    [
        ({"action": "reply"}, "UNSUPPORTED_ACTION", "action"),
        ({"action": "transfer_funds"}, "UNSUPPORTED_ACTION", "action"),
        ({"action": "upload_video"}, "INVALID_INPUT", "payload.mediaRefs"),
        ({"payload": {"content": "x" * 281}}, "INVALID_CONTENT", "payload"),
        ({"payload": {"content": ""}}, "INVALID_CONTENT", "payload"),
        (
            {"payload": {"content": "x", "mediaRefs": ["vid-123"]}},
            "INVALID_INPUT",
            "payload.mediaRefs",
        ),
        (
            {"target": {"platform": "tiktok", "channelId": "nobody"}},
            "INVALID_INPUT",
            "target.channelId",
        ),
    ],
)
def test_what_cannot_be_carried_out_names_the_field_and_posts_nothing(
    orchestrator: Agent,
    account: PlatformAccount,
    sent: Sent,
    changes: dict[str, Any],
    code: str,
    field: str,
) -> None:
    error = failure(execute(orchestrator, intent(account, **changes)))

    assert (error["code"], error["retryable"]) == (code, False)
    assert list(error["details"]["errors"]) == [f"intent.{field}"]
    assert sent() == [] and not Publication.objects.exists()


@pytest.mark.req("B3", "X2")
@pytest.mark.provokes(NAME, "OUTCOME_UNKNOWN")
def test_a_post_whose_answer_got_lost_is_accepted_until_it_is_found(
    orchestrator: Agent, account: PlatformAccount, sandbox: str, sent: Sent
) -> None:
    arm_fault(sandbox, "platform", "cut_after_effect")
    made = execute(orchestrator, intent(account))
    clear_faults(sandbox)
    assert made.status == Status.OUTCOME_UNKNOWN
    assert (made.output["status"], made.output["error"]) == ("accepted", None)

    again(made)

    assert made.output["status"] == "executed" and len(sent()) == 1
    assert made.output["externalRef"] == sent()[0]["post_id"]


# --- killed between two lines ---------------------------------------------------------------------


class Killed(BaseException):
    """Ends a run without any clean-up of the code under test, as kill -9 does."""


@pytest.mark.req("X3", "B3.1")
@pytest.mark.parametrize(
    ("module", "point"),
    [
        (runner, f"{NAME}.claimed"),
        (gating, f"{NAME}.asked"),
        (gating, f"{NAME}.redeemed"),
        (publishing, "publish.prepared"),
        (publishing, "publish.armed"),
        (publishing, "publish.sent"),
        (runner, f"{NAME}.executed"),
    ],
)
def test_a_worker_killed_at_any_point_leaves_one_post_and_one_approval(
    orchestrator: Agent,
    account: PlatformAccount,
    sent: Sent,
    monkeypatch: pytest.MonkeyPatch,
    module: Any,
    point: str,
) -> None:
    def reach(here: str) -> None:
        if here == point:
            raise Killed(point)

    monkeypatch.setattr(module, "reach", reach)
    with pytest.raises(Killed):
        execute(orchestrator, intent(account))
    monkeypatch.undo()
    execution = SkillExecution.objects.get()
    workers_are_gone()

    attempt(execution)

    assert execution.output["status"] == "executed" and len(sent()) == 1
    assert ApprovalRequest.objects.get().consumed_by == execution.id
