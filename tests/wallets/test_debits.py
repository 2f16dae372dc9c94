"""One approved payment: held once, sent once, settled once, whatever dies or lies on the way."""

from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch
from uuid import uuid4

import pytest
from django.db import transaction

from agents.models import Agent
from chimera.core.errors import ChimeraError
from chimera.core.models import AuditEntry
from tests.helpers.devnet import Devnet
from tests.wallets.conftest import COIN, DOLLAR, action_of, begin, grant_of
from wallets import debits, deposits, ledger, services, settlement
from wallets.chain.gateway import Gateway
from wallets.models import (
    ChainTransaction,
    Debit,
    Entry,
    NonceCounter,
    Transfer,
    Wallet,
)
from wallets.networks import gateway_for
from wallets.orders import order_of

pytestmark = [pytest.mark.django_db]
WAIT = 10.0


def pay(wallet: Wallet, agent: Agent, recipient: str, **changes: Any) -> Debit:
    return begin(grant_of(action_of(wallet, recipient, **changes), agent.id))


def paid_on_chain(devnet: Devnet) -> int:
    return gateway_for("devnet").balance(devnet.settlement, "USDC")


@pytest.fixture
def before(devnet: Devnet) -> int:
    """What the recipient held before the test."""
    return paid_on_chain(devnet)


@pytest.mark.req("A9.1")
def test_a_debit_is_held_then_sent_then_posted_with_its_gas(
    funded: Wallet, agent: Agent, devnet: Devnet, before: int
) -> None:
    debit = pay(funded, agent, devnet.settlement)
    held = services.wallet_balances(funded)
    assert (debit.status, held["USDC"].held) == ("held", 10_500_000)
    assert held["ETH"].held > 0

    done = debits.debit_advance(debit.id, wait=WAIT)

    assert done.status == "posted"
    assert paid_on_chain(devnet) - before == 10_500_000
    after = services.wallet_balances(funded)
    assert after["USDC"] == ledger.Balance(posted=89_500_000, held=0, available=89_500_000)
    gateway = gateway_for("devnet")
    assert after["ETH"].posted == gateway.balance(funded.address, "ETH") < COIN
    assert after["ETH"].held == 0
    assert done.transfer.status == "posted"
    assert done.fee_transfer is not None and done.fee_transfer.amount == COIN - after["ETH"].posted


def test_the_native_coin_is_paid_the_same_way(funded: Wallet, agent: Agent, devnet: Devnet) -> None:
    debit = pay(funded, agent, devnet.settlement, currency="ETH", amount="0.250000000000000001")
    done = debits.debit_advance(debit.id, wait=WAIT)
    assert done.status == "posted"
    booked = services.wallet_balances(funded)["ETH"]
    assert booked.posted == gateway_for("devnet").balance(funded.address, "ETH")
    assert booked.held == 0


@pytest.mark.req("A9.6")
def test_begin_and_outcome_stand_in_the_audit_log(
    funded: Wallet, agent: Agent, devnet: Devnet
) -> None:
    debit = debits.debit_advance(pay(funded, agent, devnet.settlement).id, wait=WAIT)
    entries = AuditEntry.objects.filter(object_type="debit", object_id=str(debit.id)).order_by(
        "sequence"
    )
    assert [entry.action for entry in entries] == ["debit.begin", "debit.posted"]
    assert entries[1].data["tx_hash"] == debit.tx_hash
    assert entries[1].data["tx_description"] == "October boost"


def test_a_debit_outside_a_transaction_is_refused(
    funded: Wallet, agent: Agent, devnet: Devnet, monkeypatch: pytest.MonkeyPatch
) -> None:
    grant = grant_of(action_of(funded, devnet.settlement), agent.id)
    quote = debits.debit_preflight(grant.action)
    monkeypatch.setattr(debits, "connection", SimpleNamespace(in_atomic_block=False))
    with pytest.raises(RuntimeError):
        debits.debit_begin(grant=grant, execution_id=uuid4(), quote=quote)


