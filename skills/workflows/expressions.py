"""JMESPath over exact numbers: what an expression picks keeps every digit, what it computes is a float."""

from decimal import Decimal
from functools import lru_cache
from typing import Any

import jmespath
from jmespath.exceptions import JMESPathError
from jmespath.visitor import TreeInterpreter

from chimera.core.errors import ChimeraError
from chimera.core.jsontext import plain

NAMES = ("input", "previous", "steps", "run", "item", "index", "key", "rounds")
"""What an expression may begin with."""
MOST_WORK = 1_000_000
"""What one expression may take: a unit for each part it visits and for each value in what it builds."""
_CHARACTERS = 64
"""Of a text that count as one more value."""
DEEPEST = 100
"""How far the parts of an expression may lie inside each other; Python's own limit differs by process."""
_BUILDS = ("multi_select_list", "multi_select_dict", "function_expression")


class _Number(float):
    """A float for comparing and sorting that still knows the number it stands for."""

    exact: Decimal


_Number.__name__ = "float"  # by this name the functions of JMESPath know a number


class _Bounded(TreeInterpreter):  # type: ignore[misc]  # the package has no types
    """Ends an expression that doubles what it has again and again before it fills the memory."""

    left = MOST_WORK

    def visit(self, node: Any, *args: Any, **kwargs: Any) -> Any:
        self._spend(1)
        found = super().visit(node, *args, **kwargs)
        if node["type"] in _BUILDS:
            self._weigh(found)
        return found

    def _weigh(self, found: Any) -> None:
        inside = [found]
        while inside:
            value = inside.pop()
            self._spend(1 + (len(value) // _CHARACTERS if isinstance(value, str) else 0))
            inside += value.values() if isinstance(value, dict) else []
            inside += value if isinstance(value, list) else []

    def _spend(self, units: int) -> None:
        self.left -= units
        if self.left < 0:
            raise ValueError("makes too much of what it is given")


@lru_cache(maxsize=1000)
def compiled(text: str) -> Any:
    """The expression, ready to search; JMESPathError where it is none, RecursionError too deep."""
    if text.count("(") > DEEPEST:  # brackets leave no trace in what is parsed
        raise RecursionError
    found = jmespath.compile(text)
    layer, depth = [found.parsed], 0
    while layer:
        parts = [part for node in layer for part in node["children"]]
        layer, depth = [part for part in parts if isinstance(part, dict)], depth + 1
        if depth > DEEPEST:
            raise RecursionError
    return found


def find(text: str, seen: dict[str, Any]) -> Any:
    """What the expression finds in JSON values; INVALID_INPUT where it cannot be evaluated."""
    try:
        return plain(_exact(_Bounded().visit(compiled(text).parsed, _loose(plain(seen)))))
    except RecursionError:
        raise ChimeraError("INVALID_INPUT", f"{text}: goes too deep") from None
    except (JMESPathError, ValueError, ArithmeticError) as problem:
        message = f"{text}: {said(problem)}"
        raise ChimeraError("INVALID_INPUT", message) from None


def said(problem: Exception) -> str:
    """What jmespath says is wrong, on one line."""
    first = str(problem).splitlines()[0].removesuffix(":").removesuffix(", for expression")
    hint = "; a number is written with backticks: `5`" if "(NUMBER)" in first else ""
    return first + hint


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
