"""The JSON-RPC methods of the embedded chain."""

from collections.abc import Callable
from typing import Any

from wallets.chain.devnet import wire
from wallets.chain.devnet.errors import RpcError
from wallets.chain.devnet.evm import GWEI, Call
from wallets.chain.devnet.faults import Faults
from wallets.chain.devnet.logs import LogIndex
from wallets.chain.devnet.node import CHAIN_ID, Node

PARSE_ERROR, INVALID_REQUEST, UNKNOWN_METHOD, INVALID_PARAMS = -32700, -32600, -32601, -32602
MAX_INTEGER = 2**256


class Rpc:
    """Answers one request object at a time; `answer` takes the node's lock."""

    def __init__(self, node: Node, faults: Faults) -> None:
        self.node = node
        self.faults = faults
        self.logs = LogIndex()
        self.methods: dict[str, Callable[..., Any]] = {
            "eth_chainId": lambda: CHAIN_ID,
            "net_version": lambda: str(CHAIN_ID),
            "net_listening": lambda: True,
            "web3_clientVersion": lambda: "ChimeraDevnet/py-evm",
            "eth_syncing": lambda: False,
            "eth_accounts": list,
            "eth_blockNumber": lambda: self.node.evm.head.block_number,
            "eth_gasPrice": lambda: self.node.evm.next_base_fee + GWEI,
            "eth_maxPriorityFeePerGas": lambda: GWEI,
            "eth_feeHistory": self.fee_history,
            "eth_getBalance": self.balance,
            "eth_getCode": self.code,
            "eth_getStorageAt": self.storage,
            "eth_getTransactionCount": self.transaction_count,
            "eth_call": self.call,
            "eth_estimateGas": self.estimate_gas,
            "eth_getBlockByNumber": self.block_by_number,
            "eth_getBlockByHash": self.block_by_hash,
            "eth_getTransactionByHash": self.transaction,
            "eth_getTransactionReceipt": self.receipt,
            "eth_getLogs": self.get_logs,
            "eth_sendRawTransaction": self.send_raw,
            "evm_mine": self.mine,
            "chimera_fund": self.fund,
            "chimera_fault": self.fault,
            "chimera_resume": self.resume,
            "chimera_drop_waiting": self.node.drop_waiting,
            "chimera_reorg": self.reorg,
        }

    def answer(self, request: Any) -> dict[str, Any]:
        """The response object to one request object, whatever it is."""
        if not isinstance(request, dict) or not isinstance(request.get("method"), str):
            return failure(None, RpcError(INVALID_REQUEST, "a request is an object with a method"))
        identity, params = request.get("id"), request.get("params", [])
        try:
            with self.node.lock:
                result = self._run(request["method"], params)
            return {"jsonrpc": "2.0", "id": identity, "result": wire.plain(result)}
        except RpcError as error:
            return failure(identity, error)

    def _run(self, method: str, params: Any) -> Any:
        if method not in self.methods:
            raise RpcError(UNKNOWN_METHOD, f"the method {method} does not exist")
        if not isinstance(params, list):
            raise RpcError(INVALID_PARAMS, "params must be an array")
        try:
            return self.methods[method](*params)
        except (TypeError, ValueError, AttributeError, OverflowError) as error:
            raise RpcError(INVALID_PARAMS, f"invalid params of {method}: {error}") from error

    # state
    def balance(self, address: str, tag: Any = "latest") -> int:
        return int(self._state(tag).get_balance(hexed(address, 20)))

    def code(self, address: str, tag: Any = "latest") -> bytes:
        return bytes(self._state(tag).get_code(hexed(address, 20)))

    def storage(self, address: str, slot: str, tag: Any = "latest") -> str:
        return f"0x{self._state(tag).get_storage(hexed(address, 20), quantity(slot)):064x}"

    def transaction_count(self, address: str, tag: Any = "latest") -> int:
        sender = hexed(address, 20)
        if tag == "pending":
            return self.node.pending_nonce(sender)
        return int(self._state(tag).get_nonce(sender))

    def call(self, fields: dict[str, Any], tag: Any = "latest") -> bytes:
        return self.node.evm.call(_call(fields), self._header(tag))

    def estimate_gas(self, fields: dict[str, Any], tag: Any = "latest") -> int:
        return self.node.evm.estimate_gas(_call(fields), self._header(tag))

    def fee_history(self, count: Any, newest: Any, percentiles: list[float] | None = None) -> Any:
        last = self._number(newest)
        wanted = min(max(quantity(count), 1), 1024, last + 1)
        headers = [self._header(number) for number in range(last - wanted + 1, last + 1)]
        following = self.node.evm.header(last + 1)
        after = following.base_fee_per_gas if following else self.node.evm.next_base_fee
        return {
            "oldest_block": last - wanted + 1,
            "base_fee_per_gas": [header.base_fee_per_gas for header in headers] + [after],
            "gas_used_ratio": [header.gas_used / header.gas_limit for header in headers],
            "reward": [[GWEI for _ in percentiles or []] for _ in headers],
        }

    # blocks and transactions
    def block_by_number(self, tag: Any, full: bool = False) -> Any:
        block = self.node.evm.block(self._number(tag))
        return block and wire.block(block, full)

    def block_by_hash(self, block_hash: str, full: bool = False) -> Any:
        block = self.node.evm.block_by_hash(hexed(block_hash, 32))
        return block and wire.block(block, full)

    def transaction(self, transaction_hash: str) -> Any:
        wanted = hexed(transaction_hash, 32)
        if found := self.node.evm.find(wanted):
            return wire.transaction(*found)
        waiting = self.node.pool.get(wanted)
        return waiting and wire.transaction(None, waiting.transaction)

    def receipt(self, transaction_hash: str) -> Any:
        found = self.node.evm.find(hexed(transaction_hash, 32))
        if found is None:
            return None
        block, transaction, index = found
        return wire.receipt(block, self.node.evm.receipts(block), transaction, index)

    def get_logs(self, criteria: dict[str, Any]) -> list[dict[str, Any]]:
        if "blockHash" in criteria:
            block = self.node.evm.block_by_hash(hexed(criteria["blockHash"], 32))
            if block is None:
                raise RpcError(-32000, "unknown block")
            first = last = block.number
        else:
            first = self._number(criteria.get("fromBlock", "latest"))
            last = self._number(criteria.get("toBlock", "latest"))
        return self.logs.find(self.node.evm, criteria, first, last)

    def send_raw(self, raw: str) -> bytes:
        accepted = self.node.send(hexed(raw))
        self.faults.accepted()
        return accepted

    # control of the test chain
    def mine(self) -> str:
        self.node.mine(None)
        return "0x0"

    def fund(self, address: str, units: Any, wei: Any = 0) -> list[bytes]:
        return self.node.fund(hexed(address, 20), quantity(units), quantity(wei))

    def fault(self, kind: str, count: int = 1) -> bool:
        """Switch a fault on: see faults.py; stall_mining lasts until chimera_resume."""
        if kind == "stall_mining":
            self.node.stalled = True
        else:
            self.faults.set(kind, count)
        return True

    def resume(self) -> bool:
        """Switch every fault off and mine what waits."""
        self.faults.clear()
        self.node.resume()
        return True

    def reorg(self, depth: int) -> bool:
        self.node.reorganise(depth)
        self.logs = LogIndex()
        return True

    # block tags
    def _number(self, tag: Any) -> int:
        head = int(self.node.evm.head.block_number)
        names = {"latest": head, "pending": head, "earliest": 0, None: head}
        names["safe"] = names["finalized"] = max(0, head - self.node.finality_lag)
        if isinstance(tag, dict):
            tag = self._hash_tag(tag)
        return names[tag] if tag in names else quantity(tag)

    def _hash_tag(self, tag: dict[str, Any]) -> Any:
        if "blockHash" not in tag:
            return tag["blockNumber"]
        block = self.node.evm.block_by_hash(hexed(tag["blockHash"], 32))
        return block.number if block else MAX_INTEGER

    def _header(self, tag: Any) -> Any:
        header = self.node.evm.header(self._number(tag))
        if header is None:
            raise RpcError(-32000, "header not found")
        return header

    def _state(self, tag: Any) -> Any:
        return self.node.evm.state(self._header(tag))


