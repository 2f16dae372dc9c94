"""Starts the embedded chain as a process of its own, as the platform does."""

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.helpers.http import HTTP

ROOT = Path(__file__).parents[2]
START_SECONDS = 60


@dataclass
class Devnet:
    """A running chain: the content of its devnet.json, its process, and raw JSON-RPC."""

    rpc_url: str
    chain_id: int
    usdc: str
    settlement: str
    faucet: str
    process: subprocess.Popen[str]

    def rpc(self, method: str, *params: Any) -> Any:
        """The result of a call; AssertionError with the error object when there is one."""
        answer = self.post({"jsonrpc": "2.0", "id": 1, "method": method, "params": list(params)})
        assert "error" not in answer, answer["error"]
        return answer["result"]

    def error(self, method: str, *params: Any) -> dict[str, Any]:
        """The error object of a call that must fail."""
        answer = self.post({"jsonrpc": "2.0", "id": 1, "method": method, "params": list(params)})
        assert "result" not in answer, answer["result"]
        return dict(answer["error"])

    def post(self, body: Any) -> Any:
        return HTTP.post(self.rpc_url, json=body, timeout=20).json()

    def fund(self, address: str, units: int = 0, wei: int = 0) -> list[str]:
        """Send USDC and coin from the faucet; returns the transaction hashes."""
        return list(self.rpc("chimera_fund", address, str(units), str(wei)))

    def kill(self) -> None:
        """kill -9, as a crash does."""
        self.process.kill()
        self.process.wait()


@contextmanager
def start_devnet(data_dir: Path, port: int = 0, *options: str) -> Iterator[Devnet]:
    """A chain on this data directory; port 0 takes a free one. Stopped at the end by SIGTERM."""
    process = spawn(data_dir, port, *options)
    try:
        yield Devnet(process=process, **_description(process, data_dir))
    finally:
        process.terminate()
        try:
            process.communicate(timeout=10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()


def spawn(data_dir: Path, port: int, *options: str) -> subprocess.Popen[str]:
    """The bare process; stdout and stderr are pipes."""
    (data_dir / "devnet.json").unlink(missing_ok=True)
    arguments = ["--port", str(port), "--data-dir", str(data_dir), *options]
    return subprocess.Popen(
        [sys.executable, "-m", "wallets.chain.devnet", *arguments],
        cwd=ROOT,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def _description(process: subprocess.Popen[str], data_dir: Path) -> dict[str, Any]:
    """The content of devnet.json, once the port that it names is open."""
    deadline = time.monotonic() + START_SECONDS
    path = data_dir / "devnet.json"
    while not _is_open(path):
        if process.poll() is not None:
            raise AssertionError(f"the devnet stopped: {process.communicate()[1]}")
        if time.monotonic() > deadline:
            raise AssertionError("the devnet did not start in time")
        time.sleep(0.05)
    return dict(json.loads(path.read_text()))


def _is_open(path: Path) -> bool:
    if not path.exists():
        return False
    port = int(json.loads(path.read_text())["rpc_url"].rpartition(":")[2])
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
