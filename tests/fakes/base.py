"""What every local platform server shares: accounts and tokens, counted effects, faults, control paths.

A provider is a module `tests/fakes/<name>.py` with a function `make() -> Fake`; nothing else is
edited. All of them run in one process, each under `/<name>`, so the base URL of an account is
`http://127.0.0.1:PORT/<name>`. Beside the provider's own paths each has:

    POST   /<name>/_accounts {handle, ...}  a new account -> {handle, access_token, refresh_token, extra}
    GET    /<name>/_effects                 every post the server has accepted, oldest first
    GET    /<name>/_calls                   every call it has had: {method, path, status; null until it is replied to}
    POST   /<name>/_faults                  see `tests.fakes.faults`
    DELETE /<name>/_faults                  no fault is armed any more
    POST   /<name>/_revoke {handle}         the owner withdraws the permission: every token is void

The server counts its effects itself: a test that wants to know whether something was posted twice
asks here, never the code under test.
"""

import secrets
from collections.abc import Awaitable, Callable
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Mount, Route

from chimera.sandbox.cutting import cut
from tests.fakes import faults
from tests.fakes.faults import Fault, Faults

Json = dict[str, Any]
Endpoint = Callable[[Request], Awaitable[Response]]


class Refusal(Exception):
    """Raised anywhere in an endpoint: the reply that refuses the call."""

    def __init__(self, reply: Response) -> None:
        self.reply = reply


@dataclass
class Account:
    """An account of the provider with the tokens it has now. extra: what an adapter needs beside them."""

    handle: str
    id: str
    access_token: str
    refresh_token: str
    extra: dict[str, str] = field(default_factory=dict)

    def credentials(self) -> Json:
        """What a person pastes into the form when the account is connected."""
        return {
            "handle": self.handle,
            "access_token": self.access_token,
            "refresh_token": self.refresh_token,
            "extra": self.extra,
        }


