"""The books, as an accountant would check them: worked examples, then everything they refuse."""

from collections.abc import Callable
from typing import Any
from uuid import uuid4

import pytest
from django.db import IntegrityError, connection, transaction
from django.utils import timezone

from chimera.core.errors import ChimeraError
from chimera.core.ids import new_id
from wallets import ledger
from wallets.ledger import Balance, Kind
from wallets.models import Entry, LedgerAccount, Transfer, Wallet

DOLLAR = 10**6
WHALE = 7 * 10**26 + 3  # more wei than a 64-bit integer or a float can hold

pytestmark = [pytest.mark.django_db, pytest.mark.req("C3")]


def receive(wallet: Wallet, amount: int, currency: str = "USDC", log_index: int = 0) -> Transfer:
    tx_hash = "0x" + uuid4().hex * 2
    posted = ledger.deposit(
        wallet=wallet,
        currency=currency,
        amount=amount,
        tx_hash=tx_hash,
        log_index=log_index,
    )
    assert posted is not None
    return posted


def reserve(wallet: Wallet, amount: int, currency: str = "USDC", **changes: Any) -> Transfer:
    fields: dict[str, Any] = {
        "transfer_id": new_id(),
        "kind": Transfer.Kind.DEBIT,
        "debit": ledger.account_of(wallet, currency),
        "credit": ledger.outside(Kind.EXTERNAL_PAYMENTS, wallet.network, currency),
        "amount": amount,
        "idempotency_key": f"debit:{uuid4()}",
        "approval_id": uuid4(),
    }
    return ledger.hold(**fields | changes)


def usdc(wallet: Wallet) -> Balance:
    return ledger.balances(wallet)["USDC"]


def legs(transfer: Transfer) -> list[tuple[str, int]]:
    return sorted((entry.account.kind, entry.signed) for entry in transfer.entries.all())


def snapshot() -> tuple[Any, ...]:
    models = (LedgerAccount, Transfer, Entry)
    return tuple(list(model.objects.order_by("pk").values()) for model in models)


def test_deposit_of_100_gives_100_posted_and_two_legs(wallet: Wallet) -> None:
    deposit = receive(wallet, 100 * DOLLAR)
    assert usdc(wallet) == Balance(posted=100 * DOLLAR, held=0, available=100 * DOLLAR)
    assert legs(deposit) == [
        ("external_deposits", -100 * DOLLAR),
        ("wallet", 100 * DOLLAR),
    ]
    assert ledger.outside(Kind.EXTERNAL_DEPOSITS, "devnet", "USDC").posted == -100 * DOLLAR


def test_hold_of_30_leaves_100_posted_and_70_available(wallet: Wallet) -> None:
    receive(wallet, 100 * DOLLAR)
    hold = reserve(wallet, 30 * DOLLAR)
    assert usdc(wallet) == Balance(posted=100 * DOLLAR, held=30 * DOLLAR, available=70 * DOLLAR)
    assert legs(hold) == []


def test_posting_the_hold_of_30_leaves_70_and_books_both_legs(wallet: Wallet) -> None:
    receive(wallet, 100 * DOLLAR)
    hold = reserve(wallet, 30 * DOLLAR)
    assert ledger.post(hold.id)
    assert usdc(wallet) == Balance(posted=70 * DOLLAR, held=0, available=70 * DOLLAR)
    assert legs(hold) == [("external_payments", 30 * DOLLAR), ("wallet", -30 * DOLLAR)]


def test_voiding_the_hold_of_30_gives_100_back_without_entries(wallet: Wallet) -> None:
    receive(wallet, 100 * DOLLAR)
    hold = reserve(wallet, 30 * DOLLAR)
    assert ledger.void(hold.id)
    assert usdc(wallet) == Balance(posted=100 * DOLLAR, held=0, available=100 * DOLLAR)
    assert legs(hold) == []


def test_a_fee_is_posted_from_the_coin_account(wallet: Wallet) -> None:
    receive(wallet, 10**18, "ETH", log_index=-1)
    ledger.charge_fee(
        wallet=wallet,
        amount=21_000 * 10**9 + 1,
        idempotency_key="fee:1",
        chain_transaction_id=None,  # type: ignore[arg-type]  # a fee of the books alone
        reference="gas",
    )
    assert ledger.balances(wallet)["ETH"].posted == 10**18 - 21_000 * 10**9 - 1


def test_amounts_beyond_64_bits_are_exact_to_the_last_unit(wallet: Wallet) -> None:
    receive(wallet, WHALE, "ETH", log_index=-1)
    hold = reserve(wallet, WHALE - 1, "ETH")
    assert ledger.balances(wallet)["ETH"] == Balance(posted=WHALE, held=WHALE - 1, available=1)
    ledger.post(hold.id)
    assert ledger.balances(wallet)["ETH"] == Balance(posted=1, held=0, available=1)
    with pytest.raises(ChimeraError, match="INSUFFICIENT_BALANCE"):
        reserve(wallet, 2, "ETH")


