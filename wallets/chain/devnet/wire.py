"""Values as Ethereum JSON-RPC writes them: camelCase keys, hex numbers, null for no recipient."""

from typing import Any

from eth_tester.backends.pyevm.serializers import (
    serialize_block,
    serialize_transaction,
    serialize_transaction_receipt,
)

RENAMED = {"sha3_uncles": "sha3Uncles", "coinbase": "miner"}
DROPPED = {"total_difficulty", "withdrawals"}


def block(value: Any, full: bool) -> dict[str, Any]:
    answer = _object(serialize_block(value, full, False))
    answer["logsBloom"] = f"0x{value.header.bloom:0512x}"
    answer["withdrawals"] = []
    if full:
        rows = enumerate(value.transactions)
        answer["transactions"] = [transaction(value, item, index) for index, item in rows]
    return answer


def transaction(block_: Any | None, value: Any, index: int = 0) -> dict[str, Any]:
    """A mined transaction, or a waiting one when there is no block."""
    content = serialize_transaction(block_, value, index, block_ is None)
    content["input"] = content.pop("data")
    accesses = content.pop("access_list", None)
    answer = _object(content)
    answer["to"] = _hex(value.to) if value.to else None
    if accesses is not None:
        answer["accessList"] = [
            {"address": _hex(address), "storageKeys": [f"0x{key:064x}" for key in keys]}
            for address, keys in accesses
        ]
    return answer


def receipt(block_: Any, receipts: Any, value: Any, index: int) -> dict[str, Any]:
    content = serialize_transaction_receipt(block_, receipts, value, index, False, None)
    logs = [_log(item) for item in content.pop("logs")]
    content.pop("state_root")
    bloom = f"0x{receipts[index].bloom:0512x}"
    answer = {**_object(content), "logs": logs, "logsBloom": bloom}
    answer["to"] = _hex(value.to) if value.to else None
    return answer


def _log(content: dict[str, Any]) -> dict[str, Any]:
    content.pop("type")
    return {**_object(content), "removed": False}


def _object(content: dict[str, Any]) -> dict[str, Any]:
    return {_key(key): plain(value) for key, value in content.items() if key not in DROPPED}


def plain(value: Any) -> Any:
    """Bytes and numbers as hex; what has no hex form stays."""
    if value is None or isinstance(value, bool | str | float):
        return value
    if isinstance(value, int):
        return hex(value)
    if isinstance(value, bytes):
        return _hex(value)
    if isinstance(value, dict):
        return _object(value)
    return [plain(item) for item in value]


def _hex(value: bytes) -> str:
    return "0x" + bytes(value).hex()


def _key(name: str) -> str:
    if name in RENAMED:
        return RENAMED[name]
    head, *tail = name.split("_")
    return head + "".join(part.capitalize() for part in tail)
