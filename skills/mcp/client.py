"""MCP client: resources and tools of the servers named in mcp.json, over HTTP or stdio.

A connection lasts one call: it belongs to no event loop, no process and no session, so any
worker may use one client at any time. What goes wrong is a ChimeraError:

| what happened                                    | code                 |
|--------------------------------------------------|----------------------|
| no server has this tool or resource              | NOT_FOUND            |
| the arguments do not fit the tool's schema       | INVALID_INPUT        |
| no connection, or it broke                       | NETWORK_ERROR        |
| no answer in time                                | TIMEOUT              |
| the server or the tool reports a failure         | PLATFORM_UNAVAILABLE |
| the server says: too many requests               | RATE_LIMITED         |
| the answer is not what the protocol or JSON asks | VALIDATION_FAILED    |

A server says "too many requests" by HTTP status 429, by JSON-RPC error code 429, or by
`{"code": "RATE_LIMITED", "retry_after": seconds}` in an error's data or a tool's result. There it may
also say SAFETY_VIOLATION or MEDIA_GENERATION_FAILED, with `"final": true` where trying again is
pointless.
"""

import shutil
import socket
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from decimal import Decimal
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar, cast
from urllib.parse import urlsplit

import anyio

from chimera.core import capabilities, tracing
from chimera.core.errors import ChimeraError
from chimera.core.jsontext import loads
from chimera.core.secrets import without
from skills.mcp.config import ServerConfig, load_config

if TYPE_CHECKING:
    import httpx2
    from mcp import Client
    from mcp.shared.exceptions import MCPError
    from mcp_types import CallToolResult, RequestParamsMeta

__all__ = ["ORDER_META", "MCPClient", "ServerConfig", "load_config"]

ORDER_META = "chimera/order"
_REPORTABLE = ("SAFETY_VIOLATION", "MEDIA_GENERATION_FAILED")
_Answer = TypeVar("_Answer")
_NOT_FOUND = {-32601, -32602, -32002}  # no such method, bad parameters, older "resource not found"
_CONNECTION_CLOSED, _REQUEST_TIMEOUT, _TOO_MANY = -32000, -32001, 429


class MCPClient:
    """Calls tools and reads resources on the first server that has them."""

    def __init__(self, servers: Mapping[str, ServerConfig], *, timeout_sec: float = 10.0) -> None:
        if not servers:
            raise ValueError("MCPClient needs at least one server")
        self._servers = dict(servers)
        self._timeout_sec = timeout_sec

    def servers_for(self, wanted: str) -> list[str]:
        """Names of the servers that are asked for this tool or resource, in order."""
        return [name for name, config in self._servers.items() if config.may_have(wanted)]

    def price(self, tool: str) -> Decimal | None:
        """US dollars for one unit of the tool: the dearest of the servers that may be asked for it.

        None where one of them names no price, or none is there.
        """
        prices = [self._servers[name].prices.get(tool) for name in self.servers_for(tool)]
        known = [price for price in prices if price is not None]
        return max(known) if known and len(known) == len(prices) else None

    def only(self, server: str) -> "MCPClient":
        """A client of one of the servers. NOT_FOUND where none has this name."""
        if server not in self._servers:
            raise ChimeraError("NOT_FOUND", f"No MCP server is called {server}")
        return MCPClient({server: self._servers[server]}, timeout_sec=self._timeout_sec)

    def check(self, wanted: str, *, timeout_sec: float = 2.0) -> None:
        """That a server for this tool or resource is there, without asking it anything.

        RESOURCE_UNAVAILABLE where none is named; NETWORK_ERROR where none takes a connection.
        """
        capabilities.require("MCP")
        servers = self.servers_for(wanted)
        if not servers:
            raise ChimeraError("RESOURCE_UNAVAILABLE", f"No MCP server offers {wanted}")
        if not any(_is_there(self._servers[server], timeout_sec) for server in servers):
            raise ChimeraError("NETWORK_ERROR", f"None of {', '.join(servers)} can be reached")

    async def read_resource(self, uri: str, *, timeout_sec: float | None = None) -> Any:
        """The JSON value in the first text content of the resource."""

        async def read(client: "Client") -> Any:
            answer = await client.read_resource(uri)
            texts = (getattr(item, "text", None) for item in answer.contents)
            return _parsed(next((text for text in texts if text is not None), None), uri)

        return await self._first(uri, read, timeout_sec)

    async def call_tool(
        self,
        name: str,
        arguments: Mapping[str, Any],
        *,
        timeout_sec: float | None = None,
        order: str = "",
    ) -> dict[str, Any]:
        """The tool's structured result, or the JSON object in its text.

        order: sent along as metadata; two calls with the same one and the same arguments are one
        order, for a server that keeps orders.
        """
        meta = cast("RequestParamsMeta", {ORDER_META: order}) if order else None

        async def call(client: "Client") -> dict[str, Any]:
            try:
                answer = await client.call_tool(name, dict(arguments), meta=meta)
                return _tool_output(name, answer)
            except Exception as error:
                failure = _as_chimera_error(error)
                if failure.code in ("NOT_FOUND", "PLATFORM_UNAVAILABLE"):
                    raise await _told_apart(client, name, failure) from error
                raise failure from error

        return await self._first(name, call, timeout_sec)

    async def list_tools(self, *, timeout_sec: float | None = None) -> list[dict[str, Any]]:
        """Tools of all servers: server, name, description, input_schema, annotations."""
        found: list[dict[str, Any]] = []
        for server in self._servers:
            listed = await self._on(server, _all_tools, self._limit(timeout_sec))
            found += [{"server": server} | tool for tool in listed]
        return found

    async def _first(
        self,
        wanted: str,
        work: "Callable[[Client], Awaitable[_Answer]]",
        timeout_sec: float | None,
    ) -> _Answer:
        """The answer of the first server that knows what is asked for; one time limit for all."""
        until = anyio.current_time() + self._limit(timeout_sec)
        missing = ChimeraError("NOT_FOUND", f"No MCP server offers {wanted}")
        for server, config in self._servers.items():
            if not config.may_have(wanted):
                continue
            try:
                return await self._on(server, work, until - anyio.current_time())
            except ChimeraError as error:
                if error.code != "NOT_FOUND":
                    raise
                missing = error
        raise missing

    def _limit(self, timeout_sec: float | None) -> float:
        return self._timeout_sec if timeout_sec is None else timeout_sec

    async def _on(
        self, server: str, work: "Callable[[Client], Awaitable[_Answer]]", limit: float
    ) -> _Answer:
        capabilities.require("MCP")
        try:
            with anyio.fail_after(limit):
                async with _connected(self._servers[server]) as client:
                    return await work(client)
        except TimeoutError as error:
            raise _failure("TIMEOUT", f"no answer within {limit:.3g} s", server) from error
        except Exception as error:
            failure = _hushed(_as_chimera_error(error), self._servers[server])
            failure.details.setdefault("server", server)
            raise failure from error


