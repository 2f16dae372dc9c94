"""One call to a provider: bounded in time and size, sent once, and honest about what is not known."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from time import monotonic
from typing import Any

import httpx

from chimera.core import capabilities, tracing
from chimera.core.clock import now
from chimera.core.http import tls
from chimera.core.secrets import without
from content.mediatools.failures import MediaFailure

MAX_REPLY_BYTES = 1_000_000
_NOT_SENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.UnsupportedProtocol, httpx.InvalidURL)


class Lost(Exception):
    """The request may have arrived; what became of it is not known."""


@dataclass(frozen=True)
class Reply:
    """What came back, whole. data: the JSON object in the body, else empty."""

    status: int
    data: dict[str, Any]
    retry_after: float | None


@dataclass(frozen=True)
class Provider:
    """Where a provider is and how we show who we are."""

    name: str
    base_url: str
    headers: dict[str, str]

    def call(
        self, method: str, path: str, body: dict[str, Any] | None = None, *, seconds: float
    ) -> Reply:
        """One request. Lost where it may have arrived; MediaFailure where it cannot have.

        seconds: for the whole of it, however slowly the reply drips.
        """
        capabilities.require("NET")
        until = monotonic() + seconds
        asks = httpx.Client(trust_env=False, verify=tls(), auth=tracing.outgoing(httpx))
        with self._told_apart(), asks as client:
            timeout = httpx.Timeout(seconds, connect=min(5.0, seconds))
            url = f"{self.base_url}{path}"
            with client.stream(
                method, url, json=body, headers=self.headers, timeout=timeout
            ) as answer:
                raw = _read(answer, until)
                if answer.status_code >= 300:  # a refusal may quote our key, and is kept and shown
                    raw = without(raw, {each.split()[-1] for each in self.headers.values()})
                return Reply(answer.status_code, _json(raw), _wait(answer))

    @contextmanager
    def _told_apart(self) -> Iterator[None]:
        try:
            yield
        except _NOT_SENT as problem:
            message = f"{self.name} cannot be reached: {type(problem).__name__}"
            raise MediaFailure(message) from None
        except httpx.HTTPError as problem:
            raise Lost(f"{self.name}: {type(problem).__name__}") from None


def _read(answer: httpx.Response, until: float) -> bytes:
    body = bytearray()
    for chunk in answer.iter_bytes():
        body += chunk
        if len(body) > MAX_REPLY_BYTES:
            raise Lost("the reply is too long")
        if monotonic() > until:
            raise Lost("the reply did not end in time")
    return bytes(body)


def _json(body: bytes) -> dict[str, Any]:
    try:
        value = json.loads(body)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def _wait(answer: httpx.Response) -> float | None:
    """Seconds that the provider asks us to wait, which it may write as a date."""
    told = answer.headers.get("retry-after", "")
    if told.isdecimal():
        return float(told)
    try:
        return max(0.0, (parsedate_to_datetime(told) - now()).total_seconds())
    except ValueError:
        return None
