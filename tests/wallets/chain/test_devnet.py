"""The embedded chain behaves like a common client and survives kill -9."""

import json
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import httpx
import pytest
from eth_account import Account

from chimera.core.errors import ChimeraError
from tests.helpers.devnet import ROOT, Devnet, spawn, start_devnet
from tests.helpers.http import HTTP
from tests.wallets.chain.conftest import COIN, Payer, gateway_of, new_payer
from wallets.chain.signer import LocalSigner, checksum, new_key


def raw_rpc(devnet: Devnet, content: bytes) -> Any:
    return HTTP.post(devnet.rpc_url, content=content, timeout=10).json()


def hash_of_head(devnet: Devnet) -> Any:
    return devnet.rpc("eth_getBlockByNumber", "latest", False)["hash"]


def test_devnet_json_describes_the_running_chain(devnet: Devnet) -> None:
    assert devnet.rpc_url.startswith("http://127.0.0.1:")
    assert int(devnet.rpc("eth_chainId"), 16) == devnet.chain_id == 31337
    assert devnet.rpc("eth_getCode", devnet.usdc, "latest") != "0x"
    for address in (devnet.usdc, devnet.settlement, devnet.faucet):
        assert checksum(address) == address


def test_devnet_does_not_load_django() -> None:
    code = "import sys, wallets.chain.devnet.__main__; print('django' in sys.modules)"
    answer = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert answer.stdout.strip() == "False", answer.stderr


def test_faucet_funds_an_address_with_usdc_and_coin(devnet: Devnet, stranger: str) -> None:
    hashes = devnet.rpc("chimera_fund", stranger, hex(2_500_000), str(3 * COIN))
    assert [devnet.rpc("eth_getTransactionReceipt", h)["status"] for h in hashes] == ["0x1"] * 2
    gateway = gateway_of(devnet)
    assert gateway.balance(stranger, "USDC") == 2_500_000
    assert gateway.balance(stranger, "ETH") == 3 * COIN


def test_same_bytes_sent_again_are_already_known(
    devnet: Devnet, payer: Payer, stranger: str
) -> None:
    raw = "0x" + payer.sign(stranger, 5).raw.hex()
    devnet.rpc("eth_sendRawTransaction", raw)
    head = hash_of_head(devnet)
    assert devnet.error("eth_sendRawTransaction", raw)["message"] == "already known"
    assert hash_of_head(devnet) == head


def test_transaction_of_another_chain_is_refused(devnet: Devnet) -> None:
    foreign = {
        "type": 2,
        "chainId": 1,
        "nonce": 0,
        "to": devnet.settlement,
        "value": 1,
        "gas": 21000,
        "maxFeePerGas": 10**10,
        "maxPriorityFeePerGas": 1,
    }
    key = new_key()
    devnet.fund(Account.from_key(key).address, wei=COIN)
    head = hash_of_head(devnet)
    raw = "0x" + bytes(Account.sign_transaction(foreign, key).raw_transaction).hex()
    error = devnet.error("eth_sendRawTransaction", raw)
    assert error["message"] == "invalid chain id for signer: have 1 want 31337"
    assert hash_of_head(devnet) == head


def test_unprotected_legacy_transaction_is_refused(devnet: Devnet) -> None:
    legacy = {"nonce": 0, "gasPrice": 10**10, "gas": 21000, "to": devnet.settlement, "value": 1}
    raw = "0x" + bytes(Account.sign_transaction(legacy, new_key()).raw_transaction).hex()
    assert "replay-protected" in devnet.error("eth_sendRawTransaction", raw)["message"]


