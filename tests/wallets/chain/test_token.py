"""The token: its committed bytecode is its source, and EIP-3009 works as on the real one."""

import json
import time
from pathlib import Path
from typing import Any

import pytest
from eth_account import Account
from web3 import HTTPProvider, Web3
from web3.exceptions import ContractLogicError

import wallets.chain.token as token
from tests.helpers.devnet import Devnet
from tests.wallets.chain.conftest import Payer
from wallets.chain.signer import LocalSigner, new_key
from wallets.chain.token.build import compiled

CURVE_ORDER = 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141


def test_committed_bytecode_is_what_the_compiler_makes_of_the_source() -> None:
    path = Path(token.__file__).with_name("usdc.json")
    committed, fresh = json.loads(path.read_text()), compiled()
    assert committed == fresh
    assert token.artifact().bytecode == bytes.fromhex(fresh["bytecode"][2:])
    assert (token.artifact().evm_version, committed["compiler"]) == ("prague", "vyper")


@pytest.fixture
def contract(devnet: Devnet) -> Any:
    web3 = Web3(HTTPProvider(devnet.rpc_url))
    return web3.eth.contract(address=devnet.usdc, abi=token.artifact().abi)  # type: ignore[call-overload]


def authorization(payer_key: bytes, devnet: Devnet, **changes: Any) -> tuple[Any, ...]:
    """The arguments of a signed transferWithAuthorization over 4 USDC."""
    account = Account.from_key(payer_key)
    message = {
        "from": account.address,
        "to": devnet.settlement,
        "value": 4_000_000,
        "validAfter": 0,
        "validBefore": int(time.time()) + 600,
        "nonce": b"\x07" * 32,
        **changes,
    }
    names = {"from": "address", "to": "address", "nonce": "bytes32"}
    domain = {"name": "string", "version": "string", "chainId": "uint256"}
    typed = {
        "primaryType": "TransferWithAuthorization",
        "types": {
            "EIP712Domain": [
                *({"name": key, "type": kind} for key, kind in domain.items()),
                {"name": "verifyingContract", "type": "address"},
            ],
            "TransferWithAuthorization": [
                {"name": key, "type": names.get(key, "uint256")} for key in message
            ],
        },
        "domain": {
            "name": "USDC",
            "version": "2",
            "chainId": devnet.chain_id,
            "verifyingContract": devnet.usdc,
        },
        "message": message,
    }
    signed = account.sign_typed_data(full_message=typed)
    signature = (signed.v, signed.r.to_bytes(32, "big"), signed.s.to_bytes(32, "big"))
    return (*message.values(), *signature)


def relay(payer: Payer, contract: Any, arguments: tuple[Any, ...]) -> bool:
    """Send the authorization from a third account; whether it succeeded."""
    fees = payer.gateway.fees()
    call = contract.functions.transferWithAuthorization(*arguments)
    unsigned = {
        "type": 2,
        "chainId": payer.gateway.chain_id,
        "nonce": payer.nonce,
        "to": contract.address,
        "value": 0,
        "data": call._encode_transaction_data(),
        "gas": 200_000,
        "maxFeePerGas": fees.max_fee_per_gas,
        "maxPriorityFeePerGas": fees.max_priority_fee_per_gas,
    }
    payer.nonce += 1
    receipt = payer.gateway.receipt(payer.gateway.broadcast(payer.signer.sign(unsigned).raw))
    assert receipt is not None
    return receipt.status


def test_authorization_is_used_once_and_moves_the_money(
    devnet: Devnet, payer: Payer, contract: Any
) -> None:
    key = new_key()
    holder = LocalSigner(key, devnet.chain_id).address
    devnet.fund(holder, units=10_000_000)
    arguments = authorization(key, devnet)
    assert not contract.functions.authorizationState(holder, arguments[5]).call()
    assert relay(payer, contract, arguments)
    assert contract.functions.authorizationState(holder, arguments[5]).call()
    assert payer.gateway.balance(holder, "USDC") == 6_000_000
    assert not relay(payer, contract, arguments)
    assert payer.gateway.balance(holder, "USDC") == 6_000_000


@pytest.mark.parametrize(
    "change",
    [{"validBefore": 1}, {"validAfter": 2**40}],
    ids=["expired", "not yet valid"],
)
def test_authorization_outside_its_time_moves_nothing(
    devnet: Devnet, payer: Payer, contract: Any, change: dict[str, int]
) -> None:
    key = new_key()
    holder = LocalSigner(key, devnet.chain_id).address
    devnet.fund(holder, units=10_000_000)
    assert not relay(payer, contract, authorization(key, devnet, **change))
    assert payer.gateway.balance(holder, "USDC") == 10_000_000


def test_changed_authorization_moves_nothing(devnet: Devnet, payer: Payer, contract: Any) -> None:
    key = new_key()
    holder = LocalSigner(key, devnet.chain_id).address
    devnet.fund(holder, units=10_000_000)
    arguments = list(authorization(key, devnet))
    arguments[2] += 1
    assert not relay(payer, contract, tuple(arguments))
    assert payer.gateway.balance(holder, "USDC") == 10_000_000


def test_malleable_twin_of_a_signature_moves_nothing(
    devnet: Devnet, payer: Payer, contract: Any
) -> None:
    key = new_key()
    holder = LocalSigner(key, devnet.chain_id).address
    devnet.fund(holder, units=10_000_000)
    *message, v, r, s = authorization(key, devnet)
    twin = (CURVE_ORDER - int.from_bytes(s, "big")).to_bytes(32, "big")
    assert not relay(payer, contract, (*message, 55 - v, r, twin))
    assert payer.gateway.balance(holder, "USDC") == 10_000_000


def test_only_the_owner_mints(devnet: Devnet, payer: Payer, contract: Any) -> None:
    mint = contract.functions.mint(payer.address, 1)
    with pytest.raises(ContractLogicError, match="not the owner"):
        mint.call({"from": payer.address})
    assert mint.call({"from": devnet.faucet})


def test_token_names_itself_as_the_real_one(contract: Any) -> None:
    functions = contract.functions
    named = [functions[name]().call() for name in ("name", "symbol", "decimals", "version")]
    assert named == ["USD Coin", "USDC", 6, "2"]
