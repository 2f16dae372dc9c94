"""Wallets: open one, find one, read its balances."""

from uuid import UUID

from django.db import transaction

from agents.models import Agent
from chimera.core import audit, secrets
from chimera.core.errors import ChimeraError
from wallets import ledger
from wallets.chain.signer import LocalSigner, new_key, validate_address
from wallets.ledger import Balance
from wallets.models import ChainCursor, NonceCounter, Wallet
from wallets.networks import DEVNET, gateway_for, network_of


def wallet_open(*, agent: Agent, network: str) -> Wallet:
    """A new wallet with a new key (stored encrypted), empty accounts and nonce 0.

    The first wallet of a public network asks its node for the block where the search for deposits
    starts: NETWORK_ERROR when it does not answer.
    """
    chain_id = network_of(network).chain_id
    _ensure_cursor(network)
    key = new_key()
    wallet = Wallet(
        agent=agent,
        network=network,
        address=LocalSigner(key, chain_id).address,
        encrypted_key=secrets.encrypt(key),
    )
    data = {"agent": agent.id, "address": wallet.address, "network": network}
    with transaction.atomic():
        audit.record(
            actor="system:wallets",
            action="wallet.open",
            object_type="wallet",
            object_id=wallet.id,
            data=data,
        )
        wallet.save(force_insert=True)
        ledger.accounts_open(wallet)
        NonceCounter.objects.create(network=network, address=wallet.address)
    return wallet


def _ensure_cursor(network: str) -> None:
    if ChainCursor.objects.filter(network=network).exists():
        return
    start = (
        -1
        if network == DEVNET
        else gateway_for(network).block_number(network_of(network).settle_tag)
    )
    ChainCursor.objects.get_or_create(network=network, defaults={"last_block": start})


def wallet_by_address(address: str, network: str | None = None) -> Wallet:
    """The newest wallet of an address, on one network if given. INVALID_ADDRESS, NOT_FOUND."""
    found = Wallet.objects.select_related("agent").filter(address=validate_address(address))
    wallet = (found.filter(network=network) if network else found).order_by("-id").first()
    if wallet is None:
        where = f" on {network}" if network else ""
        raise ChimeraError("NOT_FOUND", f"This deployment has no wallet {address}{where}")
    return wallet


def wallet_of_agent(agent_id: UUID) -> Wallet | None:
    """The agent's newest wallet, if it has one."""
    return Wallet.objects.filter(agent_id=agent_id).order_by("-id").first()


def wallet_balances(wallet: Wallet) -> dict[str, Balance]:
    """Ledger currency (USDC, ETH) -> posted, held and available units."""
    return ledger.balances(wallet)
