"""fetch_wallet_balance and debit_wallet when the chain or the money is not there: nothing is held."""

import socket
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest
from django.contrib.auth.models import User
from pytest_httpserver import HTTPServer

from agents.models import Agent
from approvals.models import ApprovalRequest, Escalation
from chimera.core.clock import now
from chimera.core.secrets import decrypt
from skills import runner
from skills.models import SkillExecution, Status
from tests.helpers.calls import again, call, drive, payment, sign
from tests.helpers.devnet import Devnet
from wallets import networks
from wallets.chain.signer import Fees, LocalSigner, transfer_transaction
from wallets.debits import debits_settle
from wallets.models import Debit, Entry, Transfer, Wallet
from wallets.services import wallet_balances

UseNode = Callable[[str], None]


def books(wallet: Wallet) -> Any:
    """Everything that a payment would change."""
    counts = [table.objects.count() for table in (Debit, Transfer, Entry)]
    return wallet_balances(wallet), counts


def balance(caller: Agent, wallet: Wallet) -> SkillExecution:
    return call(caller, "fetch_wallet_balance", wallet_address=wallet.address)


@pytest.fixture
def use_node(settings: Any) -> UseNode:
    """`use_node(url)`: the platform speaks to this node instead of the embedded chain."""

    def use(url: str) -> None:
        settings.CHIMERA = settings.CHIMERA.model_copy(update={"rpc_urls": {"devnet": url}})

    return use


