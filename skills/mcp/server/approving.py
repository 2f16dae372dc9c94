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
from skills.mcp.server.advice import ASK, review_url
from skills.mcp.server.answers import wire
from skills.mcp.server.auth import caller
from skills.mcp.server.threads import in_thread

NAME, SCOPE = ASK, "approvals:request"
_DESCRIPTION = """Ask a person to approve exactly one action, such as one post of a stored, validated
content package. Nothing happens until then. Once it is signed, this very call returns the
approval_token for the tool that carries the action out; so does the resource
chimera://approvals/{id}. While it is open the call gives the same request; after a refusal it would
ask anew. Payments need no request: debit_wallet asks by itself."""


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
    texts = [TextContent(text=dumps(asked)), TextContent(text=_next_step(asked))]
    return CallToolResult(content=texts, structured_content=wire(asked))


def _next_step(asked: dict[str, Any]) -> str:
    if asked["approval_token"]:
        return (
            "It is signed: now call the tool that carries it out, with exactly what was approved."
        )
    return (
        f"Tell the user that it waits at {review_url(asked['id'])}. Repeat this very call once they have "
        "signed: it returns the approval_token. If it answers with another id, a person has refused "
        "this request or it has run out, and that call has asked anew: tell the user, and stop."
    )


def _open(who: AgentPrincipal, arguments: dict[str, Any]) -> dict[str, Any]:
    count_write(who.agent)
    request, _ = open_request(who.agent, parse_body(arguments))
    return as_dict(request, token_of(request))
