"""`fake("twitter")` in a test: the provider's server with no account, no post and no fault.

Import `fake` in a conftest.py. Everything goes through real HTTP, so what a test sees is what an
adapter sees.
"""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import pytest

from tests.fakes.base import Json
from tests.fakes.server import make, running
from tests.helpers.http import HTTP


@dataclass(frozen=True)
class FakeServer:
    """A running provider. url: the base URL an account is given."""

    name: str
    url: str

    def account(self, handle: str = "aurora_style", **wanted: Any) -> Json:
        """A new account: handle, access_token, refresh_token, extra."""
        return self._send("POST", "/_accounts", {"handle": handle, **wanted})

    def arm(self, kind: str, count: int = 1, path: str = "", method: str = "") -> None:
        """The next `count` matching calls fail in this way; see `tests.fakes.faults`."""
        body = {"kind": kind, "count": count, "path": path, "method": method}
        self._send("POST", "/_faults", body)

    def disarm(self) -> None:
        """No fault is armed any more."""
        HTTP.delete(f"{self.url}/_faults").raise_for_status()

    def revoke(self, handle: str) -> None:
        """The owner of the account withdraws the permission."""
        self._send("POST", "/_revoke", {"handle": handle})

    def effects(self) -> list[Json]:
        """Every post the server has accepted, oldest first."""
        return list(self._send("GET", "/_effects"))

    def calls(self, path: str = "", method: str = "") -> list[Json]:
        """Every call to a path that contains `path`: method, path, status."""
        return [
            call
            for call in self._send("GET", "/_calls")
            if path in call["path"] and method in ("", call["method"])
        ]

    def _send(self, method: str, path: str, body: Json | None = None) -> Any:
        reply = HTTP.request(method, f"{self.url}{path}", json=body)
        return reply.raise_for_status().json()


@pytest.fixture
def fake() -> Iterator[Callable[[str], FakeServer]]:
    """`fake("twitter")` starts the provider's server for this test."""
    with ExitStack() as open_ones:

        def start(name: str) -> FakeServer:
            base = open_ones.enter_context(running([make(name)]))
            return FakeServer(name, f"{base}/{name}")

        yield start
