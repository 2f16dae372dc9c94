"""JMESPath over exact numbers: what an expression picks keeps every digit, what it computes is a float."""

from decimal import Decimal
from functools import lru_cache
from typing import Any

import jmespath
from jmespath.exceptions import JMESPathError

from chimera.core.errors import ChimeraError
from chimera.core.jsontext import plain


class _Number(float):
    """A float for comparing and sorting that still knows the number it stands for."""

    exact: Decimal


_Number.__name__ = "float"  # by this name the functions of JMESPath know a number


@lru_cache(maxsize=1000)
def compiled(text: str) -> Any:
    """The expression, ready to search; JMESPathError where it is none."""
    return jmespath.compile(text)


def find(text: str, seen: dict[str, Any]) -> Any:
    """What the expression finds in JSON values; INVALID_INPUT where it cannot be evaluated."""
    try:
        return plain(_exact(compiled(text).search(_loose(plain(seen)))))
    except (JMESPathError, ValueError, ArithmeticError) as problem:
        message = f"{text}: {str(problem).splitlines()[0]}"
        raise ChimeraError("INVALID_INPUT", message) from None


def _loose(value: Any) -> Any:
    match value:
        case Decimal():
            number = _Number(value)
            number.exact = value
            return number
        case dict():
            return {name: _loose(inner) for name, inner in value.items()}
        case list():
            return [_loose(inner) for inner in value]
    return value


def _exact(value: Any) -> Any:
    match value:
        case _Number():
            return value.exact
        case dict():
            return {name: _exact(inner) for name, inner in value.items()}
        case list():
            return [_exact(inner) for inner in value]
    return value
