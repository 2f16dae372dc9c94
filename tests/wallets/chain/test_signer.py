"""Addresses and signatures: what is refused and what comes out."""

from typing import Any

import pytest
from eth_account import Account
from eth_utils.crypto import keccak

from chimera.core.errors import ChimeraError
from wallets.chain.signer import (
    ZERO_ADDRESS,
    Fees,
    LocalSigner,
    checksum,
    new_key,
    transfer_transaction,
    validate_address,
)

# The examples of EIP-55.
EXAMPLES = [
    "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed",
    "0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359",
    "0xdbF03B407c01E7cD3CBea99509d93f8DDDC8C6FB",
    "0xD1220A0cf47c7B9Be7A2E6BA89F429762e7b9aDb",
]
USDC = checksum("0x" + "a1" * 20)


@pytest.fixture
def signer() -> LocalSigner:
    return LocalSigner(new_key(), 31337)


def unsigned(signer: LocalSigner, **changes: Any) -> dict[str, Any]:
    fields: dict[str, Any] = {
        "chain_id": 31337,
        "nonce": 3,
        "sender": signer.address,
        "recipient": EXAMPLES[0],
        "units": 1_500_000,
        "currency": "USDC",
        "usdc": USDC,
        "gas": 60_000,
        "fees": Fees(max_fee_per_gas=30, max_priority_fee_per_gas=2),
    }
    return transfer_transaction(**{**fields, **changes})


def refusal(signer: LocalSigner, tx: dict[str, Any]) -> ChimeraError:
    with pytest.raises(ChimeraError) as caught:
        signer.sign(tx)
    assert caught.value.code == "WALLET_ERROR"
    return caught.value


@pytest.mark.req("A8.4")
@pytest.mark.parametrize("address", EXAMPLES)
def test_address_with_a_right_checksum_or_in_one_case_is_taken(address: str) -> None:
    assert validate_address(address) == address
    assert validate_address(address.lower()) == address
    assert validate_address("0x" + address[2:].upper()) == address


@pytest.mark.req("A8.4")
@pytest.mark.parametrize(
    "text",
    [
        EXAMPLES[0].replace("aA", "Aa"),
        EXAMPLES[0][:-1],
        EXAMPLES[0] + "0",
        EXAMPLES[0][2:],
        EXAMPLES[0].replace("0x", "0X"),
        "0x" + "g" * 40,
        " " + EXAMPLES[0],
        EXAMPLES[0] + "\n",
        "",
        "vitalik.eth",
        ZERO_ADDRESS,
    ],
)
def test_unusable_address_is_refused_with_field_and_remedy(text: str) -> None:
    with pytest.raises(ChimeraError) as caught:
        validate_address(text)
    assert caught.value.code == "INVALID_ADDRESS"
    assert caught.value.errors and caught.value.errors["wallet_address"][0]
    assert "wallet_address" in caught.value.message


def test_usdc_transfer_calls_the_token_with_recipient_and_units(signer: LocalSigner) -> None:
    tx = unsigned(signer)
    assert (tx["to"], tx["value"], tx["type"], tx["chainId"]) == (USDC, 0, 2, 31337)
    words = "0" * 24 + EXAMPLES[0][2:].lower() + f"{1_500_000:064x}"
    assert tx["data"].hex() == "a9059cbb" + words


def test_signature_recovers_the_signer_and_the_hash_is_that_of_the_bytes(
    signer: LocalSigner,
) -> None:
    signed = signer.sign(unsigned(signer, currency="ETH"))
    assert Account.recover_transaction(signed.raw) == signer.address
    assert signed.hash == "0x" + keccak(signed.raw).hex()
    assert signer.sign(unsigned(signer, currency="ETH")) == signed


def test_transaction_without_chain_id_is_not_signed(signer: LocalSigner) -> None:
    tx = unsigned(signer)
    del tx["chainId"]
    assert "chainId" in refusal(signer, tx).message


def test_transaction_for_another_chain_is_not_signed(signer: LocalSigner) -> None:
    assert "chainId is 1" in refusal(signer, unsigned(signer, chain_id=1)).message


@pytest.mark.parametrize("recipient", [ZERO_ADDRESS, None, "", b"\0" * 20])
def test_transaction_to_nobody_is_not_signed(signer: LocalSigner, recipient: Any) -> None:
    assert "to:" in refusal(signer, {**unsigned(signer), "to": recipient}).message


def test_transaction_of_another_sender_is_not_signed(signer: LocalSigner) -> None:
    assert "from:" in refusal(signer, unsigned(signer, sender=EXAMPLES[1])).message


@pytest.mark.parametrize("currency", ["USDC", "ETH"])
def test_token_transfer_to_the_zero_address_is_not_built(
    signer: LocalSigner, currency: str
) -> None:
    with pytest.raises(ChimeraError) as caught:
        unsigned(signer, recipient=ZERO_ADDRESS, currency=currency)
    assert caught.value.code == "INVALID_ADDRESS"


@pytest.mark.parametrize("changes", [{"units": 0}, {"units": -1}, {"currency": "BTC"}])
def test_transfer_of_nothing_or_of_an_unknown_currency_is_not_built(
    signer: LocalSigner, changes: dict[str, Any]
) -> None:
    with pytest.raises(ChimeraError) as caught:
        unsigned(signer, **changes)
    assert caught.value.code == "WALLET_ERROR"


def test_signer_shows_its_address_but_never_its_key() -> None:
    key = new_key()
    signer = LocalSigner(key, 31337)
    assert signer.address in repr(signer)
    assert key.hex() not in repr(signer) + repr(vars(signer))


def test_new_keys_differ() -> None:
    assert len({new_key() for _ in range(5)}) == 5
