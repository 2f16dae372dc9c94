"""What stands before the SDK: which host was asked for, how large and how well formed the body is.

The body is read as REST reads one: at most 2 MiB, at most 64 levels, exact numbers, no name twice.
The arguments of a call stay aside as they were read (`arguments_of`); the SDK, which would make
floats of them, sees none.
"""

from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.http.request import split_domain_port, validate_host
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp_types import INVALID_REQUEST, PARSE_ERROR
from rest_framework.exceptions import APIException
from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from chimera.core import jsontext, problem
from chimera.core.errors import ChimeraError
from chimera.core.rest import strict

HEALTH = "/healthz"
_ASIDE = "chimera.arguments"
_ARGUMENTS = "params.arguments"


class HostGuard:
    """421 for a Host, 403 for an Origin, that is none of this deployment's names."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        refusal = _foreign(scope) if scope["type"] == "http" else None
        await (refusal or self.app)(scope, receive, send)


def _foreign(scope: Scope) -> Response | None:
    headers = Headers(scope=scope)
    if scope["path"] != HEALTH and not _is_ours(headers.get("host", "")):
        return PlainTextResponse("This host name is not in CHIMERA_HOSTS", status_code=421)
    origin = headers.get("origin")
    if origin and not _is_ours(urlsplit(origin).netloc):
        return PlainTextResponse("This origin is not in CHIMERA_HOSTS", status_code=403)
    return None


def _is_ours(host: str) -> bool:
    name, _ = split_domain_port(host)
    return bool(name) and validate_host(name, settings.ALLOWED_HOSTS)


class BodyGuard:
    """Reads the body of an authenticated POST, or answers with what is wrong with it."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        mine = scope["type"] == "http" and scope["method"] == "POST"
        if not mine or not isinstance(scope.get("user"), AuthenticatedUser):
            await self.app(scope, receive, send)
            return
        try:
            body = _parsed(await _read(receive))
        except (ChimeraError, APIException) as refusal:
            await _problem(problem.from_exception(refusal))(scope, receive, send)
            return
        scope[_ASIDE] = _without_arguments(body)
        await self.app(scope, _replayed(jsontext.dumps(body).encode(), receive), send)


async def _read(receive: Receive) -> bytes:
    read, more = bytearray(), True
    while more:
        message = await receive()
        read += message.get("body", b"")
        more = message["type"] == "http.request" and message.get("more_body", False)
        if len(read) > settings.DATA_UPLOAD_MAX_MEMORY_SIZE:
            raise ChimeraError("PAYLOAD_TOO_LARGE", "The body may have at most 2 MiB")
    return bytes(read)


def _parsed(raw: bytes) -> Any:
    try:
        body = strict(raw.decode())
    except ValueError as wrong:
        raise ChimeraError("MALFORMED_JSON", f"The body is not valid JSON: {wrong}") from None
    where = jsontext.unstorable(body)
    if where is not None and not f"{where}.".startswith(f"{_ARGUMENTS}."):
        raise ChimeraError("INVALID_INPUT", jsontext.NO_TEXT, errors={where: [jsontext.NO_TEXT]})
    return body


def _without_arguments(body: Any) -> Any:
    """The arguments of a tool call, taken out of its body; None where it has none."""
    params = body.get("params") if isinstance(body, dict) else None
    if not isinstance(params, dict) or body.get("method") != "tools/call":
        return None
    given = params.get("arguments")
    if isinstance(given, dict):
        params["arguments"] = {}
    return given


def _replayed(body: bytes, receive: Receive) -> Receive:
    waiting: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def replay() -> Message:
        return waiting.pop() if waiting else await receive()

    return replay


def _problem(error: ChimeraError) -> Response:
    """The error of a request that could not be read, in the words of both JSON-RPC and REST."""
    code = PARSE_ERROR if error.code == "MALFORMED_JSON" else INVALID_REQUEST
    told = {"code": code, "message": error.message, "data": problem.document(error)}
    text = jsontext.dumps({"jsonrpc": "2.0", "id": None, "error": told})
    return Response(text, status_code=error.http_status, media_type="application/json")


def arguments_of(ctx: Any) -> Any:
    """The arguments of this tool call with exact numbers; {} where it came without."""
    found = ctx.request.scope.get(_ASIDE)
    return {} if found is None else found