@pytest.mark.req("A9.2")
def test_the_same_grant_begins_one_debit(funded: Wallet, agent: Agent, devnet: Devnet) -> None:
    grant = grant_of(action_of(funded, devnet.settlement), agent.id)
    first, second = begin(grant), begin(grant)
    assert first.id == second.id
    assert services.wallet_balances(funded)["USDC"].held == 10_500_000
    assert ChainTransaction.objects.count() == 1


@pytest.mark.req("A9.2")
def test_the_same_key_and_body_under_a_second_approval_charges_once(
    funded: Wallet, agent: Agent, devnet: Devnet
) -> None:
    action = action_of(funded, devnet.settlement)
    first = begin(grant_of(action, agent.id))
    debits.debit_advance(first.id, wait=WAIT)
    again = begin(grant_of(action, agent.id))
    assert (again.id, again.status) == (first.id, "posted")
    assert Transfer.objects.filter(kind="debit").count() == 1


@pytest.mark.req("A9.2")
def test_the_same_key_with_another_body_is_a_conflict(
    funded: Wallet, agent: Agent, devnet: Devnet
) -> None:
    action = action_of(funded, devnet.settlement)
    begin(grant_of(action, agent.id))
    with pytest.raises(ChimeraError) as refusal:
        begin(grant_of(action | {"amount": "11"}, agent.id))
    assert refusal.value.code == "IDEMPOTENCY_CONFLICT"
    assert services.wallet_balances(funded)["USDC"].held == 10_500_000


@pytest.mark.req("A9.3")
@pytest.mark.parametrize("amount", ["100.000001", "1000"])
def test_too_much_is_refused_before_anything_is_reserved(
    funded: Wallet, agent: Agent, devnet: Devnet, amount: str
) -> None:
    with pytest.raises(ChimeraError) as refusal:
        pay(funded, agent, devnet.settlement, amount=amount)
    assert refusal.value.code == "INSUFFICIENT_BALANCE"
    assert not ChainTransaction.objects.exists()
    assert services.wallet_balances(funded)["USDC"].held == 0


@pytest.mark.req("A9.3")
def test_without_gas_coin_the_refusal_names_gas(devnet: Devnet, agent: Agent) -> None:
    wallet = services.wallet_open(agent=agent, network="devnet")
    devnet.fund(wallet.address, units=100 * DOLLAR)
    deposits.deposits_scan("devnet")
    with pytest.raises(ChimeraError) as refusal:
        pay(wallet, agent, devnet.settlement)
    assert refusal.value.code == "INSUFFICIENT_BALANCE"
    assert refusal.value.details["for"] == "gas"


def test_the_database_refuses_what_the_preflight_let_through(
    funded: Wallet, agent: Agent, devnet: Devnet
) -> None:
    """Two payments of 60 pass their preflight together; only one finds the money when it begins."""
    grants = [
        grant_of(action_of(funded, devnet.settlement, amount="60"), agent.id) for _ in range(2)
    ]
    quotes = [debits.debit_preflight(grant.action) for grant in grants]
    with transaction.atomic():
        debits.debit_begin(grant=grants[0], execution_id=uuid4(), quote=quotes[0])
    with (
        pytest.raises(ChimeraError, match="INSUFFICIENT_BALANCE"),
        transaction.atomic(),
    ):
        debits.debit_begin(grant=grants[1], execution_id=uuid4(), quote=quotes[1])
    assert NonceCounter.objects.get(address=funded.address).next_nonce == 1
    assert Debit.objects.count() == 1


def test_a_quote_of_another_payment_is_refused(
    funded: Wallet, agent: Agent, devnet: Devnet
) -> None:
    cheap = debits.debit_preflight(action_of(funded, devnet.settlement, amount="1"))
    grant = grant_of(action_of(funded, devnet.settlement, amount="90"), agent.id)
    with pytest.raises(ChimeraError), transaction.atomic():
        debits.debit_begin(grant=grant, execution_id=uuid4(), quote=cheap)
    assert not Debit.objects.exists()


class Killed(BaseException):
    """Stands for kill -9: nothing in the product catches it."""


def die(*_: Any, **__: Any) -> None:
    raise Killed


def _after(function: Callable[..., Any]) -> Callable[..., Any]:
    def run_then_die(*args: Any, **options: Any) -> None:
        function(*args, **options)
        raise Killed

    return run_then_die


