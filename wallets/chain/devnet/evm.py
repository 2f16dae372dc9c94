"""The chain in memory: a fixed genesis, blocks of at most one transaction, look-ups by hash.

The same transactions with the same timestamps always give the same block hashes: nothing here
reads a clock or a random number.
"""

from dataclasses import dataclass
from typing import Any

from eth.estimators.gas import binary_gas_search_1000_tolerance
from eth.exceptions import HeaderNotFound, Revert, TransactionNotFound, VMError
from eth.vm.spoof import SpoofTransaction
from eth_abi.abi import decode
from eth_abi.exceptions import DecodingError
from eth_tester.backends.pyevm.main import get_default_genesis_params, setup_tester_chain
from eth_utils.exceptions import ValidationError
from rlp.exceptions import RLPException

from wallets.chain.devnet.errors import RpcError

GENESIS_TIMESTAMP = 1_700_000_000
MIX_HASH = b"\x01" * 32
COINBASE = b"\x00" * 20
GWEI = 10**9
ERROR_STRING = bytes.fromhex("08c379a0")


@dataclass(frozen=True)
class Call:
    """What eth_call and eth_estimateGas run; an empty `to` creates a contract, `value` is wei."""

    sender: bytes
    to: bytes
    value: int
    data: bytes
    gas: int | None


class Evm:
    """One chain; every method expects that the caller holds the node's lock."""

    def __init__(self, chain_id: int, balances: dict[bytes, int]) -> None:
        parameters = get_default_genesis_params(overrides={"timestamp": GENESIS_TIMESTAMP})
        state = {
            address: {"balance": wei, "storage": {}, "code": b"", "nonce": 0}
            for address, wei in balances.items()
        }
        _, self._chain = setup_tester_chain(parameters, state, len(state))
        type(self._chain).chain_id = chain_id
        self.chain_id = chain_id

    # blocks
    @property
    def head(self) -> Any:
        """The header of the last mined block."""
        return self._chain.get_canonical_head()

    @property
    def next_base_fee(self) -> int:
        return int(self._chain.header.base_fee_per_gas)

    @property
    def gas_limit(self) -> int:
        return int(self.head.gas_limit)

    def mine(self, transaction: Any | None, timestamp: int) -> Any:
        """Append a block with this transaction, or an empty one.

        The block's fields are set before the transaction runs, so the contract sees them too.
        Raises eth_utils ValidationError when the transaction may not enter a block now.
        """
        self._chain.header = self._chain.header.copy(
            timestamp=timestamp, mix_hash=MIX_HASH, coinbase=COINBASE
        )
        if transaction is not None:
            self._chain.apply_transaction(transaction)
        return self._chain.mine_block(mix_hash=MIX_HASH, timestamp=timestamp)

    def header(self, number: int) -> Any | None:
        try:
            return self._chain.get_canonical_block_header_by_number(number)
        except HeaderNotFound:
            return None

    def block(self, number: int) -> Any | None:
        return None if self.header(number) is None else self._block(number)

    def block_by_hash(self, block_hash: bytes) -> Any | None:
        try:
            header = self._chain.get_block_header_by_hash(block_hash)
        except HeaderNotFound:
            return None
        return self._chain.get_block_by_header(header)

    def _block(self, number: int) -> Any:
        return self._chain.get_canonical_block_by_number(number)

    # transactions
    def decode(self, raw: bytes) -> Any:
        """The signed transaction in these bytes; RpcError when it cannot be read."""
        try:
            transaction = self._chain.get_vm().get_transaction_builder().decode(raw)
            transaction.validate()
            transaction.check_signature_validity()
        except (RLPException, ValidationError, VMError, NotImplementedError, ValueError) as error:
            raise RpcError(-32000, f"invalid transaction: {error}") from None
        return transaction

    def find(self, transaction_hash: bytes) -> tuple[Any, Any, int] | None:
        """Block, transaction and index of a mined transaction."""
        try:
            number, index = self._chain.chaindb.get_transaction_index(transaction_hash)
        except TransactionNotFound:
            return None
        block = self._block(number)
        return block, block.transactions[index], index

    def receipts(self, block: Any) -> Any:
        return block.get_receipts(self._chain.chaindb)

    # state
    def state(self, header: Any) -> Any:
        """Account state after the block of this header."""
        return self._chain.get_vm(at_header=header).state

    def call(self, call: Call, header: Any) -> bytes:
        """Run without a fee and forget; RpcError code 3 with the revert data when it fails."""
        with self._chain.get_vm(at_header=header).in_costless_state() as state:
            try:
                computation = state.apply_transaction(self._spoof(call, state))
            except ValidationError as error:
                raise RpcError(-32000, str(error)) from None
        if computation.is_error:
            raise _reverted(computation.error)
        return bytes(computation.output)

    def estimate_gas(self, call: Call, header: Any) -> int:
        """Gas that suffices, to a thousand; RpcError as for `call`."""
        with self._chain.get_vm(at_header=header).in_costless_state() as state:
            try:
                return int(binary_gas_search_1000_tolerance(state, self._spoof(call, state)))
            except ValidationError as error:
                raise RpcError(-32000, str(error)) from None
            except VMError as error:
                raise _reverted(error) from None

    def _spoof(self, call: Call, state: Any) -> Any:
        builder = self._chain.get_vm().get_transaction_builder()
        unsigned = builder.new_unsigned_dynamic_fee_transaction(
            chain_id=self.chain_id,
            nonce=state.get_nonce(call.sender),
            max_priority_fee_per_gas=0,
            max_fee_per_gas=0,
            gas=min(call.gas or self.gas_limit, self.gas_limit),
            to=call.to,
            value=call.value,
            data=call.data,
            access_list=(),
        )
        return SpoofTransaction(unsigned, from_=call.sender, gas_price=0)


def _reverted(error: VMError) -> RpcError:
    if not isinstance(error, Revert):
        return RpcError(-32000, str(error) or type(error).__name__)
    data = bytes(error.args[0]) if error.args else b""
    reason = _reason(data)
    message = f"execution reverted: {reason}" if reason else "execution reverted"
    return RpcError(3, message, "0x" + data.hex())


def _reason(data: bytes) -> str:
    if data[:4] != ERROR_STRING:
        return ""
    try:
        return str(decode(["string"], data[4:])[0])
    except DecodingError:
        return ""
