"""What an agent may read: itself, its executions and approvals, and the content of the deployment."""

import re
from collections.abc import Callable
from functools import partial
from typing import Any
from uuid import UUID

from mcp_types import (
    ListResourcesResult,
    ListResourceTemplatesResult,
    PaginatedRequestParams,
    ReadResourceRequestParams,
    ReadResourceResult,
    Resource,
    ResourceTemplate,
    TextResourceContents,
)

from agents.auth import AgentPrincipal
from agents.models import Agent
from approvals.api import as_dict as approval_dict
from approvals.services import request_of, token_of
from chimera.core.errors import ChimeraError
from chimera.core.jsontext import dumps
from content.api import as_dict as content_dict
from content.services import content_get
from skills.mcp.server.auth import reader
from skills.mcp.server.failures import as_protocol_error
from skills.mcp.server.threads import in_thread
from skills.presenters import execution_dict
from skills.profiles import profile_of
from skills.services import execution_of

MIME = "application/json"
ME = "chimera://agents/me"
_URI = re.compile(
    r"chimera://(?P<kind>executions|content|approvals)/"
    r"(?P<id>[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12})"
)
_TEMPLATES = {
    "executions": "A call of a skill: its status, and its output or error once it has ended",
    "content": "A content package: its current text, the verdict on it, where it was published",
    "approvals": "A request for a person's approval: its status, and the approval token once approved",
}


def _profile(agent: Agent, _: None) -> dict[str, Any]:
    return profile_of(agent) | {"persona": agent.persona.as_dict()}


def _execution(agent: Agent, found_id: UUID) -> dict[str, Any]:
    return execution_dict(execution_of(agent, found_id))


def _content(_: Agent, found_id: UUID) -> dict[str, Any]:
    return content_dict(content_get(found_id))


def _approval(agent: Agent, found_id: UUID) -> dict[str, Any]:
    found = request_of(agent, found_id)
    return approval_dict(found, token_of(found))


_READERS: dict[str, Callable[[Agent, Any], dict[str, Any]]] = {
    "agents": _profile,
    "executions": _execution,
    "content": _content,
    "approvals": _approval,
}


@as_protocol_error
async def list_resources(ctx: Any, params: PaginatedRequestParams | None) -> ListResourcesResult:
    """What there is without an id: the caller's own profile."""
    await reader(ctx)
    text = "Your own profile with persona, wallet and balance"
    me = Resource(uri=ME, name="me", title="Own profile", description=text, mime_type=MIME)
    return ListResourcesResult(resources=[me])


@as_protocol_error
async def list_templates(
    ctx: Any, params: PaginatedRequestParams | None
) -> ListResourceTemplatesResult:
    """What there is by id."""
    await reader(ctx)
    return ListResourceTemplatesResult(
        resource_templates=[
            ResourceTemplate(
                uri_template=f"chimera://{kind}/{{id}}",
                name=kind,
                description=text,
                mime_type=MIME,
            )
            for kind, text in _TEMPLATES.items()
        ]
    )


@as_protocol_error
async def read_resource(ctx: Any, params: ReadResourceRequestParams) -> ReadResourceResult:
    """One document as REST shows it. NOT_FOUND, FORBIDDEN, RATE_LIMITED."""
    who = await reader(ctx)
    uri = str(params.uri)
    text = await in_thread(partial(_text, who, uri))
    return ReadResourceResult(contents=[TextResourceContents(uri=uri, mime_type=MIME, text=text)])


def _text(who: AgentPrincipal, uri: str) -> str:
    kind, found_id = _parsed(uri)
    scope = f"{kind}:read"
    if not who.allows(scope):
        raise ChimeraError("FORBIDDEN", f"The access token lacks the scope {scope}")
    return dumps(_READERS[kind](who.agent, found_id))


def _parsed(uri: str) -> tuple[str, UUID | None]:
    """(kind, id) of a URI; no id stands in that of the caller's own profile."""
    if uri == ME:
        return "agents", None
    parts = _URI.fullmatch(uri)
    if parts is None:
        offered = ", ".join([ME, *(f"chimera://{kind}/{{id}}" for kind in _TEMPLATES)])
        raise ChimeraError("NOT_FOUND", f"No resource {uri[:200]}; there are {offered}")
    return parts["kind"], UUID(parts["id"])