@pytest.fixture
def nobody(use_node: UseNode) -> None:
    """A node that cannot be reached."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    use_node(f"http://127.0.0.1:{port}")


@pytest.fixture
def babbler(use_node: UseNode, httpserver: HTTPServer) -> HTTPServer:
    """A node that answers, but not in JSON-RPC."""
    httpserver.expect_request("/").respond_with_data("<html>Sign in</html>")
    use_node(httpserver.url_for("/"))
    return httpserver


# --- fetch_wallet_balance -------------------------------------------------------------------------


@pytest.mark.req("A8.3")
def test_a_balance_is_kept_for_thirty_seconds_and_then_read_anew(
    purse: Wallet, cashier: Agent, devnet: Devnet, time_machine: Any
) -> None:
    start = now().timestamp()
    time_machine.move_to(start)
    balance(cashier, purse)
    devnet.fund(purse.address, units=5 * 10**6)

    time_machine.move_to(start + 29)
    kept = balance(cashier, purse)
    time_machine.move_to(start + 31)
    read = balance(cashier, purse)

    assert (kept.cached, kept.output["balance"]) == (True, Decimal(100))
    assert (read.cached, read.output["balance"]) == (False, Decimal(105))


@pytest.mark.provokes("fetch_wallet_balance", "NETWORK_ERROR")
@pytest.mark.req("A8.4")
def test_a_node_that_cannot_be_reached_fails_after_two_retries_without_a_copy(
    purse: Wallet, cashier: Agent, nobody: None
) -> None:
    execution = balance(cashier, purse)

    assert execution.error["code"] == "NETWORK_ERROR" and execution.error["http_status"] == 503
    assert execution.retry_count == 2 and not Escalation.objects.exists()


@pytest.mark.req("A8.4")
def test_a_node_that_never_answers_gives_the_copy_with_a_warning(
    purse: Wallet,
    cashier: Agent,
    use_node: UseNode,
    time_machine: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    balance(cashier, purse)
    time_machine.move_to(now().timestamp() + 31)
    monkeypatch.setattr(networks, "RPC_TIMEOUT", 0.3)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        use_node(f"http://127.0.0.1:{silent.getsockname()[1]}")
        execution = balance(cashier, purse)

    assert execution.status == Status.COMPLETED and execution.warnings == ["STALE_CACHE"]
    assert execution.output["balance"] == Decimal(100) and execution.cached


@pytest.mark.provokes("fetch_wallet_balance", "WALLET_ERROR")
@pytest.mark.req("A8.4")
def test_a_wallet_that_cannot_be_read_is_tried_three_times_and_then_a_person_hears_of_it(
    purse: Wallet, cashier: Agent, babbler: HTTPServer
) -> None:
    first = balance(cashier, purse)
    asked = len(babbler.log)
    balance(cashier, purse)

    assert first.error["code"] == "WALLET_ERROR" and first.error["http_status"] == 500
    assert first.retry_count == 2 and asked == 3
    item = Escalation.objects.get()
    assert (item.skill, item.code, item.count) == ("fetch_wallet_balance", "WALLET_ERROR", 2)
    assert item.agent == cashier and item.context["input"]["wallet_address"] == purse.address


@pytest.mark.provokes("fetch_wallet_balance", "INVALID_ADDRESS")
@pytest.mark.req("A8.4")
@pytest.mark.parametrize(
    ("address", "accepted"),
    [
        ("0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed", True),
        ("0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed", True),
        ("0x5AAEB6053F3E94C9B9A09F33669435E7EF1BEAED", True),
        ("0x5aAeb6053F3E94C9b9A09f33669435E7Ef1Beaed", False),
        ("0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAe", False),
        ("5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed00", False),
    ],
)
def test_an_address_in_mixed_case_must_have_the_right_checksum(
    cashier: Agent, api: Any, address: str, accepted: bool
) -> None:
    answer = api(cashier).post(
        "/api/v1/skills/fetch_wallet_balance/executions/",
        {"input": {"wallet_address": address}},
        content_type="application/json",
    )

    if accepted:
        assert answer.status_code == 202
    else:
        assert (answer.status_code, answer.json()["code"]) == (400, "INVALID_ADDRESS")
        assert list(answer.json()["errors"]) == ["wallet_address"]
        assert not SkillExecution.objects.exists()


# --- debit_wallet ---------------------------------------------------------------------------------


@pytest.mark.provokes("debit_wallet", "INSUFFICIENT_BALANCE")
@pytest.mark.req("A9.3")
def test_too_little_money_pays_nothing_in_part_and_is_one_item_that_counts(
    purse: Wallet, cashier: Agent
) -> None:
    before = books(purse)

    first = call(cashier, "debit_wallet", **payment(purse, amount="100.01"))
    call(cashier, "debit_wallet", **payment(purse, amount="250"))

    assert first.error["code"] == "INSUFFICIENT_BALANCE" and first.retry_count == 0
    assert books(purse) == before and not ApprovalRequest.objects.exists()
    item = Escalation.objects.get()
    assert (item.skill, item.code, item.count) == ("debit_wallet", "INSUFFICIENT_BALANCE", 2)
    assert item.context["input"]["wallet_address"] == purse.address
    details = item.context["error"]["details"]
    assert (details["required"], details["available"]) == ("250.000000", "100.000000")
    assert "fund the wallet" in item.sentence


@pytest.mark.req("A9.3")
def test_money_that_went_between_the_request_and_the_signature_holds_nothing(
    purse: Wallet, cashier: Agent, approval_key: Any, reviewer: User
) -> None:
    late = call(cashier, "debit_wallet", **payment(purse, amount="60"))
    fast = call(cashier, "debit_wallet", **payment(purse, amount="60"))
    for execution in (fast, late):
        sign(ApprovalRequest.objects.get(id=execution.approval_id), reviewer)
    runner.resume(fast.approval_id)
    drive(fast)
    before = books(purse)

    runner.resume(late.approval_id)
    drive(late)

    assert fast.status == Status.COMPLETED, fast.error
    assert late.error["code"] == "INSUFFICIENT_BALANCE" and books(purse) == before
    assert ApprovalRequest.objects.get(id=late.approval_id).status == "approved", "not used up"
    assert Escalation.objects.get().execution_id == late.id


def spend_behind_the_books(wallet: Wallet, devnet: Devnet) -> None:
    """Send all USDC away with the wallet's key, past the ledger: the token refuses a transfer then."""
    unsigned = transfer_transaction(
        chain_id=devnet.chain_id,
        nonce=0,
        sender=wallet.address,
        recipient=devnet.settlement,
        units=100 * 10**6,
        currency="USDC",
        usdc=devnet.usdc,
        gas=100_000,
        fees=Fees(10**10, 10**9),
    )
    signer = LocalSigner(decrypt(wallet.encrypted_key), devnet.chain_id)
    devnet.rpc("eth_sendRawTransaction", f"0x{signer.sign(unsigned).raw.hex()}")


