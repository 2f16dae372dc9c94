"""An MCP server of the tests: serves prepared answers over HTTP and counts what it was asked."""

import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import uvicorn
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS, ReadResourceResult, TextResourceContents


@dataclass
class Source:
    """Resources by URI: a value, a text that is sent as it is, or a function that gives or raises one."""

    url: str = ""
    answers: dict[str, Any] = field(default_factory=dict)
    reads: list[str] = field(default_factory=list)

    async def read(self, ctx: Any, params: Any) -> ReadResourceResult:
        uri = str(params.uri)
        self.reads.append(uri)
        if uri not in self.answers:
            raise MCPError(INVALID_PARAMS, f"Resource not found: {uri}", {"uri": uri})
        found = self.answers[uri]
        found = found() if callable(found) else found
        text = found if isinstance(found, str) else json.dumps(found)
        contents = TextResourceContents(uri=uri, mime_type="application/json", text=text)
        return ReadResourceResult(contents=[contents])


def refusal(code: str, **data: Any) -> Callable[[], Any]:
    """An answer that is a failure in the platform's words, e.g. `refusal("RATE_LIMITED", retry_after=5)`."""

    def refuse() -> Any:
        raise MCPError(503, code, {"code": code, **data})

    return refuse


@contextmanager
def serve(app: Any) -> Iterator[str]:
    """An ASGI application on a free port of loopback, in a thread of this process; its base URL."""
    listener = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(app, log_level="error", timeout_graceful_shutdown=1))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    while not server.started and thread.is_alive():
        time.sleep(0.01)
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(10)


@contextmanager
def trend_server() -> Iterator[Source]:
    """A running server without a resource; add them to `answers`."""
    source = Source()
    app = Server("trends", on_read_resource=source.read).streamable_http_app(stateless_http=True)
    with serve(app) as url:
        source.url = url
        yield source
