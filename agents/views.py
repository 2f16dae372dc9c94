"""The OAuth2 token endpoint, with a rate limit of its own, and the metadata that leads to it."""

from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.utils.decorators import method_decorator
from django.views.decorators.csrf import csrf_exempt
from oauth2_provider.views import TokenView as OAuthTokenView

from agents.roles import SCOPES
from chimera.core import ratelimit
from chimera.core.errors import ChimeraError

LIMIT = 120


@method_decorator(csrf_exempt, name="dispatch")
class TokenView(OAuthTokenView):  # type: ignore[misc]  # the package has no types
    """POST /oauth/token/: client credentials, HTTP Basic or body."""

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        try:
            ratelimit.hit(f"token:{request.META.get('REMOTE_ADDR')}", LIMIT)
        except ChimeraError as problem:
            body = {"error": "temporarily_unavailable", "error_description": problem.message}
            return JsonResponse(
                body, status=429, headers={"Retry-After": str(int(problem.backoff_sec or 1))}
            )
        answer: HttpResponse = super().dispatch(request, *args, **kwargs)
        return answer


def metadata_view(request: HttpRequest) -> HttpResponse:
    """GET /.well-known/oauth-authorization-server (RFC 8414)"""
    issuer = settings.CHIMERA.chimera_web_url
    return JsonResponse(
        {
            "issuer": issuer,
            "token_endpoint": f"{issuer}/oauth/token/",
            "grant_types_supported": ["client_credentials"],
            "response_types_supported": [],
            "scopes_supported": sorted(SCOPES),
            "token_endpoint_auth_methods_supported": ["client_secret_basic", "client_secret_post"],
        }
    )
