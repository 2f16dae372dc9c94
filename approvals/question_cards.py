"""The card of a workflow's question: what the workflow shows with it, laid out for reading."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from approvals.models import ApprovalRequest, Kind

MOST_PARTS = 200
DEEPEST = 5
WORDS = {True: "yes", False: "no", None: "nothing", "": "empty"}


@dataclass(frozen=True)
class Part:
    """One thing that is shown: a label with a text, or with parts of its own."""

    label: str
    text: str = ""
    parts: list["Part"] = field(default_factory=list)


@dataclass(frozen=True)
class Question:
    """The card; `cut` says that there is more than a page should hold."""

    workflow: str
    run_id: str
    parts: list[Part]
    cut: bool


def question(request: ApprovalRequest) -> Question | None:
    """The card of a question; none for a post or a payment."""
    if request.kind != Kind.QUESTION:
        return None
    action = request.action
    budget = [MOST_PARTS]
    parts = _parts(action.get("shown") or {}, 0, budget)
    return Question(
        workflow=str(request.context.get("workflow", "")),
        run_id=str(action.get("run_id", "")),
        parts=parts,
        cut=budget[0] < 0,
    )


def texts(value: Any) -> Iterator[str]:
    """Every text inside a value, names included."""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield str(name)
            yield from texts(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from texts(inner)
    else:
        yield str(value)


def _parts(value: dict[str, Any] | list[Any], depth: int, budget: list[int]) -> list[Part]:
    named = (
        [(_label(name), inner) for name, inner in value.items()]
        if isinstance(value, dict)
        else [(f"{number}.", inner) for number, inner in enumerate(value, 1)]
    )
    made = []
    for label, inner in named:
        budget[0] -= 1
        if budget[0] < 0:
            break
        made.append(_part(label, inner, depth, budget))
    return made


def _part(label: str, value: Any, depth: int, budget: list[int]) -> Part:
    if not isinstance(value, dict | list):
        plain_word = value is None or isinstance(value, bool) or value == ""
        return Part(label, WORDS[value] if plain_word else str(value))
    if not value:
        return Part(label, WORDS[None])
    if depth >= DEEPEST:
        budget[0] = -1
        return Part(label, "see the raw action below")
    line = _line(value)
    if line:
        return Part(label, line)
    return Part(label, parts=_parts(value, depth + 1, budget))


def _line(value: dict[str, Any] | list[Any]) -> str:
    """A list of short words on one line; empty where it needs more."""
    short = isinstance(value, list) and all(isinstance(one, str | int | float) for one in value)
    words = ", ".join(WORDS[one] if isinstance(one, bool) else str(one) for one in value)
    return words if short and len(words) <= 120 else ""


def _label(name: str) -> str:
    words = str(name).replace("_", " ").strip()
    return words[:1].upper() + words[1:]
