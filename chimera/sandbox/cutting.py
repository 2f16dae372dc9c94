"""Connections that a request can cut, as a network does: the server's part and the request's."""

import asyncio

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

_TRANSPORT = "chimera.transport"


class OpenHandedProtocol(H11Protocol):
    """Gives each request its connection, so that a fault can cut it."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        app = self.app

        async def with_transport(scope: Scope, receive: Receive, send: Send) -> None:
            scope[_TRANSPORT] = transport
            await app(scope, receive, send)

        self.app = with_transport


async def cut(request: Request) -> Response:
    """Close the connection under the caller's feet; the returned reply reaches nobody."""
    request.scope[_TRANSPORT].abort()
    await asyncio.sleep(0.01)  # the server must notice before it is given a reply
    return Response(status_code=204)
