"""The gateway: reads, broadcasts and proofs against a real chain process."""

import dataclasses
from pathlib import Path
from typing import Any

import pytest
from eth_account import Account

from chimera.core.errors import ChimeraError
from tests.helpers.devnet import Devnet, start_devnet
from tests.wallets.chain.conftest import COIN, Payer, gateway_of, new_payer
from wallets.chain.gateway import Gateway, Receipt
from wallets.chain.signer import LocalSigner, new_key, transfer_call, transfer_transaction


def settle(payer: Payer, recipient: str, units: int, currency: str = "USDC") -> Receipt:
    signed = payer.sign(recipient, units, currency)
    assert payer.gateway.broadcast(signed.raw) == signed.hash
    receipt = payer.gateway.receipt(signed.hash)
    assert receipt is not None
    return receipt


def test_check_accepts_the_chain_and_token_it_was_made_for(gateway: Gateway) -> None:
    gateway.check()


def test_check_refuses_another_chain_id(devnet: Devnet) -> None:
    with pytest.raises(ChimeraError, match="on chain 31337, configured is 8453") as caught:
        Gateway(devnet.rpc_url, 8453, devnet.usdc).check()
    assert caught.value.code == "WALLET_ERROR"


def test_read_from_another_chain_id_is_refused_without_a_check(devnet: Devnet) -> None:
    with pytest.raises(ChimeraError) as caught:
        Gateway(devnet.rpc_url, 1, devnet.usdc).balance(devnet.faucet, "ETH")
    assert caught.value.code == "WALLET_ERROR"


def test_check_refuses_an_address_without_code(devnet: Devnet) -> None:
    with pytest.raises(ChimeraError, match="no contract") as caught:
        Gateway(devnet.rpc_url, devnet.chain_id, devnet.faucet).check()
    assert caught.value.code == "WALLET_ERROR"


def test_check_refuses_a_contract_that_is_not_usdc(devnet: Devnet, payer: Payer) -> None:
    # Creation code of a contract that answers every call with the number 6: no symbol, no token.
    runtime = bytes.fromhex("600660005260206000f3")
    creation = bytes.fromhex("69") + runtime + bytes.fromhex("600052600a6016f3")
    fees = payer.gateway.fees()
    key = new_key()
    devnet.fund(LocalSigner(key, 31337).address, wei=COIN)
    unsigned = {
        "type": 2,
        "chainId": 31337,
        "nonce": 0,
        "value": 0,
        "gas": 200_000,
        "data": creation,
        "maxFeePerGas": fees.max_fee_per_gas,
        "maxPriorityFeePerGas": fees.max_priority_fee_per_gas,
    }
    raw = bytes(Account.sign_transaction(unsigned, key).raw_transaction)
    tx_hash = payer.gateway.broadcast(raw)
    other = devnet.rpc("eth_getTransactionReceipt", tx_hash)["contractAddress"]
    with pytest.raises(ChimeraError) as caught:
        Gateway(devnet.rpc_url, devnet.chain_id, other).check()
    assert caught.value.code == "WALLET_ERROR"


@pytest.mark.parametrize("currency", ["USDC", "ETH"])
def test_transfer_moves_exactly_its_units(payer: Payer, stranger: str, currency: str) -> None:
    before = payer.gateway.balance(payer.address, "USDC")
    receipt = settle(payer, stranger, 1_234_567, currency)
    assert receipt.status and payer.gateway.is_settled(receipt)
    assert payer.gateway.balance(stranger, currency) == 1_234_567
    spent = before - payer.gateway.balance(payer.address, "USDC")
    assert spent == (1_234_567 if currency == "USDC" else 0)
    fee = receipt.gas_used * receipt.effective_gas_price
    coin = COIN - fee - (1_234_567 if currency == "ETH" else 0)
    assert payer.gateway.balance(payer.address, "ETH") == coin


def test_balance_at_an_older_block_is_the_old_one(payer: Payer, stranger: str) -> None:
    receipt = settle(payer, stranger, 10)
    before = receipt.block_number - 1
    assert payer.gateway.balance(stranger, "USDC", before) == 0
    assert payer.gateway.balance(stranger, "USDC") == 10