@pytest.mark.req("A9.3")
def test_one_unit_too_much_is_refused_and_nothing_is_held(wallet: Wallet) -> None:
    receive(wallet, 100)
    ledger.void(reserve(wallet, 1).id)
    before = snapshot()
    with pytest.raises(ChimeraError) as refusal:
        reserve(wallet, 101)
    assert refusal.value.code == "INSUFFICIENT_BALANCE"
    assert refusal.value.details["available"] == "0.000100"
    assert refusal.value.details["for"] == "amount"
    assert snapshot() == before


def test_held_units_cannot_be_held_again(wallet: Wallet) -> None:
    receive(wallet, 100)
    reserve(wallet, 60)
    with pytest.raises(ChimeraError, match="INSUFFICIENT_BALANCE"):
        reserve(wallet, 41)
    reserve(wallet, 40)
    assert usdc(wallet) == Balance(posted=100, held=100, available=0)


def test_a_missing_network_fee_is_named_as_gas(wallet: Wallet) -> None:
    with pytest.raises(ChimeraError) as refusal:
        reserve(wallet, 5, "ETH", kind=Transfer.Kind.FEE_HOLD)
    assert refusal.value.details["for"] == "gas"
    assert "gas" in refusal.value.message


def test_the_same_chain_log_is_posted_once(wallet: Wallet) -> None:
    first = receive(wallet, 100)
    again = ledger.deposit(
        wallet=wallet,
        currency="USDC",
        amount=100,
        tx_hash=first.tx_hash or "",
        log_index=0,
    )
    assert again is None
    assert usdc(wallet).posted == 100


def test_a_hold_is_finished_once_only(wallet: Wallet) -> None:
    receive(wallet, 100)
    hold = reserve(wallet, 30)
    assert ledger.post(hold.id)
    assert not ledger.post(hold.id)
    assert not ledger.void(hold.id)
    assert usdc(wallet).posted == 70


def test_one_approval_holds_once(wallet: Wallet) -> None:
    receive(wallet, 100)
    approval = uuid4()
    reserve(wallet, 30, approval_id=approval)
    with pytest.raises(IntegrityError):
        reserve(wallet, 30, approval_id=approval)
    assert usdc(wallet).held == 30


PENDING, POSTED = "WHERE status = 'pending'", "WHERE status = 'posted'"
LEG = "INSERT INTO wallets_entry (transfer_id, account_id, side, amount, created_at) SELECT "
FORBIDDEN_UPDATES = {
    "a posted transfer's amount": (
        "UPDATE wallets_transfer SET amount = "
        f"(SELECT amount FROM wallets_transfer AS other {PENDING}) {POSTED}"
    ),
    "a pending transfer's reference": f"UPDATE wallets_transfer SET reference = 'else' {PENDING}",
    "a pending transfer's accounts": (
        f"UPDATE wallets_transfer SET credit_account_id = debit_account_id {PENDING}"
    ),
    "a posted transfer back to pending": (
        f"UPDATE wallets_transfer SET status = 'pending', finished_at = NULL {POSTED}"
    ),
    "a posted transfer to voided": f"UPDATE wallets_transfer SET status = 'voided' {POSTED}",
    "a status of one's own": f"UPDATE wallets_transfer SET status = 'done' {PENDING}",
    "a transfer's deletion": "DELETE FROM wallets_transfer",
    "an entry's side": "UPDATE wallets_entry SET side = 'credit'",
    "an entry's deletion": "DELETE FROM wallets_entry",
    "a balance": "UPDATE wallets_ledgeraccount SET credits = committed, committed = credits",
    "a hold without a transfer": "UPDATE wallets_ledgeraccount SET held = committed",
    "the owner of an account": "UPDATE wallets_ledgeraccount SET network = 'base'",
    "an account's deletion": "DELETE FROM wallets_ledgeraccount",
    "an entry twice": f"{LEG} transfer_id, account_id, side, amount, created_at FROM wallets_entry",
    "an entry on a pending transfer": (
        f"{LEG} id, debit_account_id, 'debit', amount, created_at FROM wallets_transfer {PENDING}"
    ),
}


@pytest.mark.parametrize("what", FORBIDDEN_UPDATES)
def test_the_database_refuses_to_change(what: str, wallet: Wallet) -> None:
    receive(wallet, 100)
    reserve(wallet, 30)
    before = snapshot()
    with (
        pytest.raises(IntegrityError),
        transaction.atomic(),
        connection.cursor() as cursor,
    ):
        cursor.execute(FORBIDDEN_UPDATES[what])
    assert snapshot() == before


