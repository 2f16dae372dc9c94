"""A wallet with money in the books, and one embedded chain for the tests that send."""

from collections.abc import Callable
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.db import transaction
from django.utils import timezone

from agents.models import Agent
from chimera.core import secrets
from chimera.core.digest import digest
from chimera.core.grants import Grant
from tests.helpers.devnet import Devnet
from wallets import debits, deposits, ledger, services
from wallets.chain.signer import LocalSigner, new_key
from wallets.models import Debit, NonceCounter, Wallet

COIN = 10**18
DOLLAR = 10**6


@pytest.fixture
def agent(db: None) -> Agent:
    return Agent.objects.create(name="Payer", type="cfo_judge")


@pytest.fixture
def new_wallet(agent: Agent) -> Callable[[], Wallet]:
    """Wallets with empty accounts, for tests of the books alone: no chain behind them."""

    def make() -> Wallet:
        key = new_key()
        wallet = Wallet.objects.create(
            agent=agent,
            network="devnet",
            address=LocalSigner(key, 31337).address,
            encrypted_key=secrets.encrypt(key),
        )
        ledger.accounts_open(wallet)
        NonceCounter.objects.create(network="devnet", address=wallet.address)
        return wallet

    return make


@pytest.fixture
def wallet(new_wallet: Callable[[], Wallet]) -> Wallet:
    return new_wallet()


@pytest.fixture
def funded(devnet: Devnet, agent: Agent) -> Wallet:
    """A wallet with 100 USDC and 1 coin, on the chain and in the books."""
    wallet = services.wallet_open(agent=agent, network="devnet")
    devnet.fund(wallet.address, units=100 * DOLLAR, wei=COIN)
    deposits.deposits_scan("devnet")
    return wallet


def action_of(wallet: Wallet, recipient: str, **changes: Any) -> dict[str, Any]:
    """The action a person approves, as `approvals` freezes it."""
    action = {
        "type": "debit_wallet",
        "wallet": wallet.address,
        "recipient": recipient,
        "amount": "10.5",
        "currency": "USDC",
        "network": wallet.network,
        "tx_description": "October boost",
        "idempotency_key": str(uuid4()),
    }
    return action | changes


def grant_of(action: dict[str, Any], agent_id: UUID) -> Grant:
    """The permission that a redeemed approval gives."""
    return Grant(uuid4(), action, digest(action), agent_id, uuid4(), "reviewer-1", timezone.now())


def begin(grant: Grant) -> Debit:
    """Preflight, then begin in a transaction, as the debit skill does."""
    quote = debits.debit_preflight(grant.action)
    with transaction.atomic():
        return debits.debit_begin(grant=grant, execution_id=grant.execution_id, quote=quote)
