"""`python -m wallets.chain.devnet`: start the embedded chain and serve until SIGTERM or Ctrl-C."""

import argparse
import json
import os
import signal
import sys
import threading
from pathlib import Path
from types import FrameType

from wallets.chain.devnet.errors import DevnetError
from wallets.chain.devnet.faults import Faults
from wallets.chain.devnet.node import CHAIN_ID, FAUCET, SETTLEMENT, USDC, Node
from wallets.chain.devnet.rpc import Rpc
from wallets.chain.devnet.server import Server


def main() -> int:
    signal.signal(signal.SIGTERM, _stop)
    signal.signal(signal.SIGINT, _stop)
    options = _options()
    try:
        server = Server(options.port)
        node = Node(
            options.data_dir, block_time=options.block_time, finality_lag=options.finality_lag
        )
    except (DevnetError, OSError) as error:
        print(error, file=sys.stderr)
        return 1
    server.rpc = Rpc(node, Faults())
    _describe(options.data_dir, server.server_port)
    server.server_activate()
    print(f"devnet: chain {CHAIN_ID} on http://127.0.0.1:{server.server_port}", flush=True)
    if node.block_time:
        threading.Thread(target=_mine_regularly, args=(node,), daemon=True).start()
    _serve(server, node)
    return 0


def _serve(server: Server, node: Node) -> None:
    try:
        server.serve_forever(poll_interval=0.2)
    finally:
        server.server_close()
        # A block in the making is finished, then nothing is mined any more.
        node.lock.acquire()
        node.journal.close()


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m wallets.chain.devnet", description=__doc__)
    parser.add_argument("--port", type=int, default=8003, help="0 takes a free one")
    parser.add_argument("--data-dir", type=Path, default=Path("var"))
    parser.add_argument("--block-time", type=float, default=0, help="seconds; 0 mines at once")
    parser.add_argument("--finality-lag", type=int, default=0, help="blocks that safe lags behind")
    return parser.parse_args()


def _describe(folder: Path, port: int) -> None:
    content = {
        "rpc_url": f"http://127.0.0.1:{port}",
        "chain_id": CHAIN_ID,
        "usdc": USDC,
        "settlement": SETTLEMENT,
        "faucet": FAUCET.address,
    }
    draft = folder / f"devnet.json.{os.getpid()}"
    draft.write_text(json.dumps(content, indent=2) + "\n")
    draft.replace(folder / "devnet.json")


def _mine_regularly(node: Node) -> None:
    ticks = threading.Event()
    while not ticks.wait(node.block_time):
        with node.lock:
            node.mine_ready()


def _stop(_number: int, _frame: FrameType | None) -> None:
    raise SystemExit(0)


if __name__ == "__main__":
    sys.exit(main())