def _hushed(failure: ChimeraError, config: ServerConfig) -> ChimeraError:
    """The failure without our credentials, which a server may quote in its words."""
    values = [*config.headers.values(), *config.env.values()]
    words = {value.rpartition(" ")[2] for value in values}
    failure.message = without(failure.message.encode(), words).decode()
    return failure


def _is_there(config: ServerConfig, timeout_sec: float) -> bool:
    """Whether its port takes a connection, or its program exists."""
    if config.url is None:
        return shutil.which(config.command or "") is not None
    parts = urlsplit(config.url)
    port = parts.port or (443 if parts.scheme == "https" else 80)
    try:
        socket.create_connection((parts.hostname or "", port), timeout=timeout_sec).close()
    except OSError:
        return False
    return True


def _connected(config: ServerConfig) -> "AbstractAsyncContextManager[Client]":
    # Imported here: the SDK takes a second to load, which processes without MCP need not pay.
    from mcp import Client, StdioServerParameters

    if config.url is not None:
        return _connected_by_http(config.url, config.headers)
    assert config.command is not None
    parameters = StdioServerParameters(
        command=config.command, args=config.args, env=config.env or None
    )
    return Client(parameters, cache=None)


@asynccontextmanager
async def _connected_by_http(url: str, headers: dict[str, str]) -> "AsyncIterator[Client]":
    # Imported here for the same reason.
    import httpx2
    from mcp import Client
    from mcp.client.streamable_http import streamable_http_client

    hooks = {"response": [_refuse_bare_status]}
    async with httpx2.AsyncClient(
        headers=headers,
        timeout=None,
        trust_env=False,
        verify=_tls(),
        event_hooks=hooks,
        auth=tracing.outgoing(httpx2),
    ) as http:
        transport = streamable_http_client(url, http_client=http)
        async with Client(transport, cache=None) as client:
            yield client


async def _refuse_bare_status(response: "httpx2.Response") -> None:
    """Keep the status of a refusal that carries no JSON-RPC error; the SDK would drop it."""
    refused = response.status_code in (401, 403, 429) or response.status_code >= 500
    if refused and not response.headers.get("content-type", "").startswith("application/json"):
        message = f"the server answered HTTP {response.status_code}"
        if response.status_code == 429:
            wait = response.headers.get("retry-after", "")
            raise _rate_limited(message, float(wait) if wait.isdecimal() else None)
        raise ChimeraError("PLATFORM_UNAVAILABLE", message)


