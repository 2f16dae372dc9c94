"""The whole world as one ASGI application."""

from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from chimera.sandbox.directory import Directory
from chimera.sandbox.faults import Faults
from chimera.sandbox.media import Studio
from chimera.sandbox.pages import Pages
from chimera.sandbox.replies import Refused, refusal
from chimera.sandbox.social import SocialPlatform
from chimera.sandbox.store import Store
from chimera.sandbox.tools import mcp_server
from chimera.sandbox.trends import TrendSource

_HEADERS = (
    (
        b"content-security-policy",
        b"default-src 'none'; img-src 'self'; style-src 'self'; base-uri 'none';"
        b" form-action 'none'; frame-ancestors 'none'",
    ),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
)


def build(store: Store, base_url: str, feeds: tuple[str, ...] = ()) -> Starlette:
    """The application; base_url is where callers reach it, without a final slash."""
    faults, studio = Faults(), Studio(store, base_url)
    server = mcp_server(TrendSource(feeds), studio, faults)
    routes: list[Any] = [
        Route("/healthz", _health),
        *faults.routes(),
        *SocialPlatform(store, base_url).routes(faults),
        *Directory(store, base_url).routes(faults),
        *studio.routes(),
        *Pages(store).routes(),
        Mount("/static", StaticFiles(directory=Path(__file__).parent / "static")),
    ]
    app = server.streamable_http_app(stateless_http=True, custom_starlette_routes=routes)
    app.add_exception_handler(Refused, refusal)
    app.add_middleware(SecurityHeaders)
    app.add_middleware(TrustedHostMiddleware, allowed_hosts=["127.0.0.1", "localhost"])
    return app


class SecurityHeaders:
    """Adds the headers that keep a page from doing more than showing itself."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", []), *_HEADERS]
            await send(message)

        await self._app(scope, receive, send_with_headers)


async def _health(request: Request) -> Response:
    return JSONResponse({"status": "ok"})
