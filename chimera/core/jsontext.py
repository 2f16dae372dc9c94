"""JSON in and out with exact numbers: money never passes through a float.

`Decimal` is written as a JSON number with its exact digits and numbers with a fraction are read
back as `Decimal`. `ExactEncoder` and `ExactDecoder` plug into Django's JSONField.
"""

import json
import re
from datetime import date, datetime
from decimal import Decimal
from enum import Enum
from typing import Any
from uuid import UUID

import simplejson
from pydantic import BaseModel
from pydantic_core import Url

from chimera.core.clock import iso

# What no database takes: NUL and half a surrogate pair.
UNSTORABLE = re.compile("[\0\ud800-\udfff]")
NO_TEXT = "Holds a NUL or half a surrogate pair; leave such characters out"
MAX_DEPTH = 64
_STRING_OR_BRACKET = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"?|[\[{]|[\]}]', re.DOTALL)


def _default(value: Any) -> Any:
    if isinstance(value, datetime):
        return iso(value)
    if isinstance(value, BaseModel):
        return value.model_dump()
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, UUID | date | Url):
        return str(value)
    if isinstance(value, set | frozenset):
        return sorted(value)
    raise TypeError(f"{type(value).__name__} is not JSON-serialisable")


def dumps(value: Any) -> str:
    """Compact JSON text; Decimals as numbers with exact digits, NaN refused."""
    text: str = simplejson.dumps(
        value,
        use_decimal=True,
        default=_default,
        allow_nan=False,
        ensure_ascii=False,
        separators=(",", ":"),
        iterable_as_array=False,
        namedtuple_as_object=False,
    )
    return text


def _refuse(text: str) -> Any:
    raise ValueError(f"{text} is not valid JSON")


def refuse_deep(text: str) -> None:
    """ValueError for JSON nested deeper than 64 levels.

    Asked before the parser runs: how deep that may recurse is up to the recursion limit of the
    process, which libraries raise.
    """
    depth = 0
    for token in _STRING_OR_BRACKET.finditer(text):
        sign = text[token.start()]
        depth += (sign in "[{") - (sign in "]}")
        if depth > MAX_DEPTH:
            raise ValueError(f"nested deeper than {MAX_DEPTH} levels")


def loads(text: str | bytes) -> Any:
    """Parse JSON; numbers with a fraction or an exponent become Decimal.

    ValueError for NaN and for what is nested deeper than 64 levels.
    """
    if isinstance(text, bytes):
        text = text.decode(json.detect_encoding(text))
    refuse_deep(text)
    return _parse(text)


def _parse(text: str) -> Any:
    return json.loads(text, parse_float=Decimal, parse_constant=_refuse)


def unstorable(value: Any, path: str = "") -> str | None:
    """The path of a text that no database takes (NUL, half a surrogate pair), None when all are fine."""
    if isinstance(value, str):
        return path if UNSTORABLE.search(value) else None
    if isinstance(value, dict):
        if any(unstorable(key) is not None for key in value):
            return path
        parts = list(value.items())
    elif isinstance(value, list | tuple):
        parts = list(enumerate(value))
    else:
        return None
    below = (unstorable(item, f"{path}.{part}" if path else str(part)) for part, item in parts)
    return next((found for found in below if found is not None), None)


def plain(value: Any) -> Any:
    """The value as it looks after a trip through JSON: dicts, lists, strings, exact numbers."""
    return _parse(dumps(value))


class ExactEncoder(json.JSONEncoder):
    """For `JSONField(encoder=...)`: writes what `dumps` writes."""

    def encode(self, o: Any) -> str:
        return dumps(o)


class ExactDecoder(json.JSONDecoder):
    """For `JSONField(decoder=...)`: reads what `loads` reads."""

    def __init__(self, **options: Any) -> None:
        super().__init__(parse_float=Decimal, **options)