def _parsed(text: str | None, what: str) -> Any:
    if text is None:
        raise ChimeraError("VALIDATION_FAILED", f"{what}: the answer holds no text")
    try:
        return loads(text)
    except ValueError as error:
        raise ChimeraError("VALIDATION_FAILED", f"{what}: not valid JSON: {error}") from error


def _tool_output(name: str, result: "CallToolResult") -> dict[str, Any]:
    texts = [text for item in result.content if (text := getattr(item, "text", None)) is not None]
    if result.is_error:
        raise _reported("\n".join(texts) or f"{name} failed", result.structured_content)
    output = result.structured_content
    if output is None:
        output = _parsed(texts[0] if texts else None, name)
    if not isinstance(output, dict):
        raise ChimeraError("VALIDATION_FAILED", f"{name}: the result is not a JSON object")
    return output


async def _told_apart(client: "Client", name: str, failure: ChimeraError) -> ChimeraError:
    """Servers report an unknown tool and bad arguments alike: only the list tells."""
    try:
        known = any(tool["name"] == name for tool in await _all_tools(client))
    except Exception:  # noqa: BLE001 - the list only finds a better word for the first failure
        return failure
    if not known:
        return ChimeraError("NOT_FOUND", f"no such tool: {name}", details=failure.details)
    if failure.code == "NOT_FOUND":
        return ChimeraError("INVALID_INPUT", failure.message, details=failure.details)
    return failure


async def _all_tools(client: "Client") -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    cursor: str | None = None
    while True:
        page = await client.list_tools(cursor=cursor)
        found += [
            {
                "name": tool.name,
                "description": tool.description or "",
                "input_schema": tool.input_schema,
                "annotations": tool.annotations.model_dump() if tool.annotations else {},
            }
            for tool in page.tools
        ]
        cursor = page.next_cursor
        if cursor is None:
            return found


def _as_chimera_error(error: BaseException) -> ChimeraError:
    """The first cause inside the task groups' wrapping, in the platform's words."""
    # Imported here for the same reason as above; both are loaded once a call has been made.
    import httpx2
    from mcp.shared.exceptions import MCPError

    cause = _leaf(error)
    if isinstance(cause, ChimeraError):
        return cause
    if isinstance(cause, MCPError):
        return _protocol_failure(cause)
    text = str(cause) or type(cause).__name__
    if isinstance(cause, httpx2.TimeoutException | TimeoutError):
        return ChimeraError("TIMEOUT", text)
    if isinstance(cause, httpx2.HTTPError | OSError | anyio.BrokenResourceError):
        return ChimeraError("NETWORK_ERROR", text)
    # ValidationError, RuntimeError of a broken output schema: the peer breaks the protocol.
    return ChimeraError("VALIDATION_FAILED", text)


def _protocol_failure(error: "MCPError") -> ChimeraError:
    if error.code in _NOT_FOUND:
        return ChimeraError("NOT_FOUND", error.message)
    if error.code == _CONNECTION_CLOSED:
        return ChimeraError("NETWORK_ERROR", error.message)
    if error.code == _REQUEST_TIMEOUT:
        return ChimeraError("TIMEOUT", error.message)
    data = error.data if isinstance(error.data, dict) else {}
    return _reported(
        error.message, data | ({"code": "RATE_LIMITED"} if error.code == _TOO_MANY else {})
    )


def _reported(message: str, data: Any) -> ChimeraError:
    """A failure that the server or the tool itself reports."""
    data = data if isinstance(data, dict) else {}
    if data.get("code") == "RATE_LIMITED":
        wait = data.get("retry_after")
        return _rate_limited(message, float(wait) if isinstance(wait, int | float) else None)
    if data.get("code") in _REPORTABLE:
        return ChimeraError(data["code"], message, final=data.get("final") is True)
    return ChimeraError("PLATFORM_UNAVAILABLE", message)


def _rate_limited(message: str, wait: float | None) -> ChimeraError:
    return ChimeraError("RATE_LIMITED", message, backoff_sec=wait)


def _failure(code: str, message: str, server: str) -> ChimeraError:
    return ChimeraError(code, message, details={"server": server})


def _leaf(error: BaseException) -> BaseException:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


@cache
def _tls() -> ssl.SSLContext:
    """Made once: loading the certificates takes longer than a call."""
    return ssl.create_default_context()
