"""The MCP server of the media tools: `ideogram` and `runwayml` before the real providers.

The tools take what those of the sandbox world take and give the same. A caller may name its order in
`_meta` ("chimera/order", e.g. the id of its execution): the same order and the same arguments are then
bought once, however often they are asked for. A failure is an error result with
`{"code", "final", "retry_after"?}` as its structured content.
"""

import asyncio
import json
from collections.abc import Callable
from functools import partial
from typing import Any

from django.db import close_old_connections
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INVALID_PARAMS,
    CallToolRequestParams,
    CallToolResult,
    ListToolsResult,
    TextContent,
    Tool,
    ToolAnnotations,
)
from pydantic import ValidationError

from chimera.core.ids import new_id
from content.mediatools import ideogram, runway
from content.mediatools.failures import MediaFailure
from content.mediatools.shapes import ClipOrder, PictureOrder

ORDER_META = "chimera/order"
ORDERS: dict[str, type[PictureOrder | ClipOrder]] = {
    ideogram.TOOL: PictureOrder,
    runway.TOOL: ClipOrder,
}

Work = Callable[[], dict[str, Any]]


def mcp_server() -> Server[Any]:
    """The server, for stdio as for HTTP."""

    async def list_tools(ctx: Any, params: Any) -> ListToolsResult:
        return ListToolsResult(tools=[_tool(name) for name in ORDERS])

    async def call_tool(ctx: Any, params: CallToolRequestParams) -> CallToolResult:
        work = _checked(params)
        try:
            # A thread goes on when its caller leaves, so an order that was accepted is written down.
            result = await asyncio.to_thread(_with_database, work)
        except MediaFailure as failure:
            return _answer(failure.message, failure.as_dict(), is_error=True)
        return _answer(json.dumps(result), result)

    return Server("chimera-media", on_list_tools=list_tools, on_call_tool=call_tool)


def _checked(params: CallToolRequestParams) -> Work:
    """The work that a call asks for, once its arguments fit the tool's schema."""
    if params.name not in ORDERS:
        raise MCPError(INVALID_PARAMS, f"Unknown tool: {params.name}", {"tool": params.name})
    try:
        wanted = ORDERS[params.name].model_validate(params.arguments or {})
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(str(part) for part in first["loc"])
        raise MCPError(INVALID_PARAMS, f"{field}: {first['msg']}") from None
    caller = str((params.meta or {}).get(ORDER_META) or new_id())
    if isinstance(wanted, PictureOrder):
        return partial(ideogram.draw, wanted, caller=caller)
    return partial(runway.film, wanted, caller=caller)


def _with_database(work: Work) -> dict[str, Any]:
    close_old_connections()
    try:
        return work()
    finally:
        close_old_connections()


def _answer(text: str, data: dict[str, Any], *, is_error: bool = False) -> CallToolResult:
    content = [TextContent(text=text)]
    return CallToolResult(content=content, structured_content=data, is_error=is_error)


def _tool(name: str) -> Tool:
    return Tool(
        name=name,
        description=ORDERS[name].__doc__,
        input_schema=ORDERS[name].model_json_schema(),
        annotations=ToolAnnotations(
            read_only_hint=False, destructive_hint=False, idempotent_hint=True
        ),
    )