def test_future_nonce_waits_until_the_gap_is_filled(
    devnet: Devnet, payer: Payer, stranger: str
) -> None:
    first, second = payer.sign(stranger, 1), payer.sign(stranger, 2)
    devnet.rpc("eth_sendRawTransaction", "0x" + second.raw.hex())
    assert devnet.rpc("eth_getTransactionReceipt", second.hash) is None
    assert devnet.rpc("eth_getTransactionByHash", second.hash)["blockNumber"] is None
    devnet.rpc("eth_sendRawTransaction", "0x" + first.raw.hex())
    assert devnet.rpc("eth_getTransactionReceipt", second.hash)["status"] == "0x1"


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_restart_keeps_hashes_and_balances(tmp_path: Path, how: signal.Signals) -> None:
    with start_devnet(tmp_path) as first:
        gateway = gateway_of(first)
        payer = new_payer(first, gateway)
        signed = payer.sign(first.settlement, 7_000_001)
        gateway.broadcast(signed.raw)
        before = [first.rpc("eth_getBlockByNumber", hex(n), True) for n in range(5)]
        receipt = gateway.receipt(signed.hash)
        first.process.send_signal(how)
        first.process.wait(timeout=10)
    with start_devnet(tmp_path) as second:
        gateway = gateway_of(second)
        assert [second.rpc("eth_getBlockByNumber", hex(n), True) for n in range(5)] == before
        assert before[4] is not None
        assert gateway.receipt(signed.hash) == receipt
        assert gateway.balance(payer.address, "USDC") == 92_999_999
        assert gateway.balance(second.settlement, "USDC") == 7_000_001
        assert gateway.broadcast(signed.raw) == signed.hash
        assert gateway.balance(second.settlement, "USDC") == 7_000_001
        assert second.usdc == first.usdc


def test_torn_last_line_is_dropped_and_the_chain_goes_on(tmp_path: Path) -> None:
    with start_devnet(tmp_path) as first:
        first.fund(LocalSigner(new_key(), 31337).address, wei=1)
        head = hash_of_head(first)
    with (tmp_path / "devnet.jsonl").open("ab") as file:
        file.write(b'{"raw": "0x02f8')
    with start_devnet(tmp_path) as second:
        assert hash_of_head(second) == head
        second.fund(LocalSigner(new_key(), 31337).address, wei=2)
        head = hash_of_head(second)
    with start_devnet(tmp_path) as third:
        assert hash_of_head(third) == head


def test_damaged_line_in_the_middle_stops_the_start_and_is_named(tmp_path: Path) -> None:
    (tmp_path / "devnet.jsonl").write_bytes(b'{"raw": "0x12"}\n{"raw": null, "ts": 1800000000}\n')
    process = spawn(tmp_path, 0)
    _, stderr = process.communicate(timeout=60)
    assert process.returncode == 1
    assert "line 1 is damaged" in stderr
    assert not (tmp_path / "devnet.json").exists()


def test_port_in_use_is_one_clear_line(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        process = spawn(tmp_path, port)
        _, stderr = process.communicate(timeout=60)
    assert process.returncode == 1
    assert stderr.count("\n") == 1
    assert f"port {port} is in use" in stderr
    assert not (tmp_path / "devnet.json").exists()


def test_second_devnet_on_the_same_data_is_refused(tmp_path: Path) -> None:
    with start_devnet(tmp_path):
        description = json.loads((tmp_path / "devnet.json").read_text())
        process = spawn(tmp_path, 0)
        _, stderr = process.communicate(timeout=60)
        assert process.returncode == 1
        assert "in use by another devnet" in stderr
        assert description


def test_sigterm_stops_within_a_second_even_with_open_connections(tmp_path: Path) -> None:
    with start_devnet(tmp_path) as running, httpx.Client(trust_env=False) as client:
        client.post(running.rpc_url, json={"id": 1, "method": "eth_chainId"})
        running.process.send_signal(signal.SIGTERM)
        started = time.monotonic()
        assert running.process.wait(timeout=10) == 0
        assert time.monotonic() - started < 1


def test_block_time_mines_later(tmp_path: Path) -> None:
    with start_devnet(tmp_path, 0, "--block-time", "0.5") as running:
        address = LocalSigner(new_key(), 31337).address
        [tx_hash] = running.fund(address, wei=9)
        deadline = time.monotonic() + 10
        while (receipt := running.rpc("eth_getTransactionReceipt", tx_hash)) is None:
            assert time.monotonic() < deadline
            time.sleep(0.05)
        assert receipt["status"] == "0x1"
        assert int(running.rpc("eth_getBalance", address, "latest"), 16) == 9


def test_batch_is_answered_in_order(devnet: Devnet) -> None:
    answers = devnet.post(
        [
            {"jsonrpc": "2.0", "id": 7, "method": "eth_chainId"},
            {"jsonrpc": "2.0", "id": "b", "method": "no_such"},
        ]
    )
    assert answers[0] == {"jsonrpc": "2.0", "id": 7, "result": "0x7a69"}
    assert (answers[1]["id"], answers[1]["error"]["code"]) == ("b", -32601)


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b'{"id": 1, ', -32700),
        (b"\xff", -32700),
        (b"[]", -32600),
        (b"7", -32600),
        (b'{"id": 1, "method": "eth_nope"}', -32601),
        (b'{"id": 1, "method": "eth_getBalance", "params": ["0x12"]}', -32602),
        (b'{"id": 1, "method": "eth_getBalance"}', -32602),
        (b'{"id": 1, "method": "eth_getBlockByNumber", "params": ["soon"]}', -32602),
        (b'{"id": 1, "method": "eth_sendRawTransaction", "params": ["0x02"]}', -32000),
        (b'{"id": 1, "method": "chimera_fault", "params": ["fire", 1]}', -32602),
    ],
)
def test_bad_request_gets_its_json_rpc_code(devnet: Devnet, body: bytes, code: int) -> None:
    assert raw_rpc(devnet, body)["error"]["code"] == code


