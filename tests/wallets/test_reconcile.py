"""The comparison of books and chain finds what was planted, and nothing else."""

from io import StringIO
from uuid import uuid4

import pytest
from django.core.management import call_command

from agents.models import Agent
from chimera.core import secrets
from tests.helpers.devnet import Devnet
from tests.wallets.conftest import DOLLAR, action_of, begin, grant_of
from wallets import debits, ledger
from wallets.chain.signer import LocalSigner, transfer_transaction
from wallets.models import Wallet
from wallets.networks import gateway_for
from wallets.reconcile import reconcile

pytestmark = [pytest.mark.django_db]


def steal(wallet: Wallet, devnet: Devnet, units: int) -> None:
    """Spend from the wallet's key without telling the books."""
    gateway = gateway_for("devnet")
    unsigned = transfer_transaction(
        chain_id=devnet.chain_id,
        nonce=gateway.next_nonce(wallet.address),
        sender=wallet.address,
        recipient=devnet.settlement,
        units=units,
        currency="USDC",
        usdc=devnet.usdc,
        gas=100_000,
        fees=gateway.fees(),
    )
    key = secrets.decrypt(bytes(wallet.encrypted_key))
    gateway.broadcast(LocalSigner(key, devnet.chain_id).sign(unsigned).raw)


def test_after_deposits_and_debits_the_books_agree(
    funded: Wallet, agent: Agent, devnet: Devnet
) -> None:
    debit = begin(grant_of(action_of(funded, devnet.settlement), agent.id))
    debits.debit_advance(debit.id, wait=10)
    assert reconcile("devnet") == []


def test_a_payment_on_its_way_is_no_drift(funded: Wallet, agent: Agent, devnet: Devnet) -> None:
    begin(grant_of(action_of(funded, devnet.settlement), agent.id))
    devnet.rpc("chimera_fault", "stall_mining", 1)
    assert reconcile("devnet") == []


def test_a_planted_foreign_payment_is_found(funded: Wallet, devnet: Devnet) -> None:
    steal(funded, devnet, 5 * DOLLAR)
    found = {drift.currency: drift for drift in reconcile("devnet")}
    assert set(found) == {"USDC", "ETH"}  # the payment and its gas
    assert (found["USDC"].books, found["USDC"].truth) == (100 * DOLLAR, 95 * DOLLAR)
    assert found["USDC"].account == funded.address


def test_a_planted_deposit_that_the_chain_never_saw_is_found(funded: Wallet) -> None:
    ledger.deposit(
        wallet=funded, currency="USDC", amount=1, tx_hash="0x" + uuid4().hex, log_index=0
    )
    (drift,) = reconcile("devnet")
    assert (drift.against, drift.books - drift.truth) == ("chain", 1)


def test_the_command_ends_with_status_1_on_drift_and_names_the_wallet(
    funded: Wallet, devnet: Devnet
) -> None:
    call_command("reconcile", stdout=StringIO())
    steal(funded, devnet, 1)
    told = StringIO()
    with pytest.raises(SystemExit) as ending:
        call_command("reconcile", stderr=told, no_color=True)
    assert ending.value.code == 1
    assert funded.address in told.getvalue()


def test_the_command_counts_an_unreachable_chain_as_a_problem(
    funded: Wallet, devnet: Devnet
) -> None:
    devnet.rpc("chimera_fault", "down", 1000)
    with pytest.raises(SystemExit) as ending:
        call_command("reconcile", stderr=StringIO())
    assert ending.value.code == 1
