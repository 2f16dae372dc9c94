"""The only place that speaks to a chain: reads, broadcasts, and tells what is settled.

Nothing here retries. NETWORK_ERROR: no answer; after a broadcast this means that the outcome is
not known. WALLET_ERROR: an answer that cannot be right, or another chain or token than configured.
TX_FAILED: the node refused the transaction, `details["reason"]` in its words.
"""

from collections.abc import Callable
from functools import cached_property
from typing import Any, TypeVar
from urllib.parse import urlsplit

from eth_utils.crypto import keccak

from chimera.core import capabilities, tracing
from chimera.core.errors import ChimeraError
from wallets.chain import answers
from wallets.chain.records import NativeTransfer, Receipt, TransferLog
from wallets.chain.signer import Fees, checksum
from wallets.chain.token import artifact

__all__ = ["Fees", "Gateway", "NativeTransfer", "Receipt", "TransferLog"]

Answer = TypeVar("Answer")

ALREADY_KNOWN = ("already known", "alreadyknown", "known transaction", "already imported")
TOPIC_LIMIT = 50


class Gateway:
    """One node, one chain, one USDC contract.

    rpc_url: HTTP(S) address of the node. timeout: seconds for one call.
    settle_tag: the block tag whose blocks count as settled: `latest`, `safe` or `finalized`.
    The first call asks the node for its chain id; another one is a WALLET_ERROR.
    """

    def __init__(
        self,
        rpc_url: str,
        chain_id: int,
        usdc: str,
        timeout: float = 5.0,
        settle_tag: str = "latest",
    ) -> None:
        self.rpc_url = rpc_url
        self.chain_id = chain_id
        self.usdc = checksum(usdc)
        self.timeout = timeout
        self.settle_tag = settle_tag

    @property
    def _web3(self) -> Any:
        capabilities.require("CHAIN")
        return self._connected

    @cached_property
    def _connected(self) -> Any:
        # Imported here: it takes more than a second; a process without chain work never pays it.
        from web3 import HTTPProvider, Web3

        options: dict[str, Any] = {"timeout": self.timeout, "auth": tracing.mark}
        if urlsplit(self.rpc_url).hostname in ("127.0.0.1", "localhost", "::1"):
            # A proxy of the environment cannot reach this machine's loopback.
            options["proxies"] = {"http": None, "https": None, "all": None}
        provider = HTTPProvider(self.rpc_url, options, exception_retry_configuration=None)
        web3 = Web3(provider)
        with answers.translated("eth_chainId"):
            actual = web3.eth.chain_id
        if actual != self.chain_id:
            text = f"the node is on chain {actual}, configured is {self.chain_id}"
            raise ChimeraError("WALLET_ERROR", text, details={"chain_id": actual})
        return web3

    def _read(self, method: str, call: Callable[[Any], Answer]) -> Answer:
        """A call that a healthy node always answers, so that a refusal is a WALLET_ERROR."""
        web3 = self._web3
        try:
            with answers.translated(method):
                return call(web3)
        except answers.Refused as refusal:
            text = f"{method}: {refusal.message}"
            raise ChimeraError("WALLET_ERROR", text) from refusal

    def _ask_token(self, function: str, *arguments: Any, tag: str | int = "latest") -> Any:
        """The answer of a read-only function of the USDC contract."""

        def ask(web3: Any) -> Any:
            token = web3.eth.contract(address=self.usdc, abi=artifact().abi)
            return token.functions[function](*arguments).call(block_identifier=tag)

        return self._read(function, ask)

    # state
    def check(self) -> None:
        """WALLET_ERROR unless chain id, token code, decimals and symbol are what they must be."""
        if not self._read("eth_getCode", lambda web3: web3.eth.get_code(self.usdc)):
            raise ChimeraError("WALLET_ERROR", f"no contract at the USDC address {self.usdc}")
        found = self._ask_token("decimals")
        symbol = self._ask_token("symbol")
        if (found, symbol) != (6, "USDC"):
            text = f"{self.usdc} is {symbol!r} with {found} decimals, not 'USDC' with 6"
            raise ChimeraError("WALLET_ERROR", text)

    def balance(self, address: str, currency: str, tag: str | int | None = None) -> int:
        """Units that the address holds at a block (tag or height), by default the settled one."""
        owner, block = checksum(address), tag or self.settle_tag
        if currency == "ETH":
            return self._read(
                "eth_getBalance", lambda web3: int(web3.eth.get_balance(owner, block))
            )
        if currency == "USDC":
            return int(self._ask_token("balanceOf", owner, tag=block))
        raise ChimeraError("WALLET_ERROR", f"currency {currency} is not on the chain: USDC or ETH")

    def block_number(self, tag: str = "latest") -> int:
        """Height of the block that a tag names."""
        return int(self._block(tag)["number"])

    def _block(self, block: str | int, full: bool = False) -> Any:
        return self._read(
            "eth_getBlockByNumber",
            lambda web3: web3.eth.get_block(block, full_transactions=full),
        )

    def fees(self) -> Fees:
        """Prices that stay enough while the base fee doubles."""
        base = int(self._block("latest")["baseFeePerGas"])
        tip = self._read("eth_maxPriorityFeePerGas", lambda web3: int(web3.eth.max_priority_fee))
        return Fees(max_fee_per_gas=2 * base + tip, max_priority_fee_per_gas=tip)

    def estimate_gas(self, sender: str, recipient: str, value: int = 0, data: bytes = b"") -> int:
        """Gas of a transaction as the chain stands; TX_FAILED with the reason if it would fail."""
        call: Any = {"from": sender, "to": recipient, "value": value, "data": "0x" + data.hex()}
        web3 = self._web3
        try:
            with answers.translated("eth_estimateGas"):
                return int(web3.eth.estimate_gas(call))
        except answers.Refused as refusal:
            details = {"reason": refusal.message, "data": refusal.data}
            text = f"the transaction would fail: {refusal.message}"
            raise ChimeraError("TX_FAILED", text, details=details) from refusal

    def next_nonce(self, address: str) -> int:
        """The next nonce, waiting transactions counted: only to start a counter of our own."""
        return self._read(
            "eth_getTransactionCount",
            lambda web3: int(web3.eth.get_transaction_count(checksum(address), "pending")),
        )

    # transactions
    def broadcast(self, raw: bytes) -> str:
        """Send signed bytes and return their hash; sending the same bytes again is harmless."""
        tx_hash = answers.hex_text(keccak(raw))
        web3 = self._web3
        try:
            with answers.translated("eth_sendRawTransaction"):
                answered = answers.hex_text(web3.eth.send_raw_transaction(raw))
        except answers.Refused as refusal:
            if self._is_known(tx_hash, refusal.message.lower()):
                return tx_hash
            details = {"reason": refusal.message, "tx_hash": tx_hash}
            text = f"the node refused the transaction: {refusal.message}"
            raise ChimeraError("TX_FAILED", text, details=details) from refusal
        if answered != tx_hash:
            raise ChimeraError("WALLET_ERROR", f"the node calls {tx_hash} {answered}")
        return tx_hash

    def _is_known(self, tx_hash: str, message: str) -> bool:
        if any(text in message for text in ALREADY_KNOWN):
            return True
        return "nonce too low" in message and self.receipt(tx_hash) is not None

    def receipt(self, tx_hash: str) -> Receipt | None:
        """The receipt once the transaction is mined, else None."""
        answer = self._find("eth_getTransactionReceipt", "get_transaction_receipt", tx_hash)
        return answers.receipt_of(answer) if answer else None

    def _find(self, method: str, function: str, tx_hash: str) -> Any:
        from web3.exceptions import TransactionNotFound  # imported here like web3 above

        def look_up(web3: Any) -> Any:
            try:
                return getattr(web3.eth, function)(tx_hash)
            except TransactionNotFound:
                return None

        return self._read(method, look_up)

    def is_settled(self, receipt: Receipt) -> bool:
        """Whether its block is settled by `settle_tag` and still part of the chain."""
        if receipt.block_number > self.block_number(self.settle_tag):
            return False
        return answers.hex_text(self._block(receipt.block_number)["hash"]) == receipt.block_hash

    def settled_transfer(
        self, receipt: Receipt, *, sender: str, recipient: str, value: int, currency: str
    ) -> bool:
        """Whether the receipt proves exactly this transfer; `is_settled` says if it is final."""
        wanted = (checksum(sender), checksum(recipient), value)
        if not receipt.status:
            return False
        if currency == "USDC":
            logs = [log for log in receipt.logs if answers.is_transfer(log, self.usdc)]
            return [answers.transfer_fields(log) for log in logs].count(wanted) == 1
        found = self._find("eth_getTransactionByHash", "get_transaction", receipt.tx_hash)
        if not found or not found.get("to"):
            return False
        return (checksum(found["from"]), checksum(found["to"]), int(found["value"])) == wanted

    # deposits
    def usdc_transfers(
        self, from_block: int, to_block: int, to_addresses: set[str] | None = None
    ) -> list[TransferLog]:
        """Transfers of the pinned token in these blocks, both included, to these addresses or all.

        Nodes limit the range of one call (often 2000 to 10000 blocks): ask for no more at once.
        """
        wanted = None if to_addresses is None else {checksum(item) for item in to_addresses}
        if wanted is not None and not wanted:
            return []
        criteria: Any = {
            "address": self.usdc,
            "fromBlock": from_block,
            "toBlock": to_block,
            "topics": [answers.TRANSFER_TOPIC, None, _topics(wanted)],
        }
        rows = self._read("eth_getLogs", lambda web3: web3.eth.get_logs(criteria))
        ours = [row for row in rows if row["address"] == self.usdc and not row.get("removed")]
        transfers = [answers.transfer_of(row) for row in ours]
        return [item for item in transfers if wanted is None or item.recipient in wanted]

    def native_transfers(
        self, from_block: int, to_block: int, to_addresses: set[str]
    ) -> list[NativeTransfer]:
        """Successful transactions in these blocks that send the native coin to these addresses.

        Reads every block in full; what a contract passes on inside a call is not seen.
        """
        wanted = {checksum(item) for item in to_addresses}
        blocks = (self._block(number, full=True) for number in range(from_block, to_block + 1))
        found = [
            answers.native_of(block, transaction)
            for block in blocks
            for transaction in block["transactions"]
            if transaction["value"] and transaction.get("to") in wanted
        ]
        return [item for item in found if self._succeeded(item.tx_hash)]

    def _succeeded(self, tx_hash: str) -> bool:
        receipt = self.receipt(tx_hash)
        return receipt is not None and receipt.status


def _topics(addresses: set[str] | None) -> list[str] | None:
    """A topic filter for few addresses; nodes refuse long ones, which are filtered here instead."""
    if addresses is None or len(addresses) > TOPIC_LIMIT:
        return None
    return sorted("0x" + address[2:].lower().rjust(64, "0") for address in addresses)
