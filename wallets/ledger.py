"""The books: hold, post, void, deposit. Each is one statement; the triggers do the sums.

Amounts are smallest units. A transfer is `pending` (held on the debit account) or `posted` (with
one entry on each side); both accounts, the entries and the overdraft check are that one statement.
Callers run these inside their own transaction where several belong together.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import IntegrityError, transaction

from chimera.core.clock import now
from chimera.core.errors import ChimeraError
from chimera.core.money import from_units
from wallets.models import LedgerAccount, Transfer, Wallet

CURRENCIES = ("USDC", "ETH")
Kind = LedgerAccount.Kind


@dataclass(frozen=True)
class Balance:
    """Units of one currency: posted, held, and available = posted - held."""

    posted: int
    held: int
    available: int


def accounts_open(wallet: Wallet) -> None:
    """One empty account per currency for a new wallet."""
    LedgerAccount.objects.bulk_create(
        LedgerAccount(kind=Kind.WALLET, wallet=wallet, network=wallet.network, currency=currency)
        for currency in CURRENCIES
    )


def account_of(wallet: Wallet, currency: str) -> LedgerAccount:
    """The wallet's account in a ledger currency (USDC or ETH)."""
    return LedgerAccount.objects.get(wallet=wallet, currency=currency)


def outside(kind: Kind, network: str, currency: str) -> LedgerAccount:
    """The account of the world outside (deposits, payments or fees), opened at its first use."""
    account, _ = LedgerAccount.objects.get_or_create(
        kind=kind, wallet=None, network=network, currency=currency
    )
    return account


def balances(wallet: Wallet) -> dict[str, Balance]:
    """Ledger currency -> balance."""
    accounts = LedgerAccount.objects.filter(wallet=wallet).order_by("-currency")
    return {a.currency: Balance(a.posted, a.held, a.available) for a in accounts}


def hold(
    *,
    transfer_id: UUID,
    kind: Transfer.Kind,
    debit: LedgerAccount,
    credit: LedgerAccount,
    amount: int,
    idempotency_key: str,
    approval_id: UUID | None = None,
    chain_transaction_id: UUID | None = None,
    reference: str = "",
) -> Transfer:
    """Reserve units of the debit account. INSUFFICIENT_BALANCE when less is available."""
    return _insert(
        id=transfer_id,
        kind=kind,
        status=Transfer.Status.PENDING,
        debit_account=debit,
        credit_account=credit,
        amount=amount,
        idempotency_key=idempotency_key,
        approval_id=approval_id,
        chain_transaction_id=chain_transaction_id,
        reference=reference,
    )


def post(transfer_id: UUID) -> bool:
    """Turn a hold into a payment. False when it was posted or voided before."""
    return _finish(transfer_id, Transfer.Status.POSTED)


def void(transfer_id: UUID) -> bool:
    """Release a hold. False when it was posted or voided before."""
    return _finish(transfer_id, Transfer.Status.VOIDED)


def _finish(transfer_id: UUID, status: Transfer.Status) -> bool:
    pending = Transfer.objects.filter(id=transfer_id, status=Transfer.Status.PENDING)
    return bool(pending.update(status=status, finished_at=now()))


def charge_fee(
    *,
    wallet: Wallet,
    amount: int,
    idempotency_key: str,
    chain_transaction_id: UUID,
    reference: str,
) -> Transfer:
    """Post a network fee that the chain has already taken from the wallet (native units)."""
    return _insert(
        kind=Transfer.Kind.FEE,
        status=Transfer.Status.POSTED,
        debit_account=account_of(wallet, "ETH"),
        credit_account=outside(Kind.EXTERNAL_FEES, wallet.network, "ETH"),
        amount=amount,
        idempotency_key=idempotency_key,
        chain_transaction_id=chain_transaction_id,
        reference=reference,
        finished_at=now(),
    )


def deposit(
    *, wallet: Wallet, currency: str, amount: int, tx_hash: str, log_index: int
) -> Transfer | None:
    """Post units that arrived on the chain. None when this (tx_hash, log_index) is in the books."""
    moment: datetime = now()
    try:
        return _insert(
            kind=Transfer.Kind.DEPOSIT,
            status=Transfer.Status.POSTED,
            debit_account=outside(Kind.EXTERNAL_DEPOSITS, wallet.network, currency),
            credit_account=account_of(wallet, currency),
            amount=amount,
            tx_hash=tx_hash,
            log_index=log_index,
            finished_at=moment,
        )
    except IntegrityError:
        if Transfer.objects.filter(tx_hash=tx_hash, log_index=log_index).exists():
            return None
        raise


def _insert(**fields: Any) -> Transfer:
    try:
        with transaction.atomic():
            return Transfer.objects.create(**fields)
    except IntegrityError as problem:
        if "ledger_no_overdraft" not in str(problem):
            raise
        account = fields["debit_account"]
        available = LedgerAccount.objects.get(pk=account.pk).available
        gas = fields["kind"] in (Transfer.Kind.FEE_HOLD, Transfer.Kind.FEE)
        raise insufficient(account.currency, fields["amount"], available, gas=gas) from None


def insufficient(currency: str, units: int, available: int, *, gas: bool) -> ChimeraError:
    """INSUFFICIENT_BALANCE that says what is short: the network fee (gas coin) or the amount."""
    required, have = (
        f"{from_units(units, currency):f}",
        f"{from_units(available, currency):f}",
    )
    what = "network fee (gas)" if gas else "amount"
    message = f"The {what} needs {required} {currency}, {have} are available; fund the wallet"
    details = {
        "currency": currency,
        "required": required,
        "available": have,
        "for": "gas" if gas else "amount",
    }
    return ChimeraError("INSUFFICIENT_BALANCE", message, details=details)
