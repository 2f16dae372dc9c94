"""Signing and broadcasting: bytes are stored before they leave, and only those ever leave."""

from datetime import timedelta

from django.db import transaction
from django.db.models import F, Q

from chimera.core import secrets
from chimera.core.clock import now
from chimera.core.errors import ChimeraError
from chimera.core.killpoints import reach
from wallets.chain.signer import Fees, LocalSigner, transfer_transaction
from wallets.models import ChainTransaction, Debit, Wallet
from wallets.networks import gateway_for, network_of

REBROADCAST_AFTER = timedelta(seconds=5)
Status = ChainTransaction.Status


def signed(tx: ChainTransaction) -> ChainTransaction:
    """The transaction with its bytes. Signing is deterministic: two processes store the same."""
    if tx.status != Status.RESERVED:
        return tx
    result = _signer(tx).sign(_unsigned(tx))
    with transaction.atomic(durable=True):
        reserved = ChainTransaction.objects.filter(id=tx.id, status=Status.RESERVED)
        if reserved.update(raw=result.raw.hex(), tx_hash=result.hash, status=Status.SIGNED):
            Debit.objects.filter(chain_transaction=tx, status=Debit.Status.HELD).update(
                status=Debit.Status.SIGNED
            )
    reach("debit.signed")
    tx.refresh_from_db()
    return tx


def _signer(tx: ChainTransaction) -> LocalSigner:
    wallet = Wallet.objects.get(network=tx.network, address=tx.sender)
    return LocalSigner(
        secrets.decrypt(bytes(wallet.encrypted_key)), network_of(tx.network).chain_id
    )


def _unsigned(tx: ChainTransaction) -> dict[str, object]:
    network = network_of(tx.network)
    return transfer_transaction(
        chain_id=network.chain_id,
        nonce=tx.nonce,
        sender=tx.sender,
        recipient=tx.to,
        units=tx.value,
        currency=tx.currency,
        usdc=network.usdc,
        gas=tx.gas,
        fees=Fees(tx.max_fee_per_gas, tx.max_priority_fee_per_gas),
    )


def broadcast_up_to(tx: ChainTransaction) -> None:
    """Send what waits before this nonce, then this one: a chain takes nonces in order.

    What was sent lately is not sent again; what has been lost since is. NETWORK_ERROR: not known
    whether it arrived. TX_FAILED: the node refused one, in its words.
    """
    due = Q(status__in=[Status.RESERVED, Status.SIGNED]) | Q(
        status=Status.BROADCAST, broadcast_at__lt=now() - REBROADCAST_AFTER
    )
    waiting = ChainTransaction.objects.filter(
        due, network=tx.network, sender=tx.sender, nonce__lte=tx.nonce
    )
    for each in waiting.order_by("nonce"):
        _broadcast(signed(each))


def _broadcast(tx: ChainTransaction) -> None:
    row = ChainTransaction.objects.filter(id=tx.id)
    row.update(attempts=F("attempts") + 1)
    try:
        gateway_for(tx.network).broadcast(bytes.fromhex(tx.raw))
    except ChimeraError as problem:
        note_error(tx, problem)
        raise
    reach("debit.broadcast")
    with transaction.atomic(durable=True):
        row.exclude(status__in=[Status.CONFIRMED, Status.REVERTED]).update(
            status=Status.BROADCAST, broadcast_at=now(), last_error=""
        )
        before = [Debit.Status.HELD, Debit.Status.SIGNED]
        Debit.objects.filter(chain_transaction=tx, status__in=before).update(
            status=Debit.Status.SENT
        )
    reach("debit.sent")


def note_error(tx: ChainTransaction, problem: ChimeraError) -> None:
    """Keep the last error where an operator sees it."""
    ChainTransaction.objects.filter(id=tx.id).update(last_error=str(problem)[:500])
