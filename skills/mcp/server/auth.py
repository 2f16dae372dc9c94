"""Who calls: the bearer token of each request, looked up as REST does, so a revoked one ends at once."""

from functools import partial
from typing import Any

from django.conf import settings
from mcp.server.auth.provider import AccessToken
from pydantic import ConfigDict

from agents.auth import AgentPrincipal, principal_of
from chimera.core import ratelimit
from skills.mcp.server.threads import in_thread


class CallerToken(AccessToken):
    """An access token and the agent behind it."""

    model_config = ConfigDict(arbitrary_types_allowed=True)
    principal: AgentPrincipal


class Verifier:
    """The SDK's question: whose token is this?"""

    async def verify_token(self, token: str) -> CallerToken | None:
        """The token with its agent; None for one that is unknown, expired, or of a disabled agent."""
        principal = await in_thread(partial(principal_of, token))
        if principal is None:
            return None
        agent_id, scopes = str(principal.pk), sorted(principal.scopes)
        return CallerToken(
            token=token, client_id=agent_id, subject=agent_id, scopes=scopes, principal=principal
        )


def caller(ctx: Any) -> AgentPrincipal:
    """The agent whose token came with this very request."""
    token = ctx.request.user.access_token
    assert isinstance(token, CallerToken)  # nothing gets here without one
    return token.principal


async def reader(ctx: Any) -> AgentPrincipal:
    """The caller, whose read counts with those over REST. RATE_LIMITED."""
    who = caller(ctx)
    limit = settings.CHIMERA.chimera_read_rate_limit
    await in_thread(partial(ratelimit.hit, f"read:{who.pk}", limit))
    return who