KILLS = {
    "before signing": ("wallets.sending._signer", die),
    "before the broadcast": ("wallets.chain.gateway.Gateway.broadcast", die),
    "after the broadcast": (
        "wallets.chain.gateway.Gateway.broadcast",
        _after(Gateway.broadcast),
    ),
    "before settling": ("wallets.settlement.settle", die),
    "inside the settlement": ("wallets.settlement._move", _after(settlement._move)),
    "after the settlement": ("wallets.settlement.settle", _after(settlement.settle)),
}


@pytest.mark.req("X3")
@pytest.mark.parametrize("moment", KILLS)
def test_a_kill_leaves_one_transfer_on_chain_and_one_in_the_books(
    moment: str, funded: Wallet, agent: Agent, devnet: Devnet, before: int
) -> None:
    debit = pay(funded, agent, devnet.settlement)
    with patch(KILLS[moment][0], KILLS[moment][1]), pytest.raises(Killed):
        debits.debit_advance(debit.id, wait=WAIT)

    assert debits.debit_advance(debit.id, wait=WAIT).status == "posted"

    assert paid_on_chain(devnet) - before == 10_500_000
    assert int(devnet.rpc("eth_getTransactionCount", funded.address, "latest"), 16) == 1
    assert Entry.objects.filter(account__wallet=funded, transfer__kind="debit").count() == 1
    assert services.wallet_balances(funded)["USDC"].held == 0


@pytest.mark.req("X2")
def test_a_lost_answer_after_the_node_took_it_pays_once(
    funded: Wallet, agent: Agent, devnet: Devnet, before: int
) -> None:
    debit = pay(funded, agent, devnet.settlement)
    devnet.rpc("chimera_fault", "drop_after_accept", 1)
    assert debits.debit_advance(debit.id, wait=WAIT).status == "posted"
    assert paid_on_chain(devnet) - before == 10_500_000


@pytest.mark.req("X2")
def test_a_node_that_is_down_leaves_the_debit_as_it_is(
    funded: Wallet, agent: Agent, devnet: Devnet, before: int
) -> None:
    debit = pay(funded, agent, devnet.settlement)
    devnet.rpc("chimera_fault", "down", 100)
    with pytest.raises(ChimeraError) as problem:
        debits.debit_advance(debit.id)
    assert problem.value.code == "NETWORK_ERROR"
    devnet.rpc("chimera_resume")
    assert Debit.objects.get(id=debit.id).status == "signed"
    assert paid_on_chain(devnet) == before
    assert [done.id for done in debits.debits_settle()] == [debit.id]


@pytest.mark.req("A9.4")
def test_what_is_not_settled_in_time_is_unknown_and_settled_later_by_the_same_bytes(
    funded: Wallet, agent: Agent, devnet: Devnet, before: int
) -> None:
    debit = pay(funded, agent, devnet.settlement)
    devnet.rpc("chimera_fault", "stall_mining", 1)
    unknown = debits.debit_advance(debit.id, wait=0.3)
    assert unknown.status == "outcome_unknown"
    assert unknown.tx_hash
    assert services.wallet_balances(funded)["USDC"].held == 10_500_000
    assert debits.debits_settle() == []

    devnet.rpc("chimera_resume")
    assert [done.status for done in debits.debits_settle()] == ["posted"]
    assert Debit.objects.get(id=debit.id).tx_hash == unknown.tx_hash
    assert paid_on_chain(devnet) - before == 10_500_000


def test_advancing_a_finished_debit_again_changes_nothing(
    funded: Wallet, agent: Agent, devnet: Devnet
) -> None:
    debit = debits.debit_advance(pay(funded, agent, devnet.settlement).id, wait=WAIT)
    booked = services.wallet_balances(funded)
    again = debits.debit_advance(debit.id, wait=WAIT)
    settlement.settle(again, gateway_for("devnet").receipt(debit.tx_hash or ""))  # type: ignore[arg-type]
    assert services.wallet_balances(funded) == booked
    assert AuditEntry.objects.filter(action="debit.posted").count() == 1


