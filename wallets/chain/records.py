"""What the gateway returns. Addresses are checksummed, hashes 0x and lower case, amounts units."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Log:
    """One event log: topics and data as 0x hex."""

    address: str
    topics: tuple[str, ...]
    data: str
    log_index: int


@dataclass(frozen=True)
class Receipt:
    """A mined transaction: `status` is False when it was mined but reverted; prices in wei."""

    tx_hash: str
    status: bool
    block_number: int
    block_hash: str
    gas_used: int
    effective_gas_price: int
    logs: tuple[Log, ...]


@dataclass(frozen=True)
class TransferLog:
    """One Transfer event of the pinned USDC; `value` in its smallest unit."""

    tx_hash: str
    log_index: int
    block_number: int
    block_hash: str
    sender: str
    recipient: str
    value: int


@dataclass(frozen=True)
class NativeTransfer:
    """A transaction that moved the native coin; `value` in wei."""

    tx_hash: str
    block_number: int
    block_hash: str
    sender: str
    recipient: str
    value: int
