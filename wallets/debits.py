"""Debits: one approved payment each, from the hold to the settled transaction.

`debit_preflight` before the approval is redeemed, `debit_begin` inside the transaction that redeems
it, `debit_advance` after that commit, as often as needed and from any process. Each step of the
advance commits before the next begins, so a process may die between any two lines.

Every transaction here takes the audit log's lock first and the rows after it: two never wait for
each other.
"""

import logging
import time
from typing import Any
from uuid import UUID

from django.db import IntegrityError, connection, transaction
from django.db.models import F, QuerySet

from chimera.core import audit
from chimera.core.errors import ChimeraError
from chimera.core.grants import Grant
from chimera.core.ids import new_id
from wallets import ledger, sending, settlement
from wallets.chain.signer import Fees
from wallets.ledger import Kind
from wallets.models import ChainTransaction, Debit, NonceCounter, Transfer, Wallet
from wallets.networks import gateway_for
from wallets.orders import Order, Quote, amount_text, order_of, quote_of
from wallets.services import wallet_by_address

log = logging.getLogger("chimera.wallets")

POLL_EVERY = 0.2


def debit_find(wallet: Wallet, idempotency_key: UUID) -> Debit | None:
    """The debit that used this key on this wallet, whatever became of it."""
    return _debits().filter(wallet=wallet, idempotency_key=idempotency_key).first()


def debit_of_execution(execution_id: UUID) -> Debit | None:
    """The debit that an execution began."""
    return _debits().filter(execution_id=execution_id).first()


def _debits() -> QuerySet[Debit]:
    return Debit.objects.select_related("wallet", "chain_transaction", "transfer", "fee_transfer")


def debit_preflight(action: dict[str, Any]) -> Quote:
    """Price the action and try it out: a doomed payment takes no approval and no nonce.

    A key that was used before gives the price of its debit and asks nobody: a repeated call must
    reach its first result. Errors: see `wallets.orders.quote_of`. It waits for the network: call it
    outside the transaction.
    """
    order = order_of(action)
    known = debit_find(wallet_by_address(order.wallet, order.network), order.idempotency_key)
    return _quote_again(known, order) if known else quote_of(order)


def _quote_again(debit: Debit, order: Order) -> Quote:
    tx = debit.chain_transaction
    fees = Fees(tx.max_fee_per_gas, tx.max_priority_fee_per_gas)
    return Quote(order, tx.gas, fees, tx.gas * tx.max_fee_per_gas)


def debit_begin(*, grant: Grant, execution_id: UUID, quote: Quote) -> Debit:
    """Hold amount and fee, reserve a nonce and write the audit entry, all or nothing.

    Runs in the caller's transaction, which redeems the grant (RuntimeError without one). The same
    grant, or the same key and body under another, gives the same debit. IDEMPOTENCY_CONFLICT when
    the key was used with another body, INSUFFICIENT_BALANCE when amount or gas cannot be held.
    """
    if not connection.in_atomic_block:
        raise RuntimeError("a debit begins in the transaction that redeems its approval")
    order = order_of(grant.action)
    if quote.order != order:
        raise ChimeraError("INTERNAL_ERROR", "The quote was made for another action")
    wallet = wallet_by_address(order.wallet, order.network)
    known = _known(wallet, order, grant)
    if known:
        return known
    try:
        with transaction.atomic():
            return _begin(wallet, quote, grant, execution_id)
    except IntegrityError:
        known = _known(wallet, order, grant)
        if known is None:
            raise
        return known


def _known(wallet: Wallet, order: Order, grant: Grant) -> Debit | None:
    debit = _debits().filter(approval_id=grant.approval_id).first() or debit_find(
        wallet, order.idempotency_key
    )
    if debit and debit.request_digest != grant.action_digest:
        message = (
            "This idempotency_key was used on this wallet for another payment; repeat that payment "
            "as it was to learn what became of it. Another one needs a key of its own"
        )
        raise ChimeraError("IDEMPOTENCY_CONFLICT", message, errors={"idempotency_key": [message]})
    return debit


def _begin(wallet: Wallet, quote: Quote, grant: Grant, execution_id: UUID) -> Debit:
    order = quote.order
    debit = Debit(
        wallet=wallet,
        idempotency_key=order.idempotency_key,
        request_digest=grant.action_digest,
        amount=order.units,
        currency=order.currency,
        recipient=order.recipient,
        tx_description=order.tx_description,
        network=order.network,
        approval_id=grant.approval_id,
        execution_id=execution_id,
        agent_id=grant.agent_id,
        reviewer_id=grant.reviewer_id,
        transfer_id=new_id(),
        fee_hold_id=new_id(),
        chain_transaction_id=new_id(),
    )
    _record_begin(debit, quote)
    debit.save(force_insert=True)  # the unique keys decide before anything is held
    _hold(debit, quote)
    _reserve_nonce(debit, quote)
    return debit


