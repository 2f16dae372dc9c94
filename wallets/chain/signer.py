"""Addresses, keys and signatures; unsigned transfers for them.

Amounts are whole numbers of smallest units: 6 decimals for USDC, 18 (wei) for the native coin.
"""

import re
from dataclasses import dataclass
from typing import Any, Protocol

from eth_utils.address import to_canonical_address, to_checksum_address

from chimera.core.errors import ChimeraError

ZERO_ADDRESS = "0x" + "0" * 40
TRANSFER_SELECTOR = bytes.fromhex("a9059cbb")  # transfer(address,uint256)
ADDRESS = re.compile(r"0x[0-9a-fA-F]{40}")


@dataclass(frozen=True)
class Fees:
    """EIP-1559 prices in wei per gas."""

    max_fee_per_gas: int
    max_priority_fee_per_gas: int


@dataclass(frozen=True)
class SignedTransaction:
    """The bytes to broadcast, as often as needed, and the hash they will have (0x, lower case)."""

    raw: bytes
    hash: str


class Signer(Protocol):
    """Holds one key and signs with it."""

    @property
    def address(self) -> str: ...

    def sign(self, tx: dict[str, Any]) -> SignedTransaction: ...


class LocalSigner:
    """A signer whose key is in this process. It signs for one chain only.

    private_key: 32 bytes. chain_id: the only chain it signs for.
    """

    def __init__(self, private_key: bytes, chain_id: int) -> None:
        # Imported here: it takes more than a second, and most processes never sign.
        from eth_account import Account

        self._account = Account.from_key(private_key)
        self._chain_id = chain_id

    @property
    def address(self) -> str:
        """Checksummed address of the key."""
        return str(self._account.address)

    def sign(self, tx: dict[str, Any]) -> SignedTransaction:
        """Sign a transaction of `transfer_transaction`; WALLET_ERROR when it must not be signed."""
        self._refuse(tx)
        signed = self._account.sign_transaction(tx)
        return SignedTransaction(bytes(signed.raw_transaction), "0x" + bytes(signed.hash).hex())

    def _refuse(self, tx: dict[str, Any]) -> None:
        # eth-account would sign without a chain id, and such a signature is good on every chain.
        if tx.get("chainId") != self._chain_id:
            have = tx.get("chainId", "none")
            text = f"chainId is {have}, this signer signs for {self._chain_id} only"
            raise ChimeraError("WALLET_ERROR", text)
        recipient = tx.get("to")
        if not isinstance(recipient, str) or not ADDRESS.fullmatch(recipient):
            raise ChimeraError("WALLET_ERROR", "to: an address is required")
        if recipient == ZERO_ADDRESS:
            raise ChimeraError("WALLET_ERROR", "to: the zero address is refused")
        if tx.get("from", self.address) != self.address:
            raise ChimeraError("WALLET_ERROR", f"from: this signer is {self.address}")

    def __repr__(self) -> str:
        return f"LocalSigner({self.address})"


def new_key() -> bytes:
    """A fresh private key from the system's random source: 32 bytes."""
    # Imported here for the same reason as above.
    from eth_account import Account

    return bytes(Account.create().key)


def transfer_transaction(
    *,
    chain_id: int,
    nonce: int,
    sender: str,
    recipient: str,
    units: int,
    currency: str,
    usdc: str,
    gas: int,
    fees: Fees,
) -> dict[str, Any]:
    """The unsigned type-2 transaction that moves `units` of USDC or of the native coin (ETH)."""
    call = transfer_call(recipient=recipient, units=units, currency=currency, usdc=usdc)
    return {
        "type": 2,
        "chainId": chain_id,
        "nonce": nonce,
        "from": checksum(sender),
        **call,
        "gas": gas,
        "maxFeePerGas": fees.max_fee_per_gas,
        "maxPriorityFeePerGas": fees.max_priority_fee_per_gas,
    }


def transfer_call(*, recipient: str, units: int, currency: str, usdc: str) -> dict[str, Any]:
    """What a transfer calls: `to`, `value` (wei) and `data` (bytes)."""
    if units <= 0:
        raise ChimeraError("WALLET_ERROR", "units: a transfer moves at least one unit")
    if currency == "ETH":
        return {"to": validate_address(recipient), "value": units, "data": b""}
    if currency != "USDC":
        raise ChimeraError("WALLET_ERROR", f"currency {currency} is not on the chain: USDC or ETH")
    target = to_canonical_address(validate_address(recipient)).rjust(32, b"\0")
    data = TRANSFER_SELECTOR + target + units.to_bytes(32, "big")
    return {"to": checksum(usdc), "value": 0, "data": data}


def checksum(address: str) -> str:
    """The EIP-55 form of an address."""
    return str(to_checksum_address(address))


def validate_address(text: str) -> str:
    """The EIP-55 form of a caller's address; INVALID_ADDRESS when it is not a usable one.

    An address in one case carries no checksum and is taken; one in mixed case must have it right.
    """
    if not isinstance(text, str) or not ADDRESS.fullmatch(text):
        raise _invalid("give 0x and 40 hexadecimal digits")
    address = checksum(text)
    digits = text[2:]
    if digits not in (digits.lower(), digits.upper(), address[2:]):
        raise _invalid("its EIP-55 checksum is wrong: copy it again, or write it in lower case")
    if address == ZERO_ADDRESS:
        raise _invalid("the zero address belongs to nobody: give the recipient's address")
    return address


def _invalid(remedy: str) -> ChimeraError:
    message = f"wallet_address is not valid: {remedy}"
    return ChimeraError("INVALID_ADDRESS", message, errors={"wallet_address": [remedy]})
