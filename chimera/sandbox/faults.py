"""Failures on demand: POST /faults/ {target, kind, count} arms the next `count` calls.

| kind               | the next calls to the target                                             |
|--------------------|--------------------------------------------------------------------------|
| down               | 503, nothing happens                                                     |
| 429                | 429 with Retry-After, nothing happens                                    |
| 500_after_effect   | the effect happens, then 500                                             |
| cut_after_effect   | the effect happens, then the connection is closed without a reply        |
| slow               | the effect happens, then the reply drips for 20 s                        |
| malformed          | the effect happens, then a reply of broken JSON                          |

The *_after_effect kinds wait for a call that has an effect, so a read does not use them up
(trends have no effect: there every call counts). Faults are forgotten on a restart.
"""

import asyncio
import json
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from chimera.sandbox.cutting import cut
from chimera.sandbox.replies import Refused, problem, read_object

TARGETS = ("trends", "platform", "media", "directory")
KINDS = ("down", "429", "500_after_effect", "cut_after_effect", "slow", "malformed")
RETRY_AFTER_SEC = 2
SLOW_SEC = 20.0
MAX_COUNT = 10_000

Endpoint = Callable[[Request], Awaitable[Response]]


@dataclass
class Armed:
    """A fault that still has `count` calls to spoil."""

    target: str
    kind: str
    count: int


class Faults:
    """The armed faults, first armed first used."""

    def __init__(self) -> None:
        self._armed: deque[Armed] = deque()

    def arm(self, target: str, kind: str, count: int) -> None:
        self._armed.append(Armed(target, kind, count))

    def take(self, target: str, *, effect: bool) -> str | None:
        """The kind that this call must suffer, or None; uses one count of it up."""
        for armed in self._armed:
            if armed.target == target and (effect or "after_effect" not in armed.kind):
                armed.count -= 1
                if not armed.count:
                    self._armed.remove(armed)
                return armed.kind
        return None

    def clear(self) -> None:
        self._armed.clear()

    def armed(self) -> list[dict[str, str | int]]:
        return [vars(armed).copy() for armed in self._armed]

    def around(self, target: str, endpoint: Endpoint) -> Endpoint:
        """The endpoint, but each call may suffer an armed fault."""

        async def guarded(request: Request) -> Response:
            kind = self.take(target, effect=request.method not in ("GET", "HEAD"))
            if kind == "down":
                return problem(503, "Service Unavailable", f"The {target} is down.")
            if kind == "429":
                limited = problem(429, "Too Many Requests", "Rate limit exceeded.")
                limited.headers["Retry-After"] = str(RETRY_AFTER_SEC)
                return limited
            return await spoil(kind, request, await endpoint(request))

        return guarded

    def routes(self) -> list[Route]:
        async def show(request: Request) -> Response:
            return JSONResponse({"armed": self.armed()})

        async def add(request: Request) -> Response:
            self.arm(*_parsed(await read_object(request)))
            return JSONResponse({"armed": self.armed()}, 201)

        async def remove(request: Request) -> Response:
            self.clear()
            return Response(status_code=204)

        return [
            Route("/faults/", show, methods=["GET"]),
            Route("/faults/", add, methods=["POST"]),
            Route("/faults/", remove, methods=["DELETE"]),
        ]


def _parsed(body: dict[str, object]) -> tuple[str, str, int]:
    target, kind, count = body.get("target"), body.get("kind"), body.get("count", 1)
    if target not in TARGETS:
        raise Refused(400, f"target must be one of {', '.join(TARGETS)}")
    if kind not in KINDS:
        raise Refused(400, f"kind must be one of {', '.join(KINDS)}")
    if not isinstance(count, int) or isinstance(count, bool) or not 1 <= count <= MAX_COUNT:
        raise Refused(400, f"count must be a whole number from 1 to {MAX_COUNT}")
    return str(target), str(kind), count


async def spoil(kind: str | None, request: Request, reply: Response) -> Response:
    """What becomes of a reply after its effect has happened."""
    if kind == "500_after_effect":
        return problem(500, "Internal Server Error", "Something broke after the work was done.")
    if kind == "cut_after_effect":
        return await cut(request)
    if kind == "malformed":
        broken = bytes(reply.body)[: len(reply.body) // 2]
        return Response(broken, reply.status_code, media_type="application/json")
    if kind == "slow":
        drip = _dripped(bytes(reply.body))
        return StreamingResponse(drip, reply.status_code, media_type=reply.media_type)
    return reply


async def _dripped(body: bytes) -> AsyncIterator[bytes]:
    """Spaces, which JSON allows, one every half second, and the body at the end."""
    for _ in range(int(SLOW_SEC * 2)):
        yield b" "
        await asyncio.sleep(0.5)
    yield body


def broken_json() -> str:
    """A payload that starts well and stops in the middle."""
    return json.dumps({"trends": [{"topic": "half a tre"}]})[:25]
