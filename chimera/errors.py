"""What a caller gets when no view answered: a problem document under /api/, a page elsewhere."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.defaults import page_not_found

from chimera.core import problem
from chimera.core.errors import ChimeraError


def _wants_json(request: HttpRequest) -> bool:
    return request.path.startswith(("/api/", "/oauth/", "/.well-known/"))


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    """404."""
    if _wants_json(request):
        return problem.http_response(
            ChimeraError("NOT_FOUND", f"Nothing is at {request.path}"), request
        )
    return page_not_found(request, exception)


def server_error(request: HttpRequest) -> HttpResponse:
    """500."""
    if _wants_json(request):
        return problem.http_response(ChimeraError("INTERNAL_ERROR"), request)
    return render(request, "500.html", status=500)
