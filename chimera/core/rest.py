"""Parts of the REST API shared by every app: exact JSON in and out, keyset pages."""

import json
import re
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from django.conf import settings
from django.core.exceptions import RequestDataTooBig, ValidationError
from django.db import DataError
from rest_framework.exceptions import NotFound, ParseError
from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.pagination import CursorPagination
from rest_framework.parsers import JSONParser
from rest_framework.renderers import JSONRenderer

from chimera.core import jsontext
from chimera.core.errors import ChimeraError

MAX_EXPONENT = 300


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        doubled = next(name for name, _ in pairs if sum(name == other for other, _ in pairs) > 1)
        raise ValueError(f"the name {doubled!r} stands twice in one object")
    return found


def _number(text: str) -> Decimal:
    value = Decimal(text)
    if value and abs(value.adjusted()) > MAX_EXPONENT:
        raise ValueError(f"the number {text[:40]} is out of range")
    return value


def _refuse(text: str) -> Any:
    raise ValueError(f"{text} is no JSON number")


class OnlyJSON(BaseContentNegotiation):
    """Every answer is JSON, whatever the Accept header asks for."""

    def select_parser(self, request: Any, parsers: Any) -> Any:
        media_type = request.content_type.partition(";")[0].strip().lower()
        return next((each for each in parsers if each.media_type == media_type), None)

    def select_renderer(self, request: Any, renderers: Any, format_suffix: Any = None) -> Any:
        return renderers[0], renderers[0].media_type


class ExactJSONParser(JSONParser):
    """JSON whose numbers are read from the text, never through a float; duplicate keys are refused."""

    def parse(
        self,
        stream: Any,
        media_type: str | None = None,
        parser_context: Mapping[str, Any] | None = None,
    ) -> Any:
        limit = settings.DATA_UPLOAD_MAX_MEMORY_SIZE
        raw = stream.read(limit + 1)
        if len(raw) > limit:
            raise RequestDataTooBig
        try:
            body = strict(raw.decode("utf-8"))
        except UnicodeDecodeError:
            raise ParseError("The body is not UTF-8") from None
        except ValueError as problem:
            raise ParseError(f"The body is not valid JSON: {problem}") from None
        _refuse_unstorable(body)
        return body


def strict(text: str) -> Any:
    """Parse JSON of a caller: exact numbers, 64 levels, no name twice. ValueError."""
    jsontext.refuse_deep(text)
    return json.loads(text, parse_float=_number, parse_constant=_refuse, object_pairs_hook=_unique)


def _refuse_unstorable(body: Any) -> None:
    where = jsontext.unstorable(body)
    if where is not None:
        raise ChimeraError("INVALID_INPUT", jsontext.NO_TEXT, errors={where: [jsontext.NO_TEXT]})


class ExactJSONRenderer(JSONRenderer):
    """JSON with exact numbers."""

    charset = None

    def render(
        self, data: Any, accepted_media_type: str | None = None, renderer_context: Any = None
    ) -> bytes:
        return b"" if data is None else jsontext.dumps(data).encode()


class KeysetPagination(CursorPagination):
    """`{"results", "next", "previous"}`, newest first; `limit` 50, at most 200."""

    ordering = "-id"
    page_size = 50
    page_size_query_param = "limit"
    max_page_size = 200

    def get_page_size(self, request: Any) -> int:
        """INVALID_INPUT for a `limit` that is no integer from 1 to 200."""
        limit = request.query_params.get(self.page_size_query_param, str(self.page_size))
        if not re.fullmatch("[0-9]{1,3}", limit) or not 1 <= int(limit) <= self.max_page_size:
            message = f"Give an integer from 1 to {self.max_page_size}"
            raise ChimeraError("INVALID_INPUT", message, errors={"limit": [message]})
        return int(limit)

    def paginate_queryset(self, queryset: Any, request: Any, view: Any = None) -> Any:
        """INVALID_INPUT for a cursor that no page of this list has given out."""
        try:
            return super().paginate_queryset(queryset, request, view)
        except (NotFound, ValidationError, ValueError, DataError):
            if self.cursor_query_param not in request.query_params:
                raise
            message = "Take the cursor from the next or previous link of a page"
            raise ChimeraError("INVALID_INPUT", message, errors={"cursor": [message]}) from None

    def get_paginated_response_schema(self, schema: dict[str, Any]) -> dict[str, Any]:
        link = {"type": ["string", "null"], "format": "uri"}
        return {
            "type": "object",
            "required": ["results", "next", "previous"],
            "properties": {"next": link, "previous": link, "results": schema},
        }
