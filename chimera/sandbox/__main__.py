"""Start the sandbox world: `python -m chimera.sandbox --port 8002 --data-dir var`."""

import argparse
import errno
import logging
import os
import socket
import sys
from collections.abc import Sequence
from contextlib import closing, suppress
from pathlib import Path

import uvicorn
from django.conf import settings

from chimera.sandbox.cutting import OpenHandedProtocol
from chimera.sandbox.store import Store
from chimera.sandbox.world import build

HOST = "127.0.0.1"


def main(argv: Sequence[str] | None = None) -> int:
    """Serve until a signal says stop. Exit status 1 when the port is taken."""
    options = _options(argv)
    logging.basicConfig(format="sandbox world: %(message)s", stream=sys.stdout)
    settings.configure(USE_TZ=True)  # all that the borrowed clock and templates ask of Django
    listener = _listen(options.port)
    if listener is None:
        sys.stderr.write(f"sandbox world: port {options.port} is already in use\n")
        return 1
    options.data_dir.mkdir(parents=True, exist_ok=True)
    store = Store(options.data_dir)
    base_url = f"http://{HOST}:{listener.getsockname()[1]}"
    config = uvicorn.Config(
        build(store, base_url, _split(options.feeds)),
        http=OpenHandedProtocol,
        log_level="warning",
        access_log=False,
        proxy_headers=False,
        server_header=False,
        timeout_graceful_shutdown=1,
    )
    sys.stdout.write(f"sandbox world: {base_url}\n")
    sys.stdout.flush()
    with closing(store):
        uvicorn.Server(config).run(sockets=[listener])
    return 0


def _options(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m chimera.sandbox", description=__doc__)
    parser.add_argument("--port", type=int, default=8002, help="0 takes a free one")
    parser.add_argument("--data-dir", type=Path, default=Path("var"))
    parser.add_argument(
        "--feeds",
        default=os.environ.get("CHIMERA_NEWS_FEEDS", ""),
        help="addresses of RSS or Atom feeds, separated by commas; default: CHIMERA_NEWS_FEEDS",
    )
    return parser.parse_args(argv)


def _split(feeds: str) -> tuple[str, ...]:
    return tuple(url.strip() for url in feeds.split(",") if url.strip())


def _listen(port: int) -> socket.socket | None:
    """A listening socket on loopback, None when another process has the port."""
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((HOST, port))
        listener.listen(128)
    except OSError as error:
        listener.close()
        if error.errno != errno.EADDRINUSE:
            raise
        return None
    return listener


if __name__ == "__main__":
    with suppress(KeyboardInterrupt):  # Ctrl-C is a way to stop, not an error
        sys.exit(main())
