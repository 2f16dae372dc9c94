"""The OAuth2 token endpoint, with a rate limit of its own."""

from typing import Any

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.utils.decorators import method_decorator
from django.views.decorators.csrf import csrf_exempt
from oauth2_provider.views import TokenView as OAuthTokenView

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
