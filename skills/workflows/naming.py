"""What the expressions of a definition name and nothing there bears: a typo would be empty, not an error."""

from collections.abc import Iterator
from itertools import takewhile
from typing import Any

from jmespath.functions import Functions

from skills.workflows.definition import Definition, Step, places
from skills.workflows.expressions import NAMES, compiled

_EVERY_PART = frozenset(
    {
        *("comparator", "and_expression", "or_expression", "not_expression"),
        *("multi_select_list", "multi_select_dict", "key_val_pair", "function_expression"),
    }
)
"""Kinds of which every part sees what the whole sees; of the others only the first part does."""


def problems(definition: Definition) -> dict[str, list[str]]:
    """Place of an expression -> what is wrong with what it names."""
    known = {step.name for step in definition.all_steps()}
    told = {
        place: [*_lost_functions(compiled(text).parsed), *_lost_names(text, known)]
        for at, step in places(definition.steps)
        for place, text in _expressions(step, at)
    }
    return {place: list(dict.fromkeys(said)) for place, said in told.items() if said}


def _expressions(step: Step, at: str) -> Iterator[tuple[str, str]]:
    ways = step.go_back
    one_each = {"for_each": step.for_each, "when": step.when, "wait_until": step.wait_until}
    by_name = {
        "mapping": step.mapping,
        "approval.mapping": step.approval and step.approval.mapping,
        "go_back.to": ways and ways.to,
        "go_back": ways and ways.why and {"why": ways.why},
    }
    for field, text in one_each.items():
        if text:
            yield f"{at}.{field}", text
    for field, texts in by_name.items():
        for name, text in (texts or {}).items():
            yield f"{at}.{field}.{name}", text


def _lost_functions(node: Any) -> Iterator[str]:
    if node["type"] == "function_expression" and node["value"] not in Functions.FUNCTION_TABLE:
        yield f"there is no function {node['value']}"
    for part in node["children"]:
        if isinstance(part, dict):
            yield from _lost_functions(part)


def _lost_names(text: str, known: set[str | None]) -> Iterator[str]:
    for first, *rest in _taken(compiled(text).parsed):
        if first not in NAMES:
            yield (
                f"{first} stands for nothing; begin with {', '.join(NAMES)}. "
                f"A text is written '{first}', a number `5`"
            )
        elif first == "steps" and rest and rest[0] not in known:
            yield f"no step is named {rest[0]}"


def _taken(node: Any) -> Iterator[list[str]]:
    """The names, with those below them, that a parsed expression takes from what it is given."""
    kind, parts = node["type"], node["children"]
    if kind == "field":
        yield [node["value"]]
    elif kind in _EVERY_PART:
        for part in parts:
            yield from _taken(part)
    elif kind == "subexpression" and parts[0]["type"] == "field":
        yield [part["value"] for part in takewhile(lambda part: part["type"] == "field", parts)]
    elif parts and kind != "expref":
        yield from _taken(parts[0])
