"""Requests in, replies out: JSON bodies, problem documents (RFC 9457), one way to refuse."""

import json
from http import HTTPStatus
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse

MAX_BODY = 1_000_000


class Refused(Exception):
    """The request is refused; rendered as a problem document."""

    def __init__(self, status: int, detail: str) -> None:
        self.status = status
        self.detail = detail
        super().__init__(detail)


def problem(status: int, title: str, detail: str) -> JSONResponse:
    body = {"type": "about:blank", "title": title, "status": status, "detail": detail}
    return JSONResponse(body, status, media_type="application/problem+json")


async def refusal(request: Request, error: Exception) -> JSONResponse:
    """Exception handler for Refused."""
    assert isinstance(error, Refused)
    return problem(error.status, HTTPStatus(error.status).phrase, error.detail)


async def read_object(request: Request) -> dict[str, Any]:
    """The JSON object in the body; a form posted by a browser is not one."""
    if request.headers.get("content-type", "").partition(";")[0] != "application/json":
        raise Refused(415, "send the body as application/json")
    data = bytearray()
    async for chunk in request.stream():
        data += chunk
        if len(data) > MAX_BODY:
            raise Refused(413, f"the body is larger than {MAX_BODY} bytes")
    try:
        body = json.loads(data)
    except ValueError:
        raise Refused(400, "the body is not valid JSON") from None
    if not isinstance(body, dict):
        raise Refused(400, "the body must be a JSON object")
    return body


def text_field(body: dict[str, Any], name: str, *, limit: int, least: int = 1) -> str:
    """A text of the body, within its length and encodable as UTF-8."""
    value = body.get(name)
    if not isinstance(value, str) or not least <= len(value) <= limit:
        raise Refused(400, f"{name} must be a text of {least} to {limit} characters")
    if any("\ud800" <= character <= "\udfff" for character in value):
        raise Refused(400, f"{name} holds half a surrogate pair; send valid Unicode")
    return value
