"""The one tool that is no skill: asking a person for an approval, as POST /api/v1/approvals/ does."""

from functools import partial
from typing import Any

from mcp_types import CallToolResult, TextContent, Tool, ToolAnnotations

from agents.auth import AgentPrincipal, count_write
from approvals.api import as_dict
from approvals.requests import BODY, open_request, parse_body
from approvals.schemas import ApprovalOut
from approvals.services import token_of
from chimera.core.errors import ChimeraError
from chimera.core.jsontext import dumps
from chimera.core.schema import schema_of
from skills.mcp.server.answers import wire
from skills.mcp.server.auth import caller
from skills.mcp.server.threads import in_thread

NAME, SCOPE = "request_approval", "approvals:request"
_DESCRIPTION = """Ask a person to approve exactly one action, such as one post of a stored, validated
content package. Nothing happens until then. Asking again for the same action gives the same request.
Afterwards read chimera://approvals/{id} until it is decided; approved, it holds the approval_token
for the tool that carries the action out. Payments need no request: debit_wallet asks by itself."""


def offered(who: AgentPrincipal) -> bool:
    """Whether the token allows to ask."""
    return who.allows(SCOPE)


def tool() -> Tool:
    """How the tool is listed."""
    return Tool(
        name=NAME,
        title="Request approval",
        description=_DESCRIPTION,
        input_schema={"type": "object", **schema_of(BODY)},
        output_schema=schema_of(ApprovalOut),
        annotations=ToolAnnotations(
            read_only_hint=False,
            destructive_hint=False,
            idempotent_hint=True,
            open_world_hint=False,
        ),
    )


async def ask(ctx: Any, arguments: dict[str, Any]) -> CallToolResult:
    """Open the request, or find it open. The errors are those of REST."""
    who = caller(ctx)
    if not offered(who):
        raise ChimeraError("FORBIDDEN", f"The access token lacks the scope {SCOPE}")
    asked = await in_thread(partial(_open, who, arguments))
    text = TextContent(text=dumps(asked))
    return CallToolResult(content=[text], structured_content=wire(asked))


def _open(who: AgentPrincipal, arguments: dict[str, Any]) -> dict[str, Any]:
    count_write(who.agent)
    request, _ = open_request(who.agent, parse_body(arguments))
    return as_dict(request, token_of(request))
