"""OAuth2 bearer token -> agent: used by REST and MCP alike."""

import hashlib
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from uuid import UUID

from django.conf import settings
from django.utils import timezone
from drf_spectacular.extensions import OpenApiAuthenticationExtension
from oauth2_provider.models import AccessToken
from rest_framework.authentication import BaseAuthentication, get_authorization_header
from rest_framework.exceptions import AuthenticationFailed, NotAuthenticated
from rest_framework.permissions import BasePermission
from rest_framework.request import Request

from agents.models import Agent, HeardHour
from agents.roles import SCOPES
from chimera.core import ratelimit
from chimera.core.actors import act_as
from chimera.core.errors import ChimeraError

_HEARTBEAT_EVERY = timedelta(seconds=60)


@dataclass(frozen=True)
class AgentPrincipal:
    """The caller of the API: an agent and the scopes of its token."""

    agent: Agent
    scopes: frozenset[str]
    is_authenticated: bool = True

    @property
    def pk(self) -> UUID:
        return self.agent.pk

    def allows(self, scope: str) -> bool:
        """True when the token carries the scope (skills:* carries every skills:<name>)."""
        return scope in self.scopes or (scope.startswith("skills:") and "skills:*" in self.scopes)


def principal_of(token: str) -> AgentPrincipal | None:
    """The agent behind an access token, or None when it is unknown, expired or of a disabled agent."""
    found = (
        AccessToken.objects.select_related("application__credential__agent__persona")
        .filter(
            token_checksum=hashlib.sha256(token.encode()).hexdigest(), expires__gt=timezone.now()
        )
        .first()
    )
    credential = getattr(found and found.application, "credential", None)
    if found is None or credential is None or not credential.agent.enabled:
        return None
    _heartbeat(credential.agent)
    return AgentPrincipal(credential.agent, frozenset(found.scope.split()))


def _heartbeat(agent: Agent) -> None:
    moment = timezone.now()
    hour = moment.replace(minute=0, second=0, microsecond=0)
    if moment - agent.last_heartbeat < _HEARTBEAT_EVERY and agent.last_heartbeat >= hour:
        return
    Agent.objects.filter(pk=agent.pk).update(last_heartbeat=moment)
    HeardHour.objects.bulk_create([HeardHour(agent=agent, hour=hour)], ignore_conflicts=True)
    agent.last_heartbeat = moment


class AgentAuthentication(BaseAuthentication):
    """`Authorization: Bearer <token>`; everything else is 401."""

    def authenticate(self, request: Request) -> tuple[AgentPrincipal, str]:
        kind, _, token = get_authorization_header(request).decode("latin-1").partition(" ")
        if kind.lower() != "bearer" or not token:
            raise NotAuthenticated("Send an access token: Authorization: Bearer <token>")
        principal = principal_of(token)
        if principal is None:
            raise AuthenticationFailed(
                "The access token is unknown, expired or revoked; get a new one at /oauth/token/"
            )
        act_as(principal.agent.actor)
        if request.method in ("GET", "HEAD"):
            ratelimit.hit(f"read:{principal.pk}", settings.CHIMERA.chimera_read_rate_limit)
        return principal, token

    def authenticate_header(self, request: Request) -> str:
        return 'Bearer realm="chimera"'


class TokenInOpenAPI(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]  # its hook has no types
    """How the OpenAPI document describes the access token."""

    target_class = "agents.auth.AgentAuthentication"
    name = "agent"

    def get_security_definition(self, auto_schema: Any) -> dict[str, Any]:
        flow = {"tokenUrl": "/oauth/token/", "scopes": SCOPES}
        return {"type": "oauth2", "flows": {"clientCredentials": flow}}


class HasScope(BasePermission):
    """The token must carry the scope that the view names for the method in `scopes`."""

    def has_permission(self, request: Request, view: Any) -> bool:
        if not isinstance(request.user, AgentPrincipal):
            raise NotAuthenticated("Send an access token: Authorization: Bearer <token>")
        scope = getattr(view, "scopes", {}).get(request.method)
        if scope and not request.user.allows(scope):
            raise ChimeraError("FORBIDDEN", f"The access token lacks the scope {scope}")
        return True


def agent_of(request: Request) -> Agent:
    """The calling agent of an authenticated API request."""
    principal = request.user
    assert isinstance(principal, AgentPrincipal)  # HasScope ran before every view
    return principal.agent


def writer_of(request: Request) -> Agent:
    """The calling agent of a request that changes something; RATE_LIMITED when it does so too often."""
    agent = agent_of(request)
    count_write(agent)
    return agent


def count_write(agent: Agent) -> None:
    """Count a change that is no call of a skill. RATE_LIMITED."""
    ratelimit.hit(f"write:{agent.id}", settings.CHIMERA.chimera_rate_limit)
