"""Failures on demand: POST <provider>/_faults {kind, count?, path?, method?} spoils the next calls.

| kind              | what the next `count` matching calls suffer                                      |
|-------------------|----------------------------------------------------------------------------------|
| 429               | the provider's own refusal, nothing happens                                      |
| 429_seconds       | the same with `Retry-After: 2` and no other header                               |
| 429_date          | the same with Retry-After as an HTTP date                                        |
| 429_bare          | the same without any header that says when                                       |
| 500_before_effect | the provider's 500, nothing happens                                              |
| 500_after_effect  | the work is done, then the provider's 500                                        |
| cut_before_effect | the connection is closed without a reply, nothing happens                        |
| cut_after_effect  | the work is done, then the connection is closed without a reply                  |
| slow_drip         | the work is done, then the reply drips in one byte at a time, for a minute       |
| html_error        | a gateway's 502 page in HTML, nothing happens                                    |
| html_after_effect | the work is done, then 200 with an HTML page in place of the reply               |
| html_400_after_effect | the work is done, then a gateway's 400 page in HTML in place of the reply      |
| token_expired     | every access token given so far is void from now on (a refresh gives a new one)  |
| duplicate         | the provider's refusal of a post it has already, nothing happens                 |

path: a part of the path, method: GET or POST or PUT; without a path an `*_after_effect` (or
slow_drip) waits for a call that has really had an effect. A provider may have kinds of its own,
which it takes itself with `fake.take(kind)`.
"""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass

from starlette.responses import Response, StreamingResponse

DRIP_SECONDS = 60
LATE = (
    *("500_after_effect", "cut_after_effect", "slow_drip"),
    *("html_after_effect", "html_400_after_effect"),
)
KINDS = (
    *("429", "429_seconds", "429_date", "429_bare", "500_before_effect", "cut_before_effect"),
    *("html_error", "token_expired", "duplicate", *LATE),
)
HTML = b"<html><head><title>502 Bad Gateway</title></head><body>upstream error</body></html>"


@dataclass
class Fault:
    """An armed fault that still has `count` calls to spoil."""

    kind: str
    count: int = 1
    path: str = ""
    method: str = ""

    def fits(self, path: str, method: str) -> bool:
        return self.path in path and self.method in ("", method)


class Faults:
    """The armed faults of one provider, first armed first used."""

    def __init__(self) -> None:
        self.armed: list[Fault] = []

    def take(self, path: str, method: str, *, late: bool, effect: bool = False) -> str:
        """The kind this call must suffer, before (`late` False) or after its work; '' for none."""
        for fault in self.armed:
            if (fault.kind in LATE) != late or fault.kind not in KINDS:
                continue
            if not fault.fits(path, method) or (late and not fault.path and not effect):
                continue
            return self._use(fault)
        return ""

    def take_kind(self, kind: str) -> bool:
        """True when a fault of this kind is armed; uses one count of it up."""
        for fault in self.armed:
            if fault.kind == kind:
                return bool(self._use(fault))
        return False

    def _use(self, fault: Fault) -> str:
        fault.count -= 1
        if fault.count <= 0:
            self.armed.remove(fault)
        return fault.kind


def html(status: int) -> Response:
    return Response(HTML, status, media_type="text/html")


def dripped(reply: Response) -> Response:
    """The reply one byte at a time; its length is not told."""

    async def bytes_of() -> AsyncIterator[bytes]:
        body = bytes(reply.body) or b"{}"
        pause = DRIP_SECONDS / len(body)
        for index in range(len(body)):
            yield body[index : index + 1]
            await asyncio.sleep(pause)

    return StreamingResponse(bytes_of(), reply.status_code, media_type="application/json")
