"""update_agent_state: which changes are allowed, all or nothing, once per execution, audited."""

from datetime import timedelta
from decimal import Decimal
from typing import Any
from uuid import uuid4

import pytest

from agents.models import Agent, StateChange
from chimera.core import audit
from chimera.core.clock import iso, now
from chimera.core.models import AuditEntry
from skills.models import SkillExecution, Status
from tests.helpers.calls import attempt, call
from wallets.models import Wallet

SKILL = "update_agent_state"


def change(agent: Agent, target: Agent, expected: int | None = None, **updates: Any) -> Any:
    data: dict[str, Any] = {"agent_id": str(target.id), "state_updates": updates}
    return call(agent, SKILL, **data | ({"expected_version": expected} if expected else {}))


def entries(target: Agent) -> list[AuditEntry]:
    found = AuditEntry.objects.filter(action="agent.state_changed", object_id=str(target.id))
    return list(found.order_by("sequence"))


def row(target: Agent) -> dict[str, Any]:
    return dict(Agent.objects.values().get(id=target.id))


@pytest.mark.req("A7.1", "A7.4")
def test_a_change_raises_the_version_and_stands_in_the_audit_log(
    orchestrator: Agent, cashier: Agent
) -> None:
    ran = iso(now() - timedelta(minutes=1))

    execution = change(orchestrator, cashier, 1, status="busy", pending_tasks=3, last_execution=ran)

    assert execution.status == Status.COMPLETED, execution.error
    profile = execution.output["updated_profile"]
    assert execution.output["success"] is True and execution.output["new_version"] == 2
    assert (profile["status"], profile["availability"], profile["version"]) == ("busy", "busy", 2)
    assert (profile["pending_tasks"], profile["last_execution"]) == (3, ran)
    (entry,) = entries(cashier)
    assert entry.actor == orchestrator.actor
    assert (entry.data["before"]["status"], entry.data["after"]["status"]) == ("active", "busy")
    assert (entry.data["before"]["version"], entry.data["after"]["version"]) == (1, 2)
    kept = cashier.history.first()
    assert (kept.status, kept.version, kept.actor) == ("busy", 2, orchestrator.actor)
    assert list(audit.verify()) == []


ALLOWED = [
    ("active", "busy"),
    ("busy", "active"),
    ("active", "paused"),
    ("busy", "paused"),
    ("paused", "active"),
    ("active", "error"),
    ("busy", "error"),
    ("paused", "error"),
    ("error", "error"),
]
REFUSED = [("paused", "busy"), ("error", "active"), ("error", "paused"), ("error", "busy")]


@pytest.mark.req("A7.5")
@pytest.mark.parametrize(("before", "after"), ALLOWED)
def test_an_allowed_change_of_status_is_made(
    orchestrator: Agent, cashier: Agent, before: str, after: str
) -> None:
    Agent.objects.filter(id=cashier.id).update(status=before)

    execution = change(orchestrator, cashier, status=after, reason="The budget ran out")

    assert execution.status == Status.COMPLETED, execution.error
    assert (row(cashier)["status"], row(cashier)["version"]) == (after, 2)
    assert row(cashier)["status_reason"] == "The budget ran out"


@pytest.mark.provokes("update_agent_state", "INVALID_STATE_TRANSITION")
@pytest.mark.req("A7.5")
@pytest.mark.parametrize(("before", "after"), REFUSED)
def test_a_forbidden_change_of_status_names_the_allowed_ones_and_changes_nothing(
    orchestrator: Agent, cashier: Agent, before: str, after: str
) -> None:
    Agent.objects.filter(id=cashier.id).update(status=before)
    kept = row(cashier)

    execution = change(orchestrator, cashier, status=after, reason="Go", pending_tasks=7)

    assert execution.error["code"] == "INVALID_STATE_TRANSITION"
    assert execution.error["http_status"] == 422 and not execution.error["retryable"]
    allowed = [wanted for seen, wanted in ALLOWED if seen == before]
    assert sorted(execution.error["details"]["allowed"]) == sorted(allowed)
    assert row(cashier) == kept and not entries(cashier) and not StateChange.objects.exists()


@pytest.mark.req("A7.5")
@pytest.mark.parametrize("before", ["active", "busy", "paused", "error"])
def test_an_error_without_a_reason_is_refused(
    orchestrator: Agent, cashier: Agent, before: str
) -> None:
    Agent.objects.filter(id=cashier.id).update(status=before)

    execution = change(orchestrator, cashier, status="error")

    assert execution.error["code"] == "INVALID_STATE_TRANSITION"
    assert "reason" in execution.error["message"] and row(cashier)["version"] == 1


@pytest.mark.parametrize("status", ["active", "busy", "paused"])
def test_a_status_that_stays_as_it_is_is_no_change_of_status(
    orchestrator: Agent, cashier: Agent, status: str
) -> None:
    Agent.objects.filter(id=cashier.id).update(status=status)

    execution = change(orchestrator, cashier, status=status, pending_tasks=1)

    assert execution.status == Status.COMPLETED, execution.error
    assert execution.output["updated_profile"]["pending_tasks"] == 1


