"""Random transfers against the plainest possible model of the books."""

from typing import Any
from uuid import uuid4

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra.django import TestCase

from agents.models import Agent
from chimera.core.errors import ChimeraError
from chimera.core.ids import new_id
from wallets import ledger
from wallets.ledger import Kind
from wallets.models import Entry, LedgerAccount, Transfer, Wallet

AMOUNTS = st.one_of(
    st.integers(1, 100),
    st.integers(10**18 - 2, 10**18 + 2),  # where one half of the digits carries into the other
    st.integers(1, 10**27),
)
STEP = st.tuples(st.sampled_from(["deposit", "hold", "post", "void", "fee"]), AMOUNTS)


class Books:
    """Integers in Python, and the same steps in the database."""

    def __init__(self) -> None:
        agent = Agent.objects.create(name="Payer", type="cfo_judge")
        self.wallet = Wallet.objects.create(
            agent=agent, network="devnet", address="0x" + "1" * 40, encrypted_key=b"-"
        )
        ledger.accounts_open(self.wallet)
        self.account = ledger.account_of(self.wallet, "ETH")
        self.posted, self.holds = 0, dict[Any, int]()

    @property
    def held(self) -> int:
        return sum(self.holds.values())

    def deposit(self, amount: int) -> None:
        ledger.deposit(
            wallet=self.wallet,
            currency="ETH",
            amount=amount,
            tx_hash="0x" + uuid4().hex,
            log_index=-1,
        )
        self.posted += amount

    def hold(self, amount: int) -> None:
        transfer_id = new_id()
        fields: dict[str, Any] = {
            "transfer_id": transfer_id,
            "kind": Transfer.Kind.FEE_HOLD,
            "debit": self.account,
            "credit": ledger.outside(Kind.EXTERNAL_FEES, "devnet", "ETH"),
            "amount": amount,
            "idempotency_key": str(transfer_id),
        }
        if self._refused(amount, ledger.hold, fields):
            return
        self.holds[transfer_id] = amount

    def fee(self, amount: int) -> None:
        fields: dict[str, Any] = {
            "wallet": self.wallet,
            "amount": amount,
            "idempotency_key": str(uuid4()),
            "chain_transaction_id": None,
            "reference": "",
        }
        if not self._refused(amount, ledger.charge_fee, fields):
            self.posted -= amount

    def _refused(self, amount: int, move: Any, fields: dict[str, Any]) -> bool:
        if amount <= self.posted - self.held:
            move(**fields)
            return False
        with pytest.raises(ChimeraError, match="INSUFFICIENT_BALANCE"):
            move(**fields)
        return True

    def post(self, pick: int) -> None:
        if self.holds:
            transfer_id = sorted(self.holds)[pick % len(self.holds)]
            assert ledger.post(transfer_id)
            self.posted -= self.holds.pop(transfer_id)

    def void(self, pick: int) -> None:
        if self.holds:
            transfer_id = sorted(self.holds)[pick % len(self.holds)]
            assert ledger.void(transfer_id)
            del self.holds[transfer_id]

    def check(self) -> None:
        balance = ledger.balances(self.wallet)["ETH"]
        assert (balance.posted, balance.held) == (self.posted, self.held)
        assert balance.available >= 0
        assert sum(entry.signed for entry in Entry.objects.all()) == 0
        for account in LedgerAccount.objects.all():
            assert account.posted == sum(entry.signed for entry in account.entries.all())


class LedgerProperty(TestCase):
    """A class because Hypothesis rolls the database back between examples here."""

    @settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
    @given(st.lists(STEP, max_size=15))
    def test_any_sequence_of_transfers_keeps_the_books_exact(self, steps: list[Any]) -> None:
        books = Books()
        for name, amount in steps:
            getattr(books, name)(amount)
            books.check()
