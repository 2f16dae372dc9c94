"""Media tools of the tests: prepared answers over MCP, one after another, and a list of what was asked."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from mcp.server.lowlevel import Server
from mcp_types import CallToolRequestParams, CallToolResult, ListToolsResult, TextContent, Tool

from tests.helpers.mcp_server import serve

Json = dict[str, Any]


@dataclass
class Tools:
    """answers: one for each call, the last one for good: a result, or a function that gives or raises one."""

    url: str = ""
    answers: list[Json | Callable[[], Json]] = field(default_factory=list)
    calls: list[CallToolRequestParams] = field(default_factory=list)

    async def call(self, ctx: Any, params: CallToolRequestParams) -> CallToolResult:
        self.calls.append(params)
        given = self.answers[min(len(self.calls), len(self.answers)) - 1]
        answer = given() if callable(given) else given
        content = [TextContent(text="see the structured content")]
        return CallToolResult(content=content, structured_content=answer)


async def _list(ctx: Any, params: Any) -> ListToolsResult:
    anything = {"type": "object"}
    return ListToolsResult(
        tools=[Tool(name=name, input_schema=anything) for name in ("ideogram", "runwayml")]
    )


@contextmanager
def media_tools() -> Iterator[Tools]:
    """Running tools without an answer."""
    tools = Tools()
    server = Server("tools", on_call_tool=tools.call, on_list_tools=_list)
    with serve(server.streamable_http_app(stateless_http=True)) as url:
        tools.url = url
        yield tools