class Fake:
    """One provider. Endpoints are `async def` and run in one event loop, so state needs no lock."""

    name: str

    def __init__(self) -> None:
        self.accounts: list[Account] = []
        self.effects: list[Json] = []
        self.calls: list[Json] = []
        self.faults = Faults()
        self.void_tokens: set[str] = set()

    # --- what a provider defines ---

    def endpoints(self) -> list[tuple[str, str, Endpoint]]:
        """(method, path, endpoint) of the provider's own interface."""
        raise NotImplementedError

    def limited(self) -> Response:
        """The provider's 429 with its own headers."""
        raise NotImplementedError

    def broken(self) -> Response:
        """The provider's 500."""
        raise NotImplementedError

    def unauthorized(self) -> Response:
        """The provider's answer to an expired or unknown access token."""
        raise NotImplementedError

    def duplicate(self) -> Response:
        """The provider's refusal of a post it has already; a 400 where it knows no such thing."""
        return JSONResponse({"error": "duplicate"}, 400)

    def extra_of(self, account: Account, wanted: Json) -> dict[str, str]:
        """What an adapter needs beside the tokens (client ids, user ids)."""
        return {}

    # --- what a provider uses ---

    def open_account(self, handle: str, wanted: Json | None = None) -> Account:
        account = Account(handle, str(secrets.randbits(60)), fresh("access"), fresh("refresh"))
        account.extra = self.extra_of(account, wanted or {})
        self.accounts.append(account)
        return account

    def account_of(self, request: Request, token: str = "") -> Account:
        """Whose bearer token (or the given one) it is; Refusal with the provider's 401."""
        token = token or request.headers.get("authorization", "").removeprefix("Bearer ")
        for account in self.accounts:
            if token and account.access_token == token and token not in self.void_tokens:
                return account
        raise Refusal(self.unauthorized())

    def rotate(self, refresh_token: str, *, rotating: bool = True) -> Account | None:
        """New tokens for a refresh token, which is used up where it rotates; None for one unknown."""
        for account in self.accounts:
            if refresh_token and account.refresh_token == refresh_token:
                account.access_token = fresh("access")
                if rotating:
                    account.refresh_token = fresh("refresh")
                return account
        return None

    def effect(self, *, id: str, account: str, text: str, **more: Any) -> Json:
        """Record a post that the public can see from now on."""
        made = {"id": id, "account": account, "text": text, "at": now_text(), **more}
        self.effects.append(made)
        return made

    def take(self, kind: str) -> bool:
        """Whether a fault of the provider's own is armed; uses one count of it up."""
        return self.faults.take_kind(kind)

    # --- the frame ---

    def mount(self) -> Mount:
        """Everything under `/<name>`."""
        own: list[BaseRoute] = [
            Route(path, self._around(endpoint), methods=[method])
            for method, path, endpoint in self.endpoints()
        ]
        return Mount(f"/{self.name}", routes=[*self._controls(), *own])

    def _around(self, endpoint: Endpoint) -> Endpoint:
        async def guarded(request: Request) -> Response:
            path = request.url.path.removeprefix(f"/{self.name}")
            call: Json = {"method": request.method, "path": path, "status": None}
            self.calls.append(call)  # before the caller can know of a reply that is cut
            reply = await self._spoilt(request, endpoint)
            call["status"] = reply.status_code
            return reply

        return guarded

    async def _spoilt(self, request: Request, endpoint: Endpoint) -> Response:
        await request.body()
        path, method = request.url.path, request.method
        early = await self._in_place_of_work(self.faults.take(path, method, late=False), request)
        if early is not None:
            return early
        before = len(self.effects)
        try:
            reply = await endpoint(request)
        except Refusal as refusal:
            reply = refusal.reply
        effect = len(self.effects) > before
        kind = self.faults.take(path, method, late=True, effect=effect)
        if kind == "500_after_effect":
            return self.broken()
        if kind == "html_after_effect":
            return faults.html(200)
        if kind == "html_400_after_effect":
            return faults.html(400)
        if kind == "slow_drip":
            return faults.dripped(reply)
        return await cut(request) if kind == "cut_after_effect" else reply

    async def _in_place_of_work(self, kind: str, request: Request) -> Response | None:
        """The reply that takes the place of the work; None when the work is to be done."""
        match kind:
            case "token_expired":
                self.void_tokens |= {account.access_token for account in self.accounts}
                return None
            case "cut_before_effect":
                return await cut(request)
            case "500_before_effect":
                return self.broken()
            case "html_error":
                return faults.html(502)
            case "duplicate":
                return self.duplicate()
        return self._limited(kind) if kind.startswith("429") else None

    def _limited(self, kind: str) -> Response:
        reply = self.limited()
        if kind == "429":
            return reply
        bare = Response(reply.body, reply.status_code, media_type=reply.media_type)
        if kind == "429_seconds":
            bare.headers["Retry-After"] = "2"
        if kind == "429_date":
            moment = datetime.now(UTC) + timedelta(seconds=3)
            bare.headers["Retry-After"] = format_datetime(moment, usegmt=True)
        return bare

    def _controls(self) -> list[BaseRoute]:
        async def arm(request: Request) -> Response:
            fault = Fault(**await request.json())
            self.faults.armed.append(fault)
            return JSONResponse(asdict(fault), 201)

        async def disarm(request: Request) -> Response:
            self.faults.armed.clear()
            return Response(status_code=204)

        async def effects(request: Request) -> Response:
            return JSONResponse(self.effects)

        async def calls(request: Request) -> Response:
            return JSONResponse(self.calls)

        async def account(request: Request) -> Response:
            wanted = await request.json()
            made = self.open_account(str(wanted["handle"]), wanted)
            return JSONResponse(made.credentials(), 201)

        async def revoke(request: Request) -> Response:
            handle = (await request.json())["handle"]
            for account in self.accounts:
                if account.handle == handle:
                    account.access_token, account.refresh_token = fresh("void"), fresh("void")
            return JSONResponse({})

        return [
            Route("/_revoke", revoke, methods=["POST"]),
            Route("/_faults", arm, methods=["POST"]),
            Route("/_faults", disarm, methods=["DELETE"]),
            Route("/_effects", effects),
            Route("/_calls", calls),
            Route("/_accounts", account, methods=["POST"]),
        ]


def fresh(kind: str) -> str:
    """A token or id nobody has had before."""
    return f"{kind}-{secrets.token_urlsafe(24)}"


def now_text() -> str:
    """The time as most providers write it: UTC, milliseconds, Z."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
