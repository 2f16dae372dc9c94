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
        input_schema=input_schema(),
        output_schema=schema_of(ApprovalOut),
        annotations=ToolAnnotations(
            read_only_hint=False,
            destructive_hint=False,
            idempotent_hint=True,
            open_world_hint=False,
        ),
    )


def input_schema() -> dict[str, Any]:
    """The bodies of all actions as one flat object; each field says for which action it is.

    Model APIs refuse a tool whose schema has oneOf, anyOf or allOf at the top. A field has no default
    either: a client that fills one in would send it for the other actions too.
    """
    bodies = schema_of(BODY)["oneOf"]
    actions = [body["properties"]["action"]["const"] for body in bodies]
    told = {"type": "string", "enum": actions, "description": "What is asked for"}
    fields: dict[str, Any] = {"action": told}
    for action, body in zip(actions, bodies, strict=True):
        for name, found in body["properties"].items():
            if name == "action":
                continue
            field = {key: value for key, value in found.items() if key != "default"}
            need = "needed" if name in body["required"] else "optional"
            told = {"description": f"{field['description']} ({need} for {action} alone)"}
            fields[name] = field | told
    return {
        "type": "object",
        "properties": fields,
        "required": ["action"],
        "additionalProperties": False,
    }


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