def failure(identity: Any, error: RpcError) -> dict[str, Any]:
    """A JSON-RPC error response."""
    content: dict[str, Any] = {"code": error.code, "message": error.message}
    if error.data is not None:
        content["data"] = error.data
    return {"jsonrpc": "2.0", "id": identity, "error": content}


def hexed(text: str, size: int | None = None) -> bytes:
    """The bytes of a 0x string; RpcError when it is none or has another size."""
    try:
        value = bytes.fromhex(text.removeprefix("0x"))
    except (ValueError, AttributeError):
        raise RpcError(INVALID_PARAMS, f"expected a hex string with 0x, got {text!r}") from None
    if size is not None and len(value) != size:
        raise RpcError(INVALID_PARAMS, f"expected {size} bytes of hex, got {len(value)}")
    return value


def quantity(value: Any) -> int:
    """A whole number that fits a word: a JSON number, decimal text or 0x text."""
    try:
        number = value if isinstance(value, int) else int(value, 16 if "x" in value else 10)
    except (ValueError, TypeError):
        raise RpcError(INVALID_PARAMS, f"expected a number, got {value!r}") from None
    if isinstance(value, bool) or not 0 <= number < MAX_INTEGER:
        raise RpcError(INVALID_PARAMS, f"expected a number from 0 to 2**256 - 1, got {value!r}")
    return number


def _call(fields: dict[str, Any]) -> Call:
    return Call(
        sender=hexed(fields.get("from") or "0x" + "00" * 20, 20),
        to=hexed(fields.get("to") or "0x"),
        value=quantity(fields.get("value", 0)),
        data=hexed(fields.get("input") or fields.get("data") or "0x"),
        gas=quantity(fields["gas"]) if "gas" in fields else None,
    )