def test_same_bytes_broadcast_again_charge_once(payer: Payer, stranger: str) -> None:
    signed = payer.sign(stranger, 10)
    hashes = {payer.gateway.broadcast(signed.raw) for _ in range(3)}
    assert hashes == {signed.hash}
    assert payer.gateway.balance(stranger, "USDC") == 10


def test_lost_reply_is_a_network_error_and_the_hash_tells_the_outcome(
    devnet: Devnet, payer: Payer, stranger: str
) -> None:
    signed = payer.sign(stranger, 10)
    devnet.rpc("chimera_fault", "drop_after_accept", 1)
    with pytest.raises(ChimeraError) as caught:
        payer.gateway.broadcast(signed.raw)
    assert caught.value.code == "NETWORK_ERROR"
    receipt = payer.gateway.receipt(signed.hash)
    assert receipt is not None and receipt.status
    assert payer.gateway.broadcast(signed.raw) == signed.hash
    assert payer.gateway.balance(stranger, "USDC") == 10


def test_stalled_transaction_has_no_receipt_until_mining_resumes(
    devnet: Devnet, payer: Payer, stranger: str
) -> None:
    signed = payer.sign(stranger, 10)
    devnet.rpc("chimera_fault", "stall_mining")
    assert payer.gateway.broadcast(signed.raw) == signed.hash
    assert payer.gateway.broadcast(signed.raw) == signed.hash
    assert payer.gateway.receipt(signed.hash) is None
    assert payer.gateway.next_nonce(payer.address) == 1
    assert payer.gateway.balance(stranger, "USDC") == 0
    devnet.rpc("chimera_resume")
    receipt = payer.gateway.receipt(signed.hash)
    assert receipt is not None and receipt.status


def test_other_transaction_with_a_used_nonce_is_refused(payer: Payer, stranger: str) -> None:
    settle(payer, stranger, 10)
    payer.nonce = 0
    with pytest.raises(ChimeraError) as caught:
        payer.gateway.broadcast(payer.sign(stranger, 11).raw)
    assert caught.value.code == "TX_FAILED"
    assert "nonce too low" in caught.value.details["reason"]
    assert payer.gateway.balance(stranger, "USDC") == 10


def test_sender_without_gas_coin_is_refused_with_the_reason(devnet: Devnet, stranger: str) -> None:
    gateway = gateway_of(devnet)
    poor = Payer(LocalSigner(new_key(), devnet.chain_id), gateway)
    devnet.fund(poor.address, units=50)
    with pytest.raises(ChimeraError) as caught:
        gateway.broadcast(poor.sign(stranger, 50).raw)
    assert caught.value.code == "TX_FAILED"
    assert "insufficient funds" in caught.value.details["reason"]
    assert gateway.balance(poor.address, "USDC") == 50


def test_transfer_beyond_the_balance_is_mined_with_status_false(
    payer: Payer, stranger: str
) -> None:
    receipt = settle(payer, stranger, 100_000_001)
    assert receipt.status is False and receipt.logs == ()
    expected: dict[str, Any] = {"sender": payer.address, "recipient": stranger}
    assert not payer.gateway.settled_transfer(
        receipt, **expected, value=100_000_001, currency="USDC"
    )
    assert payer.gateway.balance(payer.address, "USDC") == 100_000_000


def test_estimate_names_the_reason_of_a_revert(payer: Payer, stranger: str) -> None:
    usdc = payer.gateway.usdc
    call = transfer_call(recipient=stranger, units=100_000_001, currency="USDC", usdc=usdc)
    with pytest.raises(ChimeraError, match="transfer amount exceeds balance") as caught:
        payer.gateway.estimate_gas(payer.address, call["to"], call["value"], call["data"])
    assert caught.value.code == "TX_FAILED"


def test_estimated_gas_is_enough_for_the_transfer(payer: Payer, stranger: str) -> None:
    gateway = payer.gateway
    call = transfer_call(recipient=stranger, units=5, currency="USDC", usdc=gateway.usdc)
    gas = gateway.estimate_gas(payer.address, call["to"], call["value"], call["data"])
    unsigned = transfer_transaction(
        chain_id=gateway.chain_id,
        nonce=0,
        sender=payer.address,
        recipient=stranger,
        units=5,
        currency="USDC",
        usdc=gateway.usdc,
        gas=gas,
        fees=gateway.fees(),
    )
    receipt = gateway.receipt(gateway.broadcast(payer.signer.sign(unsigned).raw))
    assert receipt is not None and receipt.status and receipt.gas_used <= gas < 100_000