@pytest.mark.provokes("debit_wallet", "TX_FAILED")
@pytest.mark.req("A9.5")
def test_a_transaction_that_would_fail_is_tried_four_times_then_a_person_hears_of_it(
    purse: Wallet, cashier: Agent, devnet: Devnet
) -> None:
    spend_behind_the_books(purse, devnet)
    before = books(purse)

    execution = call(cashier, "debit_wallet", **payment(purse))

    assert execution.error["code"] == "TX_FAILED" and execution.error["http_status"] == 502
    assert execution.retry_count == 3 and books(purse) == before
    item = Escalation.objects.get()
    assert (item.skill, item.code, item.count) == ("debit_wallet", "TX_FAILED", 1)
    call(cashier, "debit_wallet", **payment(purse))
    assert Escalation.objects.get().count == 2


@pytest.mark.provokes("debit_wallet", "NETWORK_ERROR")
@pytest.mark.req("A8.4", "A9.5")
def test_a_payment_without_a_chain_is_a_network_error_and_holds_nothing(
    purse: Wallet, cashier: Agent, nobody: None
) -> None:
    before = books(purse)

    execution = call(cashier, "debit_wallet", **payment(purse))

    assert execution.error["code"] == "NETWORK_ERROR" and execution.error["http_status"] == 503
    assert execution.retry_count == 3 and books(purse) == before
    assert not ApprovalRequest.objects.exists()


@pytest.mark.req("A8.4")
def test_a_payment_over_a_node_that_cannot_be_understood_is_a_network_error_and_holds_nothing(
    purse: Wallet, cashier: Agent, babbler: HTTPServer
) -> None:
    before = books(purse)

    execution = call(cashier, "debit_wallet", **payment(purse))

    assert execution.error["code"] == "NETWORK_ERROR" and books(purse) == before
    assert not ApprovalRequest.objects.exists()


@pytest.mark.req("A9.4", "X2")
def test_a_chain_that_goes_down_once_the_money_is_held_leaves_the_outcome_open_not_failed(
    purse: Wallet,
    cashier: Agent,
    approval_key: Any,
    reviewer: User,
    devnet: Devnet,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    execution = call(cashier, "debit_wallet", **payment(purse))
    sign(ApprovalRequest.objects.get(id=execution.approval_id), reviewer)
    redeemed = runner.pass_gate

    def then_down(*given: Any) -> Any:
        grant = redeemed(*given)
        devnet.rpc("chimera_fault", "down", 1000)
        return grant

    monkeypatch.setattr(runner, "pass_gate", then_down)
    runner.resume(execution.approval_id)
    drive(execution)
    monkeypatch.undo()

    assert execution.status == Status.OUTCOME_UNKNOWN, execution.error
    assert wallet_balances(purse)["USDC"].held == 2_500_000

    devnet.rpc("chimera_resume")
    assert [debit.status for debit in debits_settle()] == ["posted"]
    again(execution)

    assert execution.status == Status.COMPLETED, execution.error
    assert execution.output["new_balance"] == Decimal("97.5") and Debit.objects.count() == 1


@pytest.mark.provokes("debit_wallet", "INVALID_ADDRESS")
@pytest.mark.req("A9.1")
@pytest.mark.parametrize("field", ["wallet_address", "recipient"])
def test_a_payment_to_or_from_a_mistyped_address_is_refused_by_field(
    purse: Wallet, cashier: Agent, api: Any, field: str
) -> None:
    before = books(purse)
    mistyped = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1Beaed"

    answer = api(cashier).post(
        "/api/v1/skills/debit_wallet/executions/",
        {"input": payment(purse, **{field: mistyped})},
        content_type="application/json",
    )

    assert (answer.status_code, answer.json()["code"]) == (400, "INVALID_ADDRESS")
    assert list(answer.json()["errors"]) == [field] and books(purse) == before
    assert not SkillExecution.objects.exists()
