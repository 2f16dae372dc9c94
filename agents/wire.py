"""The building blocks of every contract: the base model and the types of its fields.

A `WireModel` refuses unknown fields, keeps its text in Unicode NFC and leaves optional fields
that are not set out of its output. Numbers are JSON numbers (a numeric string is refused), times
need a time zone and are kept in UTC.
"""

from decimal import Decimal
from typing import Annotated, Any
from urllib.parse import urlsplit

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    WithJsonSchema,
    field_validator,
)

from chimera.core.clock import Moment
from chimera.core.digest import nfc
from chimera.core.jsontext import UNSTORABLE


def _clean(value: Any) -> Any:
    """NFC for every string inside; what neither JSON nor a database can carry is refused."""
    if isinstance(value, str):
        if UNSTORABLE.search(value):
            raise ValueError("contains a NUL or half a surrogate pair; remove it")
        return nfc(value)
    if isinstance(value, list):
        return [_clean(item) for item in value]
    return value


class WireModel(BaseModel):
    """Base of every contract: unknown fields refused, text in NFC."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)

    @field_validator("*", mode="before")
    @classmethod
    def _normalise(cls, value: Any) -> Any:
        return _clean(value)


def optional(description: str, **limits: Any) -> Any:
    """A field that may be missing, and then is missing from the output too."""
    return Field(default=None, description=description, exclude_if=_is_none, **limits)


def _is_none(value: Any) -> bool:
    return value is None


def whole(value: Any) -> Any:
    """An integer of JSON: 5 and 5.0, never "5" or true."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if isinstance(value, Decimal | float) and value == value // 1:
        return int(value)
    raise ValueError("give a JSON integer")


def number(value: Any) -> float:
    """A JSON number, never a numeric string or a boolean."""
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        raise ValueError("give a JSON number")
    return float(value)


def _uri(value: str) -> str:
    parts = urlsplit(value)
    if parts.scheme not in ("http", "https") or not parts.hostname or any(map(str.isspace, value)):
        raise ValueError("give an absolute http or https address without spaces")
    return value


Count = Annotated[int, Field(ge=0), BeforeValidator(whole)]
Version = Annotated[int, Field(ge=1), BeforeValidator(whole)]
Number = Annotated[float, Field(ge=0), BeforeValidator(number)]
Share = Annotated[float, Field(ge=0, le=1), BeforeValidator(number)]
Percent = Annotated[float, Field(ge=0, le=100), BeforeValidator(number)]
Timestamp = Moment
Uri = Annotated[
    str,
    Field(max_length=2048),
    AfterValidator(_uri),
    WithJsonSchema({"type": "string", "format": "uri", "maxLength": 2048}),
]
Word = Annotated[str, Field(min_length=1)]
