"""Serves every provider found in this folder: in a thread for tests, or as a process."""

import importlib
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from chimera.sandbox.cutting import OpenHandedProtocol
from tests.fakes.base import Fake

HOST = "127.0.0.1"
_FRAME = {"__init__", "__main__", "base", "faults", "fixtures", "server"}


def providers() -> list[str]:
    """The names of the modules that make a server; a helper module has no `make` and a leading _."""
    stems = {path.stem for path in Path(__file__).parent.glob("*.py")} - _FRAME
    return sorted(stem for stem in stems if not stem.startswith("_"))


def make(name: str) -> Fake:
    """A new server of the provider, with no account and no post."""
    made: Fake = importlib.import_module(f"tests.fakes.{name}").make()
    return made


def build(fakes: list[Fake]) -> Starlette:
    """One application with each provider under its name; `/` lists them."""

    async def index(request: Request) -> Response:
        return JSONResponse({fake.name: f"{request.base_url}{fake.name}" for fake in fakes})

    return Starlette(routes=[Route("/", index), *(fake.mount() for fake in fakes)])


def config_of(app: Starlette) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        http=OpenHandedProtocol,
        log_level="warning",
        access_log=False,
        lifespan="off",
        server_header=False,
        timeout_graceful_shutdown=1,
    )


def listen(port: int = 0) -> socket.socket:
    """A listening socket on loopback; 0 takes a free port."""
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind((HOST, port))
    listener.listen(128)
    return listener


@contextmanager
def running(fakes: list[Fake]) -> Iterator[str]:
    """The servers in a thread of this process; yields their common base URL."""
    listener = listen()
    server = uvicorn.Server(config_of(build(fakes)))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    deadline = time.monotonic() + 20
    while not server.started:
        assert time.monotonic() < deadline and thread.is_alive(), "the servers did not start"
        time.sleep(0.01)
    try:
        yield f"http://{HOST}:{listener.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(timeout=10)
        listener.close()
