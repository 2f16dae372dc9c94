"""An index of event logs: py-evm itself would walk every block for each question."""

from typing import Any

from wallets.chain.devnet import wire
from wallets.chain.devnet.evm import Evm


class LogIndex:
    """Logs of every block up to the last question, in order."""

    def __init__(self) -> None:
        self._logs: list[tuple[int, dict[str, Any]]] = []
        self._next = 0

    def find(
        self, evm: Evm, criteria: dict[str, Any], first: int, last: int
    ) -> list[dict[str, Any]]:
        """Logs of the blocks first..last that fit an eth_getLogs filter's address and topics."""
        self._catch_up(evm)
        return [
            log for number, log in self._logs if first <= number <= last and _fits(log, criteria)
        ]

    def _catch_up(self, evm: Evm) -> None:
        for number in range(self._next, evm.head.block_number + 1):
            block = evm.block(number)
            receipts = evm.receipts(block) if block else ()
            for index, transaction in enumerate(block.transactions if block else ()):
                logs = wire.receipt(block, receipts, transaction, index)["logs"]
                self._logs.extend((number, log) for log in logs)
            self._next = number + 1


def _fits(log: dict[str, Any], criteria: dict[str, Any]) -> bool:
    wanted = [criteria.get("address"), *(criteria.get("topics") or [])]
    actual = [log["address"], *log["topics"]]
    if len(wanted) > len(actual):
        return False
    return all(_matches(value, choice) for value, choice in zip(actual, wanted, strict=False))


def _matches(value: str, choice: str | list[str] | None) -> bool:
    if not choice:
        return True
    choices = [choice] if isinstance(choice, str) else choice
    return value in {item.lower() for item in choices}