def test_revert_of_a_call_comes_with_its_data(devnet: Devnet, stranger: str) -> None:
    data = "0xa9059cbb" + devnet.settlement[2:].rjust(64, "0") + f"{1:064x}"
    call = {"from": stranger, "to": devnet.usdc, "data": data}
    error = devnet.error("eth_call", call, "latest")
    assert error["code"] == 3
    assert error["message"] == "execution reverted: ERC20: transfer amount exceeds balance"
    assert error["data"].startswith("0x08c379a0")


def test_reorganisation_takes_blocks_back_for_good(tmp_path: Path) -> None:
    with start_devnet(tmp_path) as first:
        gateway = gateway_of(first)
        payer = new_payer(first, gateway)
        signed = payer.sign(first.settlement, 5)
        gateway.broadcast(signed.raw)
        receipt = gateway.receipt(signed.hash)
        assert receipt and gateway.is_settled(receipt)
        first.rpc("chimera_reorg", 1)
        assert gateway.receipt(signed.hash) is None
        assert gateway.balance(payer.address, "USDC") == 100_000_000
        first.rpc("evm_mine")
        assert not gateway.is_settled(receipt)
        first.kill()
    with start_devnet(tmp_path) as second:
        gateway = gateway_of(second)
        assert gateway.receipt(signed.hash) is None
        gateway.broadcast(signed.raw)
        assert gateway.balance(second.settlement, "USDC") == 5


def test_waiting_transactions_can_be_dropped_and_sent_again(
    devnet: Devnet, payer: Payer, stranger: str
) -> None:
    signed = payer.sign(stranger, 5)
    devnet.rpc("chimera_fault", "stall_mining")
    payer.gateway.broadcast(signed.raw)
    assert int(devnet.rpc("chimera_drop_waiting"), 16) == 1
    devnet.rpc("chimera_resume")
    assert payer.gateway.receipt(signed.hash) is None
    payer.gateway.broadcast(signed.raw)
    assert payer.gateway.balance(stranger, "USDC") == 5


def test_down_answers_503_for_as_many_requests_as_asked(
    devnet: Devnet, payer: Payer, stranger: str
) -> None:
    assert payer.gateway.balance(stranger, "ETH") == 0
    devnet.rpc("chimera_fault", "down", 2)
    for _ in range(2):
        with pytest.raises(ChimeraError) as caught:
            payer.gateway.balance(stranger, "ETH")
        assert caught.value.code == "NETWORK_ERROR"
    assert payer.gateway.balance(stranger, "ETH") == 0
