"""The end of a debit: a settled receipt becomes ledger entries, once, whoever finds it."""

from typing import Any

from django.db import transaction

from chimera.core import audit
from chimera.core.clock import now
from chimera.core.errors import ChimeraError
from chimera.core.killpoints import reach
from chimera.core.money import from_units
from wallets import ledger
from wallets.chain.records import Receipt
from wallets.models import ChainTransaction, Debit
from wallets.networks import gateway_for


class _SettledElsewhere(Exception):
    """Another process was first; takes this one's transaction back."""


def settle(debit: Debit, receipt: Receipt) -> None:
    """Post the payment and the gas it took, or release it when it was reverted.

    WALLET_ERROR when the receipt cannot be that of the signed transaction: nothing moves.
    """
    _refuse_lies(debit, receipt)
    reach("debit.settling")
    try:
        with transaction.atomic(durable=True):
            _record(debit, receipt)
            _claim(debit, receipt)
            _move(debit, receipt)
            reach("debit.moved")
            _close_transaction(debit, receipt)
    except _SettledElsewhere:
        return
    reach("debit.posted")


def _refuse_lies(debit: Debit, receipt: Receipt) -> None:
    tx = debit.chain_transaction
    if receipt.tx_hash != tx.tx_hash:
        raise _doubt("the node answered with the receipt of another transaction")
    if receipt.gas_used > tx.gas or receipt.effective_gas_price > tx.max_fee_per_gas:
        raise _doubt("the receipt claims more gas than the transaction allows")
    if receipt.status and not gateway_for(debit.network).settled_transfer(
        receipt, sender=tx.sender, recipient=tx.to, value=tx.value, currency=tx.currency
    ):
        raise _doubt("the receipt says success but does not show this transfer")


def _doubt(text: str) -> ChimeraError:
    return ChimeraError("WALLET_ERROR", f"Not settled: {text}")


def _fee(receipt: Receipt) -> int:
    return receipt.gas_used * receipt.effective_gas_price


def _record(debit: Debit, receipt: Receipt) -> None:
    outcome = {
        "tx_hash": receipt.tx_hash,
        "block_number": receipt.block_number,
        "block_hash": receipt.block_hash,
        "fee": f"{from_units(_fee(receipt), 'ETH'):f}",
    }
    audit.record(
        actor="system:wallets",
        action="debit.posted" if receipt.status else "debit.failed",
        object_type="debit",
        object_id=debit.id,
        data=facts(debit) | outcome,
    )


def _claim(debit: Debit, receipt: Receipt) -> None:
    """The one conditional update that decides who settles."""
    status, code = (
        (Debit.Status.POSTED, "") if receipt.status else (Debit.Status.FAILED, "TX_FAILED")
    )
    still_open = Debit.objects.filter(id=debit.id, status__in=Debit.OPEN)
    if not still_open.update(status=status, error_code=code, finished_at=now()):
        raise _SettledElsewhere


def _move(debit: Debit, receipt: Receipt) -> None:
    moved = ledger.post(debit.transfer_id) if receipt.status else ledger.void(debit.transfer_id)
    if not (moved and ledger.void(debit.fee_hold_id)):
        raise ChimeraError(
            "INTERNAL_ERROR",
            f"The holds of debit {debit.id} were finished before it was",
        )
    if not _fee(receipt):
        return
    fee = ledger.charge_fee(
        wallet=debit.wallet,
        amount=_fee(receipt),
        idempotency_key=f"fee:{debit.id}",
        chain_transaction_id=debit.chain_transaction_id,
        reference=f"gas of debit {debit.id}",
    )
    Debit.objects.filter(id=debit.id).update(fee_transfer=fee)


def _close_transaction(debit: Debit, receipt: Receipt) -> None:
    final = (
        ChainTransaction.Status.CONFIRMED if receipt.status else ChainTransaction.Status.REVERTED
    )
    ChainTransaction.objects.filter(id=debit.chain_transaction_id).update(
        status=final,
        block_number=receipt.block_number,
        block_hash=receipt.block_hash,
        gas_used=receipt.gas_used,
        confirmed_at=now(),
        last_error="",
    )


def mark_unknown(debit: Debit, problem: ChimeraError | None) -> Debit:
    """Say that the outcome is open. The transaction hash is known; nothing is ever sent anew."""
    code = problem.code if problem else ""
    still_open = Debit.objects.filter(id=debit.id, status__in=Debit.OPEN)
    still_open.update(status=Debit.Status.OUTCOME_UNKNOWN, error_code=code)
    debit.refresh_from_db()
    return debit


def facts(debit: Debit) -> dict[str, Any]:
    """What the audit log says about a debit."""
    return {
        "wallet": debit.wallet.address,
        "network": debit.network,
        "recipient": debit.recipient,
        "amount": f"{from_units(debit.amount, debit.currency):f}",
        "currency": debit.currency,
        "tx_description": debit.tx_description,
        "approval_id": debit.approval_id,
        "execution_id": debit.execution_id,
        "reviewer_id": debit.reviewer_id,
    }
