"""RFC 9457 problem documents: the one place where an error becomes an HTTP answer."""

import logging
from typing import Any

from django.core.exceptions import PermissionDenied, RequestDataTooBig
from django.http import Http404, HttpRequest, HttpResponse
from rest_framework import exceptions
from rest_framework.response import Response

from chimera.core import jsontext
from chimera.core.errors import ChimeraError

log = logging.getLogger("chimera.problem")
CONTENT_TYPE = "application/problem+json"


def document(error: ChimeraError, *, instance: str = "", **extra: Any) -> dict[str, Any]:
    """The problem document of an error: type, title, status, detail, instance, code, retryable."""
    body: dict[str, Any] = {
        "type": f"urn:chimera:error:{error.code.lower()}",
        "title": error.spec.title,
        "status": error.http_status,
        "detail": _detail(error),
        "instance": instance,
        "code": error.code,
        "retryable": error.retryable,
    }
    optional = {"details": error.details, "errors": error.errors, "output": error.output, **extra}
    return body | {key: value for key, value in optional.items() if value}


def _detail(error: ChimeraError) -> str:
    """The message; where it says no more than the title, the first field and what is wrong with it."""
    if error.message != error.spec.title or not error.errors:
        return error.message
    field, messages = next(iter(error.errors.items()))
    return f"{field}: {messages[0]}" if field else messages[0]


def headers(error: ChimeraError) -> dict[str, str]:
    """Headers that go with an error: Retry-After, WWW-Authenticate."""
    found = {}
    if error.code == "RATE_LIMITED":
        found["Retry-After"] = str(int(error.backoff_sec or 1))
    if error.code == "UNAUTHENTICATED":
        found["WWW-Authenticate"] = 'Bearer realm="chimera"'
    return found


def from_exception(problem: Exception) -> ChimeraError:
    """Whatever went wrong, as an error of the table."""
    match problem:
        case ChimeraError():
            return problem
        case exceptions.NotAuthenticated() | exceptions.AuthenticationFailed():
            return ChimeraError("UNAUTHENTICATED", str(problem.detail))
        case exceptions.PermissionDenied() | PermissionDenied():
            return ChimeraError("FORBIDDEN", str(problem) or "")
        case exceptions.NotFound() | Http404():
            return ChimeraError("NOT_FOUND")
        case exceptions.MethodNotAllowed():
            return ChimeraError("METHOD_NOT_ALLOWED", str(problem.detail))
        case exceptions.UnsupportedMediaType():
            return ChimeraError("UNSUPPORTED_MEDIA_TYPE", str(problem.detail))
        case RequestDataTooBig():
            return ChimeraError("PAYLOAD_TOO_LARGE", "The body may have at most 2 MiB")
        case exceptions.ParseError():
            return ChimeraError("MALFORMED_JSON", str(problem.detail))
        case exceptions.ValidationError():
            return ChimeraError("INVALID_INPUT", errors=_fields(problem.detail))
    log.error("unexpected error", exc_info=problem)
    return ChimeraError("INTERNAL_ERROR")


def _fields(detail: Any) -> dict[str, list[str]]:
    if isinstance(detail, dict):
        return {str(key): [str(item) for item in value] for key, value in detail.items()}
    return {"": [str(item) for item in detail]}


def exception_handler(problem: Exception, context: dict[str, Any]) -> Response:
    """DRF's exception handler."""
    error = from_exception(problem)
    request = context.get("request")
    body = document(error, instance=request.path if request else "")
    return Response(
        body, status=error.http_status, headers=headers(error), content_type=CONTENT_TYPE
    )


def http_response(error: ChimeraError, request: HttpRequest, **extra: Any) -> HttpResponse:
    """A problem document outside DRF."""
    text = jsontext.dumps(document(error, instance=request.path, **extra))
    return HttpResponse(
        text, status=error.http_status, headers=headers(error), content_type=CONTENT_TYPE
    )
