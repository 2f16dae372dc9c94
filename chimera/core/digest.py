"""SHA-256 over canonical JSON (RFC 8785): input hashes, action digests, audit entries."""

import hashlib
import unicodedata
from decimal import Decimal
from typing import Any

import rfc8785

from chimera.core.jsontext import plain

_SAFE_INTEGER = 2**53 - 1


def _canonical_value(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _canonical_value(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_canonical_value(item) for item in value]
    if isinstance(value, Decimal):
        return _canonical_number(value)
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) > _SAFE_INTEGER:
        return _canonical_number(Decimal(value))
    return value


def _canonical_number(value: Decimal) -> float | int | str:
    """A JSON number where a double holds the digits exactly, else their text.

    Equal numbers have one form, however they were written: databases write 1E+30 out in full.
    """
    if value == value.to_integral_value() and abs(value) <= _SAFE_INTEGER:
        return int(value)
    as_float = float(value)
    return as_float if Decimal(repr(as_float)) == value else _digits(value)


def _digits(value: Decimal) -> str:
    text = format(value, "f")
    return text.rstrip("0").rstrip(".") if "." in text else text


def canonical(value: Any) -> bytes:
    """RFC 8785 bytes of a JSON value (pydantic models, UUIDs and datetimes are converted)."""
    return rfc8785.dumps(_canonical_value(plain(value)))


def sha256_hex(data: bytes) -> str:
    """Lower-case hex SHA-256 of the bytes."""
    return hashlib.sha256(data).hexdigest()


def digest(value: Any) -> str:
    """Lower-case hex SHA-256 over the canonical JSON of the value."""
    return sha256_hex(canonical(value))


def nfc(text: str) -> str:
    """Unicode normal form C: the form in which text is shown, hashed and sent."""
    return unicodedata.normalize("NFC", text)
