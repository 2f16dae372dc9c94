"""One trace from the call of the API through the job to the platform or the chain (W3C Trace Context).

The current span stands in a context variable: set by the middleware for a request, by the runner for
an attempt, by `Outgoing` for an HTTP call. What goes out carries it as `traceparent`. Spans are
exported over OTLP only where CHIMERA_OTLP_ENDPOINT is set; nothing of OpenTelemetry is loaded before.
A span says who was asked, how it went and how long it took; never a path, a payload or a message.
"""

import re
import secrets
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Literal, TypeVar
from urllib.parse import urlsplit

from django.conf import settings
from django.http import HttpRequest, HttpResponse

from chimera.core.errors import ChimeraError

Kind = Literal["server", "internal", "client"]
RequestT = TypeVar("RequestT")
TRACE_ID_HEADER = "X-Trace-Id"
_PROBES = ("/healthz", "/readyz", "/metrics")
_HEADER = re.compile(
    r"(?P<version>[0-9a-f]{2})-(?P<trace>[0-9a-f]{32})-(?P<span>[0-9a-f]{16})-(?P<flags>[0-9a-f]{2})"
    r"(?P<more>-.*)?",
    re.ASCII,
)


@dataclass(frozen=True)
class Place:
    """Where in a trace something happens. span_id: 16 hex digits, '' before the first span."""

    trace_id: str
    span_id: str = ""
    flags: str = "00"

    @property
    def traceparent(self) -> str:
        """The header's value; '' before the first span."""
        return f"00-{self.trace_id}-{self.span_id}-{self.flags}" if self.span_id else ""


def parse(traceparent: str) -> Place | None:
    """The caller's place; None for a header that is missing or breaks the standard."""
    found = _HEADER.fullmatch(traceparent.strip())
    if found is None or found["version"] == "ff" or (found["version"] == "00" and found["more"]):
        return None
    if not int(found["trace"], 16) or not int(found["span"], 16):
        return None
    return Place(found["trace"], found["span"], f"{int(found['flags'], 16) & 1:02x}")


_current: ContextVar[Place | None] = ContextVar("chimera_trace", default=None)


def current() -> Place | None:
    """The place in the trace that this code runs at."""
    return _current.get()


def headers() -> dict[str, str]:
    """What an outgoing request carries: `traceparent` inside a trace, else nothing."""
    place = _current.get()
    return {"traceparent": place.traceparent} if place and place.span_id else {}


def mark(request: RequestT) -> RequestT:
    """Put `headers()` on a request of httpx, httpx2 or requests; fits their `auth`."""
    request.headers.update(headers())  # type: ignore[attr-defined]  # all three have it
    return request


class Span:
    """A step of the trace under `parent`; without one it begins a trace."""

    def __init__(self, name: str, kind: Kind, parent: Place | None, **attributes: Any) -> None:
        self.error = ""
        self._exported = _export(name, kind, parent, attributes)
        if self._exported:
            self.place = Place(*self._exported.ids)
        else:
            trace_id = parent.trace_id if parent else secrets.token_hex(16)
            self.place = Place(trace_id, secrets.token_hex(8), parent.flags if parent else "00")

    def set(self, **attributes: Any) -> None:
        """Add attributes; a double underscore stands for the dot of their names."""
        if self._exported:
            self._exported.set(attributes)

    def rename(self, name: str) -> None:
        """Give it another name."""
        if self._exported:
            self._exported.rename(name)

    def end(self) -> None:
        """It is over, with `error` if that is set: a code or the name of a class, never a message."""
        if self._exported:
            self._exported.end(self.error)


def _export(name: str, kind: Kind, parent: Place | None, attributes: dict[str, Any]) -> Any:
    endpoint = settings.CHIMERA.chimera_otlp_endpoint
    if not endpoint:
        return None
    # Imported here: OpenTelemetry is heavy, and most deployments do not export.
    from chimera.core import otlp

    return otlp.begin(endpoint, name, kind, parent, attributes)


@contextmanager
def span(
    name: str, kind: Kind = "internal", parent: Place | None = None, **attributes: Any
) -> Iterator[Span]:
    """Everything inside happens in a span under `parent`, by default under the current one."""
    step = Span(name, kind, parent or _current.get(), **attributes)
    token = _current.set(step.place)
    try:
        yield step
    except BaseException as problem:
        step.error = _name_of(problem)
        raise
    finally:
        _current.reset(token)
        step.end()


def _name_of(problem: BaseException) -> str:
    return problem.code if isinstance(problem, ChimeraError) else type(problem).__name__


def outgoing(library: Any) -> Any:
    """The `auth` of a client of httpx or httpx2 (the module): a span and its header per request."""

    class Outgoing(library.Auth):  # type: ignore[misc]  # a class of either library
        def auth_flow(self, request: Any) -> Generator[Any, Any, None]:
            host = urlsplit(f"//{request.headers.get('host', '')}").hostname or ""
            asked = {"http__request__method": request.method, "server__address": host}
            step = Span(f"{request.method} {host}", "client", _current.get(), **asked)
            request.headers["traceparent"] = step.place.traceparent
            step.error = "NoAnswer"
            try:
                answer = yield request
                step.error = str(answer.status_code) if answer.status_code >= 400 else ""
                step.set(http__response__status_code=answer.status_code)
            finally:
                step.end()

    return Outgoing()


def flush() -> None:
    """Send what waits to be exported; for the end of a process that skips its exit handlers."""
    if settings.CHIMERA.chimera_otlp_endpoint:
        # Imported here for the same reason as above.
        from chimera.core import otlp

        otlp.flush()


class TraceMiddleware:
    """A request goes on with its caller's trace, or begins one; every answer names it."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if request.path in _PROBES:
            return self.get_response(request)
        parent = parse(request.headers.get("traceparent", ""))
        method = str(request.method)
        with span(method, "server", parent, http__request__method=method) as step:
            answer = self.get_response(request)
            if request.resolver_match:
                step.rename(f"{method} /{request.resolver_match.route}")
            step.set(http__response__status_code=answer.status_code)
        answer.headers[TRACE_ID_HEADER] = step.place.trace_id
        return answer
