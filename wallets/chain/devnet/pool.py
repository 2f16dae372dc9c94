"""Transactions that were accepted and wait for their block, in the order of arrival."""

from dataclasses import dataclass
from typing import Any

from wallets.chain.devnet.errors import RpcError


@dataclass(frozen=True)
class Waiting:
    raw: bytes
    transaction: Any

    @property
    def hash(self) -> bytes:
        return bytes(self.transaction.hash)

    @property
    def slot(self) -> tuple[bytes, int]:
        """Sender and nonce: only one transaction can ever take it."""
        return bytes(self.transaction.sender), int(self.transaction.nonce)


def fee_cap(transaction: Any) -> int:
    """The most wei per gas that a transaction pays, whatever its type."""
    return int(getattr(transaction, "max_fee_per_gas", None) or transaction.gas_price)


class Pool:
    def __init__(self) -> None:
        self._slots: dict[tuple[bytes, int], Waiting] = {}

    def get(self, transaction_hash: bytes) -> Waiting | None:
        return next((w for w in self if w.hash == transaction_hash), None)

    def add(self, waiting: Waiting) -> None:
        """Another transaction of the same slot is replaced only by one that pays 10 % more."""
        old = self._slots.get(waiting.slot)
        if old and fee_cap(waiting.transaction) * 10 < fee_cap(old.transaction) * 11:
            raise RpcError(-32000, "replacement transaction underpriced")
        self._slots[waiting.slot] = waiting

    def drop(self, waiting: Waiting) -> None:
        self._slots.pop(waiting.slot, None)

    def next_nonce(self, sender: bytes, mined: int) -> int:
        """The first nonce from `mined` on that no waiting transaction takes."""
        while (sender, mined) in self._slots:
            mined += 1
        return mined

    def __iter__(self) -> Any:
        return iter(list(self._slots.values()))

    def __len__(self) -> int:
        return len(self._slots)