def _record_begin(debit: Debit, quote: Quote) -> None:
    data = settlement.facts(debit) | {"fee_limit": amount_text(quote.fee_limit, "ETH")}
    audit.record(
        actor=f"agent:{debit.agent_id}",
        action="debit.begin",
        object_type="debit",
        object_id=debit.id,
        data=data,
    )


def _hold(debit: Debit, quote: Quote) -> None:
    wallet = debit.wallet
    ledger.hold(
        transfer_id=debit.transfer_id,
        kind=Transfer.Kind.DEBIT,
        debit=ledger.account_of(wallet, debit.currency),
        credit=ledger.outside(Kind.EXTERNAL_PAYMENTS, debit.network, debit.currency),
        amount=debit.amount,
        idempotency_key=f"debit:{debit.id}",
        approval_id=debit.approval_id,
        chain_transaction_id=debit.chain_transaction_id,
        reference=debit.tx_description[:500],
    )
    ledger.hold(
        transfer_id=debit.fee_hold_id,
        kind=Transfer.Kind.FEE_HOLD,
        debit=ledger.account_of(wallet, "ETH"),
        credit=ledger.outside(Kind.EXTERNAL_FEES, debit.network, "ETH"),
        amount=quote.fee_limit,
        idempotency_key=f"fee_hold:{debit.id}",
        chain_transaction_id=debit.chain_transaction_id,
        reference=f"gas of debit {debit.id}",
    )


def _reserve_nonce(debit: Debit, quote: Quote) -> None:
    """The update locks the counter until the commit; a rollback gives the nonce back: no gaps."""
    counter = NonceCounter.objects.filter(network=debit.network, address=debit.wallet.address)
    counter.update(next_nonce=F("next_nonce") + 1)
    debit.chain_transaction = ChainTransaction.objects.create(
        id=debit.chain_transaction_id,
        network=debit.network,
        sender=debit.wallet.address,
        nonce=counter.get().next_nonce - 1,
        to=debit.recipient,
        value=debit.amount,
        currency=debit.currency,
        gas=quote.gas,
        max_fee_per_gas=quote.fees.max_fee_per_gas,
        max_priority_fee_per_gas=quote.fees.max_priority_fee_per_gas,
    )


def debit_advance(debit_id: UUID, wait: float = 0.0) -> Debit:
    """Bring a debit as far as the chain allows within `wait` seconds; safe to call at any time.

    Returns it posted, failed (reverted: gas charged, amount released) or outcome_unknown (not
    settled in time: the same bytes may still land, the poller settles it). NETWORK_ERROR when the
    node did not answer before anything was sent; the debit stays as it is.
    """
    deadline = time.monotonic() + wait
    while True:
        debit = _debits().get(id=debit_id)
        problem = _try_progress(debit) if debit.is_open else None
        debit = _debits().get(id=debit_id)
        if not debit.is_open:
            return debit
        if problem and problem.code == "NETWORK_ERROR" and not debit.chain_transaction.attempts:
            raise problem
        if time.monotonic() >= deadline:
            return settlement.mark_unknown(debit, problem)
        time.sleep(min(POLL_EVERY, max(0.0, deadline - time.monotonic())))


def _try_progress(debit: Debit) -> ChimeraError | None:
    """One step forward; the error that stopped it, which is no proof that nothing was sent."""
    try:
        _progress(debit)
    except ChimeraError as problem:
        sending.note_error(debit.chain_transaction, problem)
        return problem
    return None


def _progress(debit: Debit) -> None:
    transaction_ = sending.signed(debit.chain_transaction)
    gateway = gateway_for(debit.network)
    receipt = gateway.receipt(transaction_.tx_hash or "")
    if receipt is None:
        sending.broadcast_up_to(transaction_)
        receipt = gateway.receipt(transaction_.tx_hash or "")
    if receipt is not None and gateway.is_settled(receipt):
        settlement.settle(debit, receipt)


def debits_settle() -> list[Debit]:
    """Move every open debit one step on; the ones that came to their end. Safe in two processes."""
    finished = []
    waiting = (
        Debit.objects.filter(status__in=Debit.OPEN).order_by("id").values_list("id", flat=True)
    )
    for debit_id in list(waiting):
        debit = _debits().get(id=debit_id)
        problem = _try_progress(debit) if debit.is_open else None
        if problem:
            log.warning("debit %s waits: %s", debit_id, problem)
        debit = _debits().get(id=debit_id)
        if not debit.is_open:
            finished.append(debit)
    return finished
