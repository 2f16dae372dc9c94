"""debit_wallet against the embedded chain: it waits for a person, pays once, or moves nothing."""

from decimal import Decimal
from typing import Any

import pytest
from django.contrib.auth.models import User

from agents.models import Agent
from approvals.models import ApprovalRequest
from approvals.models import Status as ApprovalStatus
from approvals.services import request_changes, request_expire, request_reject
from skills import runner, tasks
from skills.models import SkillExecution, Status
from tests.helpers.calls import call, drive, payment, sign
from tests.helpers.devnet import Devnet
from wallets.models import Debit, Transfer, Wallet


@pytest.fixture
def blocked(purse: Wallet, cashier: Agent, approval_key: Any) -> SkillExecution:
    """A payment of 2.50 USDC that waits for a person."""
    return call(cashier, "debit_wallet", **payment(purse))


def _request(execution: SkillExecution) -> ApprovalRequest:
    return ApprovalRequest.objects.get(id=execution.approval_id)


@pytest.mark.req("A9.1", "A9.7", "C5")
def test_a_payment_waits_for_a_person_and_goes_on_by_itself(
    blocked: SkillExecution, reviewer: User, purse: Wallet, devnet: Devnet
) -> None:
    assert blocked.status == Status.BLOCKED and not Debit.objects.exists()

    sign(_request(blocked), reviewer)
    runner.resume(blocked.approval_id)
    drive(blocked)

    assert blocked.status == Status.COMPLETED, blocked.error
    assert blocked.output["amount_deducted"] == Decimal("2.5")
    assert blocked.output["new_balance"] == Decimal("97.5")
    receipt = devnet.rpc("eth_getTransactionReceipt", blocked.output["tx_id"])
    assert int(receipt["status"], 16) == 1
    assert _request(blocked).status == ApprovalStatus.CONSUMED


@pytest.mark.parametrize(
    ("decide", "status"),
    [(request_reject, "rejected"), (request_changes, "changes_requested")],
)
@pytest.mark.req("A9.7", "C5")
def test_a_payment_that_a_person_refused_fails_with_the_reason_and_moves_nothing(
    decide: Any, status: str, blocked: SkillExecution, reviewer: User
) -> None:
    request = _request(blocked)
    decide(
        request_id=request.id,
        reviewer=reviewer,
        reason="Too much",
        shown_digest=request.action_digest,
    )

    runner.resume(request.id)
    blocked.refresh_from_db()

    assert blocked.status == Status.FAILED and blocked.error["details"]["approval_status"] == status
    assert "Too much" in blocked.error["message"]
    assert not Debit.objects.exists() and not Transfer.objects.filter(kind="debit").exists()


@pytest.mark.req("A9.7")
def test_a_payment_that_nobody_decided_ends_when_its_request_expires(
    blocked: SkillExecution,
) -> None:
    request_expire(_request(blocked))

    tasks.sweep()
    blocked.refresh_from_db()

    assert blocked.status == Status.FAILED and not Debit.objects.exists()
    assert blocked.error["details"]["approval_status"] == "expired"


@pytest.mark.req("X3")
def test_a_signature_whose_wake_up_was_lost_is_found_by_the_sweep(
    blocked: SkillExecution, reviewer: User
) -> None:
    sign(_request(blocked), reviewer)

    tasks.sweep()
    drive(blocked)

    assert blocked.status == Status.COMPLETED and Debit.objects.count() == 1


@pytest.mark.req("A9.2", "A0.8")
def test_a_paid_key_called_again_charges_nothing(
    blocked: SkillExecution, reviewer: User, cashier: Agent
) -> None:
    sign(_request(blocked), reviewer)
    runner.resume(blocked.approval_id)
    drive(blocked)
    body = {key: value for key, value in blocked.input.items() if value is not None}

    second = call(cashier, "debit_wallet", **body)

    assert second.id == blocked.id and Debit.objects.count() == 1


@pytest.mark.req("A9.3")
def test_more_than_there_is_is_refused_before_a_person_is_asked(
    purse: Wallet, cashier: Agent
) -> None:
    execution = call(cashier, "debit_wallet", **payment(purse, amount="100.01"))

    assert execution.error["code"] == "INSUFFICIENT_BALANCE"
    assert execution.error["http_status"] == 402
    assert not ApprovalRequest.objects.exists() and not Debit.objects.exists()


@pytest.mark.req("A9.7")
def test_a_bad_token_pays_nothing_and_leaves_the_key_usable(purse: Wallet, cashier: Agent) -> None:
    body = payment(purse)

    refused = call(cashier, "debit_wallet", **body, approval_token="not.a.token")

    assert refused.error["code"] == "INVALID_TOKEN" and not Debit.objects.exists()
    assert call(cashier, "debit_wallet", **body).status == Status.BLOCKED


def test_a_payment_whose_money_is_held_cannot_be_cancelled(
    blocked: SkillExecution, reviewer: User, api: Any, cashier: Agent
) -> None:
    sign(_request(blocked), reviewer)
    ApprovalRequest.objects.update(status="consumed", consumed_by=blocked.id)
    SkillExecution.objects.update(status=Status.RETRYING)

    answer = api(cashier).post(f"/api/v1/executions/{blocked.id}/cancel/")

    assert answer.status_code == 409
    blocked.refresh_from_db()
    assert blocked.status == Status.RETRYING
