"""Every skill that the caller may use, as a tool; a call goes the way every call goes."""

from dataclasses import dataclass
from functools import partial
from typing import Any

from mcp_types import (
    CallToolRequestParams,
    CallToolResult,
    ListToolsResult,
    PaginatedRequestParams,
    Tool,
    ToolAnnotations,
)

from agents.auth import AgentPrincipal
from chimera.core import problem, tracing
from chimera.core.actors import acting
from chimera.core.errors import ChimeraError
from skills import services
from skills.catalogue import is_deprecated, is_gone, registry
from skills.contract import RiskLevel, Skill
from skills.mcp.server import approving
from skills.mcp.server.advice import KEY, approval_of
from skills.mcp.server.answers import answer_of, refusal_of
from skills.mcp.server.auth import caller, reader
from skills.mcp.server.failures import as_protocol_error
from skills.mcp.server.gate import arguments_of
from skills.mcp.server.threads import in_thread
from skills.mcp.server.waiting import LONGEST_WAIT, settled
from skills.presenters import skill_dict

WAIT = "chimera/wait"


@as_protocol_error
async def list_tools(ctx: Any, params: PaginatedRequestParams | None) -> ListToolsResult:
    """The tools of this caller: what its role and the scopes of its token allow."""
    who = await reader(ctx)
    tools = [_tool(each) for each in registry.all() if _offered(each, who)]
    return ListToolsResult(tools=tools + ([approving.tool()] if approving.offered(who) else []))


def _offered(skill: Skill, who: AgentPrincipal) -> bool:
    allowed = who.agent.type in skill.roles and who.allows(f"skills:{skill.name}")
    return allowed and not is_deprecated(skill) and not is_gone(skill)


def _tool(skill: Skill) -> Tool:
    shown, metadata = skill_dict(skill), skill.metadata
    signed = " A person must approve each call." if skill.requires_approval else ""
    return Tool(
        name=skill.name,
        title=skill.name.replace("_", " ").capitalize(),
        description=f"{shown['description']}{signed} {approval_of(skill)}".strip(),
        input_schema=shown["input_schema"],
        output_schema=shown["output_schema"],
        annotations=ToolAnnotations(
            read_only_hint=not metadata.side_effects,
            destructive_hint=metadata.side_effects and metadata.risk_level is RiskLevel.HIGH,
            idempotent_hint=metadata.idempotent,
            open_world_hint=bool(metadata.capabilities & {"NET", "CHAIN", "LLM", "MCP"}),
        ),
        _meta={"version": metadata.version, "error_codes": shown["error_codes"]},
    )


@dataclass(frozen=True)
class _Call:
    """A call as it came: tool, arguments with exact numbers, and its `_meta`."""

    tool: str
    arguments: dict[str, Any]
    meta: dict[str, Any]

    @property
    def key(self) -> str | None:
        """The idempotency key. INVALID_INPUT for one that is no text."""
        given = self.meta.get(KEY)
        if given is None or isinstance(given, str):
            return given
        raise _wrong(KEY, "must be a text of 1 to 200 printable characters")

    @property
    def wait(self) -> float:
        """Seconds to wait for the end. INVALID_INPUT."""
        given = self.meta.get(WAIT, LONGEST_WAIT)
        if type(given) in (int, float) and given >= 0:
            return float(min(given, LONGEST_WAIT))
        raise _wrong(WAIT, f"must be a number of seconds, at least 0; {LONGEST_WAIT} is the most")


def _wrong(name: str, text: str) -> ChimeraError:
    return ChimeraError("INVALID_INPUT", f"{name} {text}", errors={name: [text]})


async def call_tool(ctx: Any, params: CallToolRequestParams) -> CallToolResult:
    """Submit the call, wait a while, and answer with the output or with what to do next."""
    who = caller(ctx)
    call = _Call(params.name, arguments_of(ctx), dict(ctx.meta or {}))
    with acting(who.agent.actor), tracing.span("tools/call", "server", _parent(ctx, call)) as step:
        try:
            if call.tool == approving.NAME:
                return await approving.ask(ctx, call.arguments)
            wait = call.wait
            submitted = await in_thread(partial(_submit, who, call))
            execution = await settled(ctx, submitted.execution, wait)
            return answer_of(execution, replayed=submitted.replayed)
        except Exception as wrong:  # noqa: BLE001  logged there, and answered as REST answers it
            error = problem.from_exception(wrong)
            step.error = error.code
            return refusal_of(error, call.tool, step.place.trace_id)


def _submit(who: AgentPrincipal, call: _Call) -> services.Submitted:
    return services.submit(
        agent=who.agent,
        skill_name=call.tool,
        data=call.arguments,
        scopes=who.scopes,
        idempotency_key=call.key,
    )


def _parent(ctx: Any, call: _Call) -> tracing.Place | None:
    """The caller's place in its trace: that of the message, else that of the HTTP request."""
    given = call.meta.get("traceparent") or ctx.request.headers.get("traceparent", "")
    return tracing.parse(str(given))
