"""One outbound call of an adapter: a single attempt, bounded in time and size, its failure named.

A step decides what a failure means. Before the post ("prepare") and in a look-up ("read") nothing
has been posted whatever happened; in the one call that posts ("send") whatever may have arrived is
`OutcomeUnknown`. Use them together:

    with during("send"):
        reply = accept(call("POST", url, token=token, json=body), "send", judge)
        return RemotePost(...)  # a missing field is an unknown outcome as well
"""

import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC
from email.utils import parsedate_to_datetime
from time import monotonic
from typing import Any, Literal
from urllib.parse import parse_qsl, urlsplit

import httpx

from chimera.core import capabilities, tracing
from chimera.core.clock import now
from chimera.core.http import tls
from chimera.core.jsontext import refuse_deep
from chimera.core.secrets import without
from content.platforms.base import OutcomeUnknown, PlatformFailure

TIMEOUT = httpx.Timeout(5.0, connect=3.0)
DEADLINE_SEC = 10.0
MAX_REPLY_BYTES = 2_000_000
_NOT_SENT = (
    httpx.ConnectError,
    httpx.ConnectTimeout,
    httpx.UnsupportedProtocol,
    httpx.InvalidURL,
)
_NO_USE = (httpx.HTTPError, TimeoutError, ValueError, LookupError, TypeError, AttributeError)
_IS_SECRET = re.compile("auth|token|secret|key|password|code|upload_id", re.IGNORECASE).search
_NO_TEXT = re.compile("[\0\ud800-\udfff]")
_ALWAYS_OWN = (401, 429)
_NOT_ASKED = ("auth_refresh", "auth_dead", "rate_limited", "quota_exhausted")

Step = Literal["prepare", "send", "read"]


@dataclass(frozen=True)
class Reply:
    """What came back, whole. headers: case-insensitive."""

    status: int
    headers: httpx.Headers
    body: bytes

    @property
    def is_success(self) -> bool:
        return 200 <= self.status < 300

    def json(self) -> dict[str, Any]:
        """The JSON object in the body, without characters that no database takes; ValueError when
        it is none or nested too deep."""
        text = self.body.decode()
        refuse_deep(text)
        value = json.loads(text)
        if not isinstance(value, dict):
            raise ValueError("the reply is not a JSON object")
        return dict(_storable(value))

    def fields(self) -> dict[str, Any]:
        """The JSON object in the body, empty when it is none: for the reading of errors."""
        try:
            return self.json()
        except ValueError:
            return {}


def _storable(value: Any) -> Any:
    if isinstance(value, dict):
        return {_storable(name): _storable(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_storable(item) for item in value]
    return _NO_TEXT.sub("", value) if isinstance(value, str) else value


Judge = Callable[[Reply], PlatformFailure]
"""What a reply without success (below 500) means; each network has its own."""


def call(
    method: str,
    url: str,
    *,
    token: str = "",
    headers: dict[str, str] | None = None,
    deadline_sec: float | None = None,
    **options: Any,
) -> Reply:
    """One HTTP call. token: sent as a bearer; options: as of httpx (json, params, content, files).

    Redirects are not followed. httpx errors, TimeoutError and ValueError pass through to `during`.
    """
    capabilities.require("NET")
    limit = DEADLINE_SEC if deadline_sec is None else deadline_sec
    deadline = monotonic() + limit
    sent = (headers or {}) | ({"Authorization": f"Bearer {token}"} if token else {})
    body = bytearray()
    with (
        httpx.Client(
            timeout=TIMEOUT, trust_env=False, verify=tls(), auth=tracing.outgoing(httpx)
        ) as client,
        client.stream(method, url, headers=sent, **options) as reply,
    ):
        for chunk in reply.iter_bytes():
            body += chunk
            if monotonic() > deadline:
                raise TimeoutError(f"no complete reply within {limit:g} s")
            if len(body) > MAX_REPLY_BYTES:
                raise ValueError(f"the reply is larger than {MAX_REPLY_BYTES} bytes")
        refused = reply.status_code >= 300
        hidden = _secrets(url, sent, options) if refused else set()
        return Reply(reply.status_code, reply.headers, without(bytes(body), hidden))


def _secrets(url: str, headers: dict[str, str], options: dict[str, Any]) -> set[str]:
    """What the call showed of our credentials: a refusal may quote it, and is kept and shown."""
    found = {value.rpartition(" ")[2] for name, value in headers.items() if _IS_SECRET(name)}
    found |= {value for name, value in parse_qsl(urlsplit(url).query) if _IS_SECRET(name)}
    for part in ("data", "params", "json"):
        fields = options.get(part)
        if isinstance(fields, dict):
            found |= {str(value) for name, value in fields.items() if _IS_SECRET(name)}
    return found


@contextmanager
def during(step: Step) -> Iterator[None]:
    """Names what went wrong in a call and in the reading of its reply, by the step it belongs to."""
    try:
        yield
    except _NOT_SENT as error:
        raise PlatformFailure("transient_before_mutation", _name(error)) from error
    except _NO_USE as error:
        if step == "send":
            raise OutcomeUnknown(f"no usable reply: {_name(error)}") from error
        raise PlatformFailure("transient_before_mutation", _name(error)) from error


def accept(reply: Reply, step: Step, judge: Judge) -> Reply:
    """The reply if it is a success, else what it means in this step."""
    if reply.is_success:
        return reply
    if reply.status >= 500 or reply.status == 408:
        if step == "send":
            raise OutcomeUnknown(detail(reply))
        raise PlatformFailure("transient_before_mutation", detail(reply))
    if step == "send" and reply.status not in _ALWAYS_OWN and not reply.fields():
        # Not the network's own answer: whatever stands before it cannot tell what it has done.
        raise OutcomeUnknown(detail(reply))
    failure = judge(reply)
    if step == "read" and failure.kind not in _NOT_ASKED:
        # A refused question says nothing about the post.
        raise PlatformFailure("transient_before_mutation", failure.message)
    raise failure


def detail(reply: Reply, *names: str) -> str:
    """`HTTP 403: why`, from the first of the named fields of the body that has a text."""
    fields = reply.fields()
    why = next((str(fields[name]) for name in names or ("detail",) if fields.get(name)), "")
    return f"HTTP {reply.status}: {why[:300]}" if why else f"HTTP {reply.status}"


def retry_after(reply: Reply) -> float | None:
    """Seconds of the Retry-After header, given as seconds or as a date; None without one."""
    value = reply.headers.get("retry-after", "").strip()
    if value.isdecimal():
        return float(value)
    try:
        moment = parsedate_to_datetime(value)
    except ValueError:
        return None
    aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return max(0.0, (aware - now()).total_seconds())


def _name(error: Exception) -> str:
    return str(error) or type(error).__name__