@pytest.mark.provokes("update_agent_state", "CONCURRENCY_ERROR")
@pytest.mark.req("A7.2")
def test_another_version_than_expected_is_a_conflict_that_names_the_current_one(
    orchestrator: Agent, cashier: Agent
) -> None:
    change(orchestrator, cashier, 1, status="busy")
    kept = row(cashier)

    execution = change(orchestrator, cashier, 1, status="paused")

    assert execution.error["code"] == "CONCURRENCY_ERROR" and execution.error["http_status"] == 409
    assert execution.error["details"]["current_version"] == 2
    assert row(cashier) == kept and len(entries(cashier)) == 1


@pytest.mark.provokes("update_agent_state", "AGENT_NOT_FOUND")
@pytest.mark.req("A7.1")
def test_the_state_of_nobody_is_404(orchestrator: Agent) -> None:
    data = {"agent_id": str(uuid4()), "state_updates": {"status": "busy"}}

    execution = call(orchestrator, SKILL, **data)

    assert execution.error["code"] == "AGENT_NOT_FOUND" and execution.error["http_status"] == 404
    assert not StateChange.objects.exists()


@pytest.mark.req("A7.3", "A7.5")
def test_a_balance_that_the_ledger_does_not_know_undoes_the_whole_change(
    orchestrator: Agent, cashier: Agent, purse: Wallet
) -> None:
    kept = row(cashier)

    execution = change(orchestrator, cashier, 1, status="busy", wallet_balance="99.5")

    assert execution.error["code"] == "CONCURRENCY_ERROR"
    assert execution.error["details"]["wallet_balance"] == Decimal(100)
    assert execution.error["details"]["current_version"] == 1
    assert row(cashier) == kept and not entries(cashier)


@pytest.mark.req("A7.5")
def test_the_balance_of_the_ledger_is_accepted(
    orchestrator: Agent, cashier: Agent, purse: Wallet
) -> None:
    execution = change(orchestrator, cashier, wallet_balance="100.000000")

    assert execution.status == Status.COMPLETED, execution.error
    assert execution.output["updated_profile"]["wallet_balance"] == Decimal(100)


def test_an_agent_without_a_wallet_has_no_balance_to_agree_with(
    orchestrator: Agent, cashier: Agent
) -> None:
    execution = change(orchestrator, cashier, wallet_balance=0)

    assert execution.error["code"] == "CONCURRENCY_ERROR" and row(cashier)["version"] == 1


@pytest.mark.req("A7.1")
@pytest.mark.parametrize(
    ("updates", "field"),
    [
        ({}, "state_updates"),
        ({"reason": "Only a reason"}, "state_updates"),
        ({"status": "asleep"}, "state_updates.status"),
        ({"pending_tasks": -1}, "state_updates.pending_tasks"),
        ({"pending_tasks": 10**300}, "state_updates.pending_tasks"),
        ({"pending_tasks": "3"}, "state_updates.pending_tasks"),
        ({"last_execution": iso(now() + timedelta(days=1))}, "state_updates.last_execution"),
        ({"last_execution": "2026-01-01T00:00:00"}, "state_updates.last_execution"),
        ({"wallet_balance": -1}, "state_updates.wallet_balance"),
        ({"status": "error", "reason": ""}, "state_updates.reason"),
        ({"status": "error", "reason": "   "}, "state_updates.reason"),
        ({"status": "error", "reason": "x" * 501}, "state_updates.reason"),
        ({"reputation_score": 1}, "state_updates.reputation_score"),
    ],
)
def test_bad_updates_name_their_field_and_change_nothing(
    orchestrator: Agent, cashier: Agent, api: Any, updates: dict[str, Any], field: str
) -> None:
    body = {"input": {"agent_id": str(cashier.id), "state_updates": updates}}

    answer = api(orchestrator).post(
        f"/api/v1/skills/{SKILL}/executions/", body, content_type="application/json"
    )

    assert (answer.status_code, answer.json()["code"]) == (400, "INVALID_INPUT")
    assert list(answer.json()["errors"]) == [field]
    assert row(cashier)["version"] == 1 and not SkillExecution.objects.exists()


@pytest.mark.req("A7.3", "A0.8", "X3")
def test_a_worker_that_died_before_it_saved_the_result_has_made_the_change_once(
    orchestrator: Agent, cashier: Agent
) -> None:
    execution = change(orchestrator, cashier, 1, status="busy", pending_tasks=2)
    first = execution.output
    change(orchestrator, cashier, 2, status="paused")
    SkillExecution.objects.filter(id=execution.id).update(
        status=Status.RUNNING, lease="gone|1|1|x", lease_until=now() - timedelta(seconds=1),
        output=None, completed_at=None,
    )  # fmt: skip

    assert attempt(execution)

    assert execution.status == Status.COMPLETED and execution.output == first
    assert len(entries(cashier)) == 2 and row(cashier)["version"] == 3
    assert row(cashier)["status"] == "paused"


@pytest.mark.req("A0.2")
def test_an_agent_of_another_role_may_not_change_states(cashier: Agent, api: Any) -> None:
    body = {"input": {"agent_id": str(cashier.id), "state_updates": {"status": "busy"}}}

    answer = api(cashier).post(
        f"/api/v1/skills/{SKILL}/executions/", body, content_type="application/json"
    )

    assert (answer.status_code, answer.json()["code"]) == (403, "FORBIDDEN")
    assert row(cashier)["version"] == 1