def test_usdc_transfers_are_found_for_the_wanted_recipients_only(
    payer: Payer, stranger: str
) -> None:
    other = LocalSigner(new_key(), 31337).address
    first, second = settle(payer, stranger, 10), settle(payer, other, 20)
    blocks = (first.block_number, second.block_number)
    [found] = payer.gateway.usdc_transfers(*blocks, {stranger})
    assert (found.tx_hash, found.block_hash) == (first.tx_hash, first.block_hash)
    assert (found.sender, found.recipient, found.value) == (payer.address, stranger, 10)
    everyone = payer.gateway.usdc_transfers(*blocks, None)
    assert [item.value for item in everyone] == [10, 20]
    many = {LocalSigner(bytes([1] * 31 + [n]), 31337).address for n in range(1, 61)}
    assert [i.value for i in payer.gateway.usdc_transfers(*blocks, many | {other})] == [20]
    assert payer.gateway.usdc_transfers(*blocks, set()) == []


def test_native_transfers_are_found_and_failed_ones_are_not(
    devnet: Devnet, payer: Payer, stranger: str
) -> None:
    receipt = settle(payer, stranger, 77, "ETH")
    token_call = settle(payer, stranger, 5)
    blocks = (receipt.block_number, token_call.block_number)
    [found] = payer.gateway.native_transfers(*blocks, {stranger})
    assert (found.tx_hash, found.value, found.sender) == (receipt.tx_hash, 77, payer.address)
    # Coin sent to the token contract reverts: mined, but nothing moved.
    failed = settle(payer, devnet.usdc, 8, "ETH")
    assert failed.status is False
    number = failed.block_number
    assert payer.gateway.native_transfers(number, number, {devnet.usdc}) == []


@pytest.mark.parametrize("currency", ["USDC", "ETH"])
def test_settled_transfer_proves_sender_recipient_value_and_token(
    payer: Payer, stranger: str, currency: str
) -> None:
    receipt = settle(payer, stranger, 10, currency)
    right: dict[str, Any] = {
        "sender": payer.address,
        "recipient": stranger,
        "value": 10,
        "currency": currency,
    }
    prove = payer.gateway.settled_transfer
    assert prove(receipt, **right)
    assert not prove(receipt, **{**right, "value": 11})
    assert not prove(receipt, **{**right, "recipient": payer.address})
    assert not prove(receipt, **{**right, "sender": stranger})
    other = "ETH" if currency == "USDC" else "USDC"
    assert not prove(receipt, **{**right, "currency": other})


def test_transfer_event_of_another_token_proves_nothing(
    devnet: Devnet, payer: Payer, stranger: str
) -> None:
    receipt = settle(payer, stranger, 10)
    forged = tuple(dataclasses.replace(log, address=devnet.faucet) for log in receipt.logs)
    expected: dict[str, Any] = {"sender": payer.address, "recipient": stranger, "value": 10}
    lie = dataclasses.replace(receipt, logs=forged)
    assert not payer.gateway.settled_transfer(lie, **expected, currency="USDC")
    twice = dataclasses.replace(receipt, logs=receipt.logs * 2)
    assert not payer.gateway.settled_transfer(twice, **expected, currency="USDC")


def test_receipt_settles_only_behind_the_finality_lag(tmp_path: Path) -> None:
    with start_devnet(tmp_path, 0, "--finality-lag", "2") as running:
        gateway = Gateway(running.rpc_url, running.chain_id, running.usdc, settle_tag="safe")
        payer = new_payer(running, gateway)
        receipt = settle(payer, running.settlement, 10)
        assert not gateway.is_settled(receipt)
        assert gateway.balance(running.settlement, "USDC") == 0
        running.rpc("evm_mine")
        assert not gateway.is_settled(receipt)
        running.rpc("evm_mine")
        assert gateway.is_settled(receipt)
        assert gateway.balance(running.settlement, "USDC") == 10
