"""Call one tool of an MCP server that only reads; it must still be the tool that was accepted.

A tool that may change something (its annotations do not say readOnlyHint) is refused: such a call needs
a person's approval, and an approval names an effect that the platform knows how to look up.
"""

from typing import Any

from asgiref.sync import sync_to_async
from pydantic import BaseModel, ConfigDict, Field

from chimera.core.errors import ChimeraError
from chimera.core.jsontext import dumps, unstorable
from skills.contract import CostClass, RiskLevel, Skill, SkillContext, SkillMetadata, SkillResult
from skills.mcp.client import MCPClient
from skills.mcp.pins import tool_check

CALL_TIMEOUT = 15.0
MOST_CHARACTERS = 1_000_000


class Input(BaseModel):
    """Which tool, and what it is given."""

    model_config = ConfigDict(extra="forbid")
    tool: str = Field(pattern=r"^[A-Za-z0-9_./-]{1,128}$", description="Name of the tool")
    arguments: dict[str, Any] = Field({}, description="What the tool's own schema asks for")
    server: str | None = Field(
        None,
        pattern=r"^[A-Za-z0-9_.-]{1,64}$",
        description="Server by its name in mcp.json; without it the first one that has the tool",
    )


class Output(BaseModel):
    """What the tool gave."""

    server: str
    tool: str
    result: dict[str, Any] = Field(description="The tool's structured result")


class MCPSkill(Skill):
    """`MCPSkill(tool="weather")` is bound to one tool; ctx.params are then its arguments."""

    input_model = Input
    output_model = Output
    metadata = SkillMetadata(
        risk_level=RiskLevel.MEDIUM,
        cost_class=CostClass.NORMAL,
        side_effects=False,
        idempotent=True,
        capabilities=frozenset({"NET", "MCP", "DB"}),
        timeout_sec=30,
    )
    error_codes = (
        "NOT_FOUND",
        "SECURITY_VIOLATION",
        "NETWORK_ERROR",
        "TIMEOUT",
        "PLATFORM_UNAVAILABLE",
        "RATE_LIMITED",
        "VALIDATION_FAILED",
        "RESOURCE_UNAVAILABLE",
    )

    def __init__(self, tool: str = "", server: str | None = None) -> None:
        self.tool, self.server = tool, server

    async def execute(self, ctx: SkillContext[Any]) -> SkillResult:
        if ctx.mcp is None and ctx.execution_id:
            raise ChimeraError("RESOURCE_UNAVAILABLE", "MCP Client not configured")
        if ctx.mcp is None:
            raise RuntimeError("MCP Client not configured")
        wanted = self._wanted(ctx.params)
        server, listing = await _find(ctx.mcp, wanted, ctx)
        await sync_to_async(tool_check)(server=server, listing=listing)
        _refuse_effects(server, listing)
        result = await ctx.mcp.only(server).call_tool(
            wanted.tool, wanted.arguments, timeout_sec=ctx.seconds_left(CALL_TIMEOUT)
        )
        _check_result(result)
        output = Output(server=server, tool=wanted.tool, result=result)
        return SkillResult(output=output, output_text=f"{wanted.tool} of {server} answered")

    def _wanted(self, params: Any) -> Input:
        if isinstance(params, Input):
            return params
        return Input(
            tool=self.tool,
            server=self.server,
            arguments=params.model_dump() if isinstance(params, BaseModel) else dict(params or {}),
        )


async def _find(
    mcp: MCPClient, wanted: Input, ctx: SkillContext[Any]
) -> tuple[str, dict[str, Any]]:
    """(server, the tool as the server lists it) of the first server that has it. NOT_FOUND."""
    for server in [wanted.server] if wanted.server else mcp.servers_for(wanted.tool):
        tools = await mcp.only(server).list_tools(timeout_sec=ctx.seconds_left(CALL_TIMEOUT))
        for tool in tools:
            if tool["name"] == wanted.tool:
                return server, {key: value for key, value in tool.items() if key != "server"}
    raise ChimeraError("NOT_FOUND", f"No MCP server offers the tool {wanted.tool}")


def _refuse_effects(server: str, listing: dict[str, Any]) -> None:
    hints = listing["annotations"]
    if hints.get("read_only_hint") is not True or hints.get("destructive_hint") is True:
        raise ChimeraError(
            "SECURITY_VIOLATION",
            f"The tool {listing['name']} of {server} does not say that it only reads; "
            "a tool with effects needs a person's approval and is not called",
        )


def _check_result(result: dict[str, Any]) -> None:
    where = unstorable(result)
    if where is not None:
        raise ChimeraError("VALIDATION_FAILED", f"The tool gave text that cannot be kept: {where}")
    if len(dumps(result)) > MOST_CHARACTERS:
        raise ChimeraError(
            "VALIDATION_FAILED", f"The tool gave more than {MOST_CHARACTERS} characters"
        )