def test_a_reverted_payment_fails_charges_its_gas_and_frees_the_amount(
    funded: Wallet, agent: Agent, devnet: Devnet, before: int
) -> None:
    """The money is gone from the chain between preflight and broadcast: it reverts."""
    first = pay(funded, agent, devnet.settlement, amount="60")
    quote_first = debits.debit_preflight(action_of(funded, devnet.settlement, amount="40"))
    drained = ledger.deposit(
        wallet=funded,
        currency="USDC",
        amount=60 * DOLLAR,
        tx_hash="0x" + "ab" * 32,
        log_index=0,
    )
    assert drained  # the books now believe in 60 USDC that the chain does not have
    grant = grant_of(action_of(funded, devnet.settlement, amount="60"), agent.id)
    quote = replace(quote_first, order=order_of(grant.action))
    with transaction.atomic():
        doomed = debits.debit_begin(grant=grant, execution_id=uuid4(), quote=quote)
    assert debits.debit_advance(first.id, wait=WAIT).status == "posted"
    failed = debits.debit_advance(doomed.id, wait=WAIT)
    assert (failed.status, failed.error_code) == ("failed", "TX_FAILED")
    assert failed.transfer.status == "voided"
    booked = services.wallet_balances(funded)
    assert booked["USDC"] == ledger.Balance(posted=100 * DOLLAR, held=0, available=100 * DOLLAR)
    assert booked["ETH"].posted == gateway_for("devnet").balance(funded.address, "ETH")
    assert paid_on_chain(devnet) - before == 60 * DOLLAR


LIES = {
    "another transaction's receipt": {"tx_hash": "0x" + "00" * 32},
    "more gas than was allowed": {"gas_used": 10**9},
    "a price above the signed one": {"effective_gas_price": 10**15},
    "success without the transfer": {"logs": ()},
}


@pytest.mark.req("X2")
@pytest.mark.parametrize("lie", LIES)
def test_a_lying_node_moves_nothing_in_the_books(
    lie: str, funded: Wallet, agent: Agent, devnet: Devnet
) -> None:
    debit = pay(funded, agent, devnet.settlement)
    honest = Gateway.receipt

    def receipt(gateway: Gateway, tx_hash: str) -> Any:
        true = honest(gateway, tx_hash)
        return true and replace(true, **LIES[lie])  # type: ignore[arg-type]

    with patch.object(Gateway, "receipt", receipt):
        doubtful = debits.debit_advance(debit.id)
    assert (doubtful.status, doubtful.error_code) == ("outcome_unknown", "WALLET_ERROR")
    assert doubtful.transfer.status == "pending"
    assert services.wallet_balances(funded)["USDC"].posted == 100 * DOLLAR
    assert debits.debit_advance(debit.id, wait=WAIT).status == "posted"


def test_later_nonces_carry_the_earlier_ones_along(
    funded: Wallet, agent: Agent, devnet: Devnet, before: int
) -> None:
    """The worker of the first debit died before it signed; the second one's worker sends both."""
    first = pay(funded, agent, devnet.settlement, amount="1")
    second = pay(funded, agent, devnet.settlement, amount="2")
    assert debits.debit_advance(second.id, wait=WAIT).status == "posted"
    assert debits.debit_advance(first.id, wait=WAIT).status == "posted"
    assert paid_on_chain(devnet) - before == 3 * DOLLAR
    nonces = ChainTransaction.objects.filter(sender=funded.address).values_list("nonce", flat=True)
    assert sorted(nonces) == [0, 1]


def test_signed_bytes_are_never_replaced(funded: Wallet, agent: Agent, devnet: Devnet) -> None:
    debit = debits.debit_advance(pay(funded, agent, devnet.settlement).id, wait=WAIT)
    row = ChainTransaction.objects.filter(id=debit.chain_transaction.id)
    kept = row.values_list("raw", "nonce").get()
    for change in ({"raw": "00"}, {"nonce": 7}, {"value": 1}):
        with pytest.raises(Exception, match="for ever"), transaction.atomic():
            row.update(**change)
    with pytest.raises(Exception, match="for ever"), transaction.atomic():
        row._raw_delete("default")
    assert row.values_list("raw", "nonce").get() == kept
