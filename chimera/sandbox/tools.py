"""The MCP door: trends are resources, media are tools.

A failure is a JSON-RPC error whose `data` names it in the platform's words:
`{"code": "RATE_LIMITED", "retry_after": 2}`, `{"code": "PLATFORM_UNAVAILABLE"}`. An unknown tool
or resource is INVALID_PARAMS (-32602), as the protocol says.
"""

import asyncio
import json
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from typing import Any

from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    CallToolRequestParams,
    CallToolResult,
    ListResourcesResult,
    ListToolsResult,
    ReadResourceRequestParams,
    ReadResourceResult,
    Resource,
    TextContent,
    TextResourceContents,
    Tool,
    ToolAnnotations,
)
from pydantic import ValidationError

from chimera.sandbox.cutting import cut
from chimera.sandbox.faults import RETRY_AFTER_SEC, SLOW_SEC, Faults, broken_json
from chimera.sandbox.media import Studio
from chimera.sandbox.trends import FeedsUnavailable, TrendSource, resource_uris
from content.mediatools.shapes import ClipOrder, PictureOrder

TOO_MANY_REQUESTS = 429  # application codes, outside the range JSON-RPC keeps for itself
UNAVAILABLE = 503
ORDERS: dict[str, type[PictureOrder | ClipOrder]] = {
    "ideogram": PictureOrder,
    "runwayml": ClipOrder,
}
_URIS = resource_uris()

Work = Callable[[], dict[str, Any]]


def mcp_server(trends: TrendSource, studio: Studio, faults: Faults) -> Server[Any]:
    """The server behind /mcp."""

    async def list_resources(ctx: Any, params: Any) -> ListResourcesResult:
        return ListResourcesResult(resources=[_resource(*pair) for pair in _URIS.items()])

    async def read_resource(ctx: Any, params: ReadResourceRequestParams) -> ReadResourceResult:
        uri = str(params.uri)
        if uri not in _URIS:
            raise MCPError(INVALID_PARAMS, f"Resource not found: {uri}", {"uri": uri})
        kind = _before(faults.take("trends", effect=True), "trend source")
        text = json.dumps(await _read(trends, _URIS[uri]), ensure_ascii=False)
        text = broken_json() if await _after(kind, ctx) else text
        contents = TextResourceContents(uri=uri, mime_type="application/json", text=text)
        return ReadResourceResult(contents=[contents])

    async def list_tools(ctx: Any, params: Any) -> ListToolsResult:
        return ListToolsResult(tools=[_tool(name) for name in ORDERS])

    async def call_tool(ctx: Any, params: CallToolRequestParams) -> CallToolResult:
        work = _checked(params.name, params.arguments or {}, studio)
        kind = _before(faults.take("media", effect=True), "media generator")
        result = await asyncio.to_thread(work)
        if await _after(kind, ctx):
            return CallToolResult(content=[TextContent(text=broken_json())])
        text = TextContent(text=json.dumps(result))
        return CallToolResult(content=[text], structured_content=result)

    return Server(
        "chimera-sandbox",
        on_list_resources=list_resources,
        on_read_resource=read_resource,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )


async def _read(trends: TrendSource, platform: str) -> list[dict[str, Any]]:
    try:
        return await trends.read(platform, datetime.now(UTC))
    except FeedsUnavailable as error:
        raise MCPError(UNAVAILABLE, str(error), {"code": "PLATFORM_UNAVAILABLE"}) from None


def _checked(name: str, arguments: dict[str, Any], studio: Studio) -> Work:
    """The work that a call asks for, once its arguments fit the tool's schema."""
    if name not in ORDERS:
        raise MCPError(INVALID_PARAMS, f"Unknown tool: {name}", {"tool": name})
    try:
        order = ORDERS[name].model_validate(arguments)
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(str(part) for part in first["loc"])
        raise MCPError(INVALID_PARAMS, f"{field}: {first['msg']}") from None
    if isinstance(order, PictureOrder):
        return partial(studio.ideogram, order)
    return partial(studio.runwayml, order)


def _before(kind: str | None, what: str) -> str | None:
    """Fail before anything happens where the fault says so; else hand the fault on."""
    if kind == "down":
        code = {"code": "PLATFORM_UNAVAILABLE"}
        raise MCPError(UNAVAILABLE, f"The {what} is unavailable.", code)
    if kind == "429":
        limit = {"code": "RATE_LIMITED", "retry_after": RETRY_AFTER_SEC}
        raise MCPError(TOO_MANY_REQUESTS, "Rate limit exceeded.", limit)
    return kind


async def _after(kind: str | None, ctx: Any) -> bool:
    """What the fault does once the work is done; true when the payload must be broken."""
    if kind == "500_after_effect":
        raise MCPError(INTERNAL_ERROR, "Something broke after the work was done.")
    if kind == "cut_after_effect":
        await cut(ctx.request)
    if kind == "slow":
        await asyncio.sleep(SLOW_SEC)
    return kind == "malformed"


def _resource(uri: str, platform: str) -> Resource:
    purpose = "general feed" if uri.endswith("general") else "trends"
    return Resource(uri=uri, name=f"{platform} {purpose}", mime_type="application/json")


def _tool(name: str) -> Tool:
    return Tool(
        name=name,
        description=ORDERS[name].__doc__,
        input_schema=ORDERS[name].model_json_schema(),
        annotations=ToolAnnotations(
            read_only_hint=False, destructive_hint=False, idempotent_hint=True
        ),
    )