def test_an_account_opens_empty_or_not_at_all(wallet: Wallet) -> None:
    with pytest.raises(IntegrityError), transaction.atomic():
        LedgerAccount.objects.create(
            kind=Kind.EXTERNAL_FEES,
            network="base",
            currency="USDC",
            credits=5,
            committed=0,
        )
    assert not LedgerAccount.objects.filter(network="base").exists()


def test_a_transfer_between_two_currencies_is_refused(wallet: Wallet) -> None:
    receive(wallet, 100)
    before = usdc(wallet)
    with pytest.raises(IntegrityError):
        reserve(wallet, 10, credit=ledger.account_of(wallet, "ETH"))
    assert usdc(wallet) == before


def test_a_transfer_of_nothing_is_refused(wallet: Wallet) -> None:
    receive(wallet, 100)
    with pytest.raises(IntegrityError):
        reserve(wallet, 0)


def test_a_debit_without_an_approval_is_refused(wallet: Wallet) -> None:
    receive(wallet, 100)
    with pytest.raises(IntegrityError):
        reserve(wallet, 10, approval_id=None)
    assert usdc(wallet).held == 0


def test_a_transfer_does_not_start_voided(wallet: Wallet) -> None:
    receive(wallet, 100)
    with pytest.raises(IntegrityError), transaction.atomic():
        Transfer.objects.create(
            kind=Transfer.Kind.FEE_HOLD,
            status=Transfer.Status.VOIDED,
            debit_account=ledger.account_of(wallet, "USDC"),
            credit_account=ledger.outside(Kind.EXTERNAL_FEES, "devnet", "USDC"),
            amount=1,
            finished_at=timezone.now(),
        )


@pytest.mark.parametrize("amount", [-1, 10**36])
def test_an_amount_that_no_ledger_column_holds_is_refused(wallet: Wallet, amount: int) -> None:
    with pytest.raises(ValueError, match="must lie between"):
        reserve(wallet, amount)


@pytest.mark.parametrize("amount", [1.0, "1", True])
def test_an_amount_that_is_not_an_int_is_refused(wallet: Wallet, amount: Any) -> None:
    with pytest.raises(TypeError, match="whole units"):
        reserve(wallet, amount)


@pytest.mark.skipif(connection.vendor != "sqlite", reason="conflict clauses of SQLite")
@pytest.mark.parametrize("clause", ["INSERT OR IGNORE", "INSERT OR REPLACE"])
def test_a_conflict_clause_is_no_way_round_the_overdraft_check(wallet: Wallet, clause: str) -> None:
    receive(wallet, 100)
    hold = reserve(wallet, 30)
    before = snapshot()
    columns = ", ".join(f'"{field.column}"' for field in Transfer._meta.concrete_fields)
    forged = columns.replace('"amount"', f"'{101:036d}'")
    for source in (
        forged,
        forged.replace('"id"', f"'{uuid4().hex}'")
        .replace('"idempotency_key"', "'x'")
        .replace('"approval_id"', f"'{uuid4().hex}'"),
    ):
        with (
            pytest.raises(IntegrityError),
            transaction.atomic(),
            connection.cursor() as cursor,
        ):
            copy = f"SELECT {source} FROM wallets_transfer WHERE id = %s"
            cursor.execute(f"{clause} INTO wallets_transfer ({columns}) {copy}", [hold.id.hex])
    assert snapshot() == before


def test_every_rule_of_the_sql_file_stands_in_the_database() -> None:
    """A later migration that rebuilds a table on SQLite would silently drop its triggers."""
    from importlib import import_module

    folder = import_module("wallets.migrations.0002_ledger_triggers").SQL
    script = (folder / f"ledger_{connection.vendor}.sql").read_text()
    wanted = {line.split()[2] for line in script.splitlines() if line.startswith("CREATE TRIGGER")}
    query = (
        "SELECT name FROM sqlite_master WHERE type = 'trigger'"
        if connection.vendor == "sqlite"
        else "SELECT tgname FROM pg_trigger WHERE NOT tgisinternal"
    )
    with connection.cursor() as cursor:
        cursor.execute(query)
        found = {name for (name,) in cursor.fetchall()}
    assert len(wanted) >= 11
    assert wanted <= found


def test_two_wallets_of_one_network_share_the_outside_accounts(
    new_wallet: Callable[[], Wallet],
) -> None:
    first, second = new_wallet(), new_wallet()
    receive(first, 100)
    receive(second, 11)
    assert ledger.outside(Kind.EXTERNAL_DEPOSITS, "devnet", "USDC").posted == -111
    assert usdc(first).posted == 100
    assert usdc(second).posted == 11
