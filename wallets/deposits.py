"""Deposits: what arrives on the chain is posted once per (tx_hash, log_index), however many look.

Only settled blocks are read. The cursor moves after the deposits of its blocks stand in the books:
a process that dies in between makes the next one look again, and find them there. What the ledger
cannot hold is refused, with one audit entry, and never stops what comes after it.
"""

import logging
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from django.db import DataError, IntegrityError, transaction

from chimera.core import audit
from chimera.core.models import AuditEntry
from chimera.core.money import from_units
from wallets import ledger
from wallets.chain.gateway import Gateway
from wallets.models import ChainCursor, Transfer, Wallet
from wallets.networks import gateway_for, network_of

log = logging.getLogger("chimera.wallets")

BLOCKS_PER_CALL = 1000
NATIVE_LOG_INDEX = -1  # a transaction moves the native coin at most once, and writes no log for it


@dataclass(frozen=True)
class Arrival:
    """Units that reached one of our addresses on the chain."""

    recipient: str
    currency: str
    value: int
    tx_hash: str
    log_index: int


def deposits_scan(network: str) -> int:
    """Post what arrived since the last scan, up to the settled head; how many deposits are new.

    A network without a wallet has no cursor, nothing to look for. NETWORK_ERROR leaves the cursor.
    """
    cursor = ChainCursor.objects.filter(network=network).first()
    if cursor is None:
        return 0
    gateway, found = gateway_for(network), 0
    # The head is read before the wallets: whoever was paid up to it was in the database by then.
    head = gateway.block_number(network_of(network).settle_tag)
    wallets = {wallet.address: wallet for wallet in Wallet.objects.filter(network=network)}
    for first in range(cursor.last_block + 1, head + 1, BLOCKS_PER_CALL):
        last = min(first + BLOCKS_PER_CALL - 1, head)
        arrivals = _arrivals(gateway, first, last, set(wallets))
        found += sum(_post(wallets[arrival.recipient], arrival) for arrival in arrivals)
        ChainCursor.objects.filter(network=network, last_block__lt=last).update(last_block=last)
    return found


def _arrivals(gateway: Gateway, first: int, last: int, addresses: set[str]) -> Iterator[Arrival]:
    if not addresses:
        return
    for log in gateway.usdc_transfers(first, last, addresses):
        yield Arrival(log.recipient, "USDC", log.value, log.tx_hash, log.log_index)
    for sent in gateway.native_transfers(first, last, addresses):
        yield Arrival(sent.recipient, "ETH", sent.value, sent.tx_hash, NATIVE_LOG_INDEX)


def _post(wallet: Wallet, arrival: Arrival) -> bool:
    """Whether it is new in the books. Each in its own transaction: no two scans interlock."""
    known = Transfer.objects.filter(tx_hash=arrival.tx_hash, log_index=arrival.log_index)
    if not arrival.value or known.exists():
        return False
    try:
        return _deposit(wallet, arrival)
    except (ValueError, DataError) as problem:
        _refuse(wallet, arrival, str(problem))
    except IntegrityError as problem:
        # SQLite's triggers say this of a sum on the account; PostgreSQL's is a DataError.
        if "does not fit" not in str(problem):
            raise
        _refuse(wallet, arrival, str(problem))
    return False


def _deposit(wallet: Wallet, arrival: Arrival) -> bool:
    with transaction.atomic():
        audit.record(
            actor="system:wallets",
            action="wallet.deposit",
            object_type="wallet",
            object_id=wallet.id,
            data=_facts(wallet, arrival),
        )
        posted = ledger.deposit(
            wallet=wallet,
            currency=arrival.currency,
            amount=arrival.value,
            tx_hash=arrival.tx_hash,
            log_index=arrival.log_index,
        )
        if posted is None:
            transaction.set_rollback(True)
    return posted is not None


def _refuse(wallet: Wallet, arrival: Arrival, reason: str) -> None:
    """Say once per (tx_hash, log_index) that units stay out of the books; `reconcile` shows them."""
    origin = f"{arrival.tx_hash}/{arrival.log_index}"
    said = AuditEntry.objects.filter(
        object_type="deposit", object_id=origin, action="deposit.refused"
    )
    if said.exists():
        return
    with transaction.atomic():
        entry = audit.record(
            actor="system:wallets",
            action="deposit.refused",
            object_type="deposit",
            object_id=origin,
            data=_facts(wallet, arrival) | {"reason": reason},
        )
        # The log has one writer at a time: what another scan said by now can be seen.
        if said.exclude(sequence=entry.sequence).exists():
            transaction.set_rollback(True)
            return
    log.error("deposit %s to %s is not in the books: %s", origin, wallet.address, reason)


def _facts(wallet: Wallet, arrival: Arrival) -> dict[str, Any]:
    return {
        "address": wallet.address,
        "amount": f"{from_units(arrival.value, arrival.currency):f}",
        "currency": arrival.currency,
        "tx_hash": arrival.tx_hash,
        "log_index": arrival.log_index,
    }
