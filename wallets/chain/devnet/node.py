"""One chain with its pool, journal and faucet: accept, mine, replay, take back."""

import os
import sys
import threading
import time
from pathlib import Path
from typing import Any

from eth_account import Account
from eth_tester.utils.address import generate_contract_address
from eth_utils.address import to_canonical_address, to_checksum_address
from eth_utils.crypto import keccak
from eth_utils.exceptions import ValidationError

from wallets.chain.devnet.errors import DevnetError, RpcError
from wallets.chain.devnet.evm import GWEI, Evm
from wallets.chain.devnet.journal import Entry, Journal
from wallets.chain.devnet.pool import Pool, Waiting, fee_cap
from wallets.chain.token import artifact

CHAIN_ID = 31337
FAUCET = Account.from_key((1).to_bytes(32, "big"))
SETTLEMENT = Account.from_key(keccak(text="chimera devnet: settlement account of OpenClaw")).address
FAUCET_BYTES = to_canonical_address(FAUCET.address)
FAUCET_WEI = 10**27
USDC = to_checksum_address(generate_contract_address(FAUCET_BYTES, 0))
MINT_SELECTOR = keccak(text="mint(address,uint256)")[:4]
DEPLOY_GAS, FUND_GAS = 3_000_000, 120_000


class Node:
    """Accepts transactions and mines each into a block of its own.

    One lock serialises everything: who calls a method holds it.
    block_time: seconds between rounds of mining; 0 mines at once.
    finality_lag: how many blocks `safe` and `finalized` stay behind the head.
    """

    def __init__(self, folder: Path, *, block_time: float = 0, finality_lag: int = 0) -> None:
        self.lock = threading.RLock()
        self.block_time = block_time
        self.finality_lag = finality_lag
        self.stalled = False
        self.journal = Journal(folder / "devnet.jsonl")
        self._start(self.journal.load())

    def _start(self, entries: list[Entry]) -> None:
        self.evm = Evm(CHAIN_ID, {FAUCET_BYTES: FAUCET_WEI})
        self.pool = Pool()
        self.refusals: dict[bytes, str] = {}
        for number, (raw, timestamp) in enumerate(entries, 1):
            self._replay(number, raw, timestamp)
        if self.nonce(FAUCET_BYTES) == 0:
            self._send_from_faucet(None, 0, artifact().bytecode, DEPLOY_GAS)
            self.mine_ready()

    def _replay(self, number: int, raw: bytes | None, timestamp: int) -> None:
        try:
            self.evm.mine(None if raw is None else self.evm.decode(raw), timestamp)
        except (RpcError, ValidationError) as error:
            place = f"{self.journal.path} line {number} cannot be replayed ({error})"
            raise DevnetError(f"{place}: delete the file to start a new chain") from None

    # accept
    def send(self, raw: bytes) -> bytes:
        """Take a signed transaction and return its hash; RpcError with a common client's words."""
        waiting = Waiting(raw, self.evm.decode(raw))
        self._refuse_foreign_chain(waiting.transaction)
        if self.evm.find(waiting.hash) or self.pool.get(waiting.hash):
            raise RpcError(-32000, "already known")
        self._check(waiting)
        self.pool.add(waiting)
        if not self.block_time:
            self.mine_ready()
        if waiting.hash in self.refusals:
            raise RpcError(-32000, self.refusals.pop(waiting.hash))
        return waiting.hash

    def _refuse_foreign_chain(self, transaction: Any) -> None:
        # py-evm runs a transaction whatever chain it was signed for.
        if transaction.chain_id is None:
            raise RpcError(-32000, "only replay-protected (EIP-155) transactions allowed over RPC")
        if transaction.chain_id != CHAIN_ID:
            have = transaction.chain_id
            raise RpcError(-32000, f"invalid chain id for signer: have {have} want {CHAIN_ID}")

    def _check(self, waiting: Waiting) -> None:
        transaction, (sender, nonce) = waiting.transaction, waiting.slot
        mined, balance = self.nonce(sender), self.evm.state(self.evm.head).get_balance(sender)
        cost = transaction.value + transaction.gas * fee_cap(transaction)
        if nonce < mined:
            raise RpcError(-32000, f"nonce too low: next nonce {mined}, tx nonce {nonce}")
        if transaction.gas < transaction.intrinsic_gas:
            need = f"have {transaction.gas}, want {transaction.intrinsic_gas}"
            raise RpcError(-32000, f"intrinsic gas too low: {need}")
        if transaction.gas > self.evm.gas_limit:
            raise RpcError(-32000, "exceeds block gas limit")
        if fee_cap(transaction) < self.evm.next_base_fee:
            raise RpcError(-32000, "max fee per gas less than block base fee")
        if balance < cost:
            text = f"balance {balance}, tx cost {cost}, overshot {cost - balance}"
            raise RpcError(-32000, f"insufficient funds for gas * price + value: {text}")

    def nonce(self, sender: bytes) -> int:
        """How many transactions of the sender are mined."""
        return int(self.evm.state(self.evm.head).get_nonce(sender))

    def pending_nonce(self, sender: bytes) -> int:
        """The same, counting the waiting transactions that follow without a gap."""
        return self.pool.next_nonce(sender, self.nonce(sender))

    # mine
    def mine_ready(self) -> None:
        """Mine, one block each, every waiting transaction whose turn it is."""
        while not self.stalled and (waiting := self._next_ready()):
            self.pool.drop(waiting)
            try:
                self.mine(waiting)
            except ValidationError as error:
                self.refusals[waiting.hash] = str(error)

    def _next_ready(self) -> Waiting | None:
        return next((w for w in self.pool if w.slot[1] == self.nonce(w.slot[0])), None)

    def mine(self, waiting: Waiting | None) -> None:
        """One block with this transaction, or an empty one, on the chain and on the disk."""
        timestamp = max(int(time.time()), self.evm.head.timestamp + 1)
        self.evm.mine(waiting.transaction if waiting else None, timestamp)
        try:
            self.journal.append(waiting.raw if waiting else None, timestamp)
        except OSError as error:
            # The memory is ahead of the disk now: only a restart makes them equal again.
            print(f"cannot write {self.journal.path}: {error}", file=sys.stderr, flush=True)
            os._exit(1)

    def resume(self) -> None:
        self.stalled = False
        self.mine_ready()

    def drop_waiting(self) -> int:
        """Forget every waiting transaction, as a node does that restarts or runs full."""
        count, self.pool = len(self.pool), Pool()
        return count

    def reorganise(self, depth: int) -> None:
        """Take the last `depth` blocks back; their transactions are gone."""
        blocks = self.evm.head.block_number
        if not 0 < depth < blocks:
            raise RpcError(-32602, f"depth: give a number from 1 to {blocks - 1}")
        self._start(self.journal.keep(blocks - depth))

    # faucet
    def fund(self, recipient: bytes, units: int, wei: int) -> list[bytes]:
        """Mint USDC and send coin to the recipient; an amount of 0 sends nothing."""
        token = to_canonical_address(USDC)
        mint = MINT_SELECTOR + recipient.rjust(32, b"\0") + units.to_bytes(32, "big")
        hashes = [self._send_from_faucet(token, 0, mint, FUND_GAS)] if units else []
        return hashes + ([self._send_from_faucet(recipient, wei, b"", FUND_GAS)] if wei else [])

    def _send_from_faucet(self, to: bytes | None, wei: int, data: bytes, gas: int) -> bytes:
        signed = FAUCET.sign_transaction(
            {
                "type": 2,
                "chainId": CHAIN_ID,
                "nonce": self.pending_nonce(FAUCET_BYTES),
                "maxPriorityFeePerGas": GWEI,
                "maxFeePerGas": 2 * self.evm.next_base_fee + GWEI,
                "gas": gas,
                "value": wei,
                "data": data,
                **({"to": to} if to else {}),
            }
        )
        return self.send(bytes(signed.raw_transaction))
