"""What a workflow is: data, checked when it is stored. YAML or JSON.

A step is one of: a skill call, an approval, a wait, parallel branches, or a body of steps for each
item of a list, or a way back to an earlier step. Expressions are JMESPath over
`{input, previous, steps: {name: output}, rounds, item, index, run: {id, started_at}}`.
"""

from collections.abc import Iterator, Sequence
from typing import Annotated, Any, Literal

import yaml
from jmespath.exceptions import JMESPathError
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, model_validator

from chimera.core.errors import ChimeraError
from chimera.core.jsontext import NO_TEXT, dumps, loads, unstorable
from chimera.core.schema import field_errors
from skills.workflows.expressions import compiled, said
from skills.workflows.schedule import Schedule

MAX_STEPS = 100
MAX_PATH = 120
"""Characters of a step's position; it bounds how deep branches and lists may be nested."""
MAX_VALUES = 20_000
MAX_ROUNDS = 20
"""How often one list of steps may go back in all."""


def _compiles(text: str) -> str:
    try:
        compiled(text)
    except JMESPathError as problem:
        raise ValueError(f"is not JMESPath: {said(problem)}") from None
    except RecursionError:
        raise ValueError("goes too deep") from None
    return text


Expression = Annotated[str, Field(min_length=1, max_length=1000), AfterValidator(_compiles)]
Name = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,49}$")]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid")


class StepRetry(_Part):
    """Whole new executions of a step that has failed, beside the skill's own attempts."""

    times: int = Field(ge=1, le=10, description="Further executions")
    wait_sec: float = Field(5, ge=0, le=86400, description="Seconds before each")


class Approval(_Part):
    """What a person is asked: an action that a later step carries out, or a question."""

    action: Literal["publish_content"] | None = Field(
        None, description="Ask for this action; its fields come from `mapping`"
    )
    question: str | None = Field(None, min_length=3, max_length=300, description="Ask this")
    mapping: dict[str, Expression] = Field(
        default_factory=dict, description="Fields of the action, or what the person is shown"
    )

    @model_validator(mode="after")
    def _one(self) -> "Approval":
        if (self.action is None) == (self.question is None):
            raise ValueError("give either action or question")
        return self


class GoBack(_Part):
    """A way back to an earlier step of the same list; from there on everything is done again."""

    to: dict[Name, Expression] = Field(
        min_length=1,
        max_length=10,
        description="Earlier step -> when to go back there; of several the earliest",
    )
    at_most: int = Field(ge=1, le=10, description="Times; after them the run goes on")
    why: Expression | None = Field(None, description="What the skill that runs again is told")


class Step(_Part):
    """One step; exactly one of skill_name, approval, wait, branches, steps and go_back."""

    name: Name | None = Field(None, description="Under which later steps find its output")
    skill_name: str | None = Field(None, max_length=80, description="Skill, with @v1.0 or without")
    input: dict[str, Any] | None = Field(
        None, description="Merged over the previous output, which alone is the input without it"
    )
    mapping: dict[str, Expression] | None = Field(
        None, description="Field of the input -> expression; replaces previous output and `input`"
    )
    approved_by: Name | None = Field(
        None, description="Name of the approval step whose token this call uses"
    )
    approval: Approval | None = Field(None, description="Wait for a person")
    wait_seconds: float | None = Field(None, ge=0, le=31_536_000, description="Wait this long")
    wait_until: Expression | None = Field(None, description="Wait until this moment (ISO 8601)")
    branches: dict[Name, list["Step"]] | None = Field(
        None, min_length=1, max_length=10, description="Run side by side; output: branch -> output"
    )
    steps: list["Step"] | None = Field(None, min_length=1, description="Body of a for_each")
    go_back: GoBack | None = Field(None, description="Do earlier steps again")
    for_each: Expression | None = Field(None, description="Once per item of this list")
    max_items: int = Field(20, ge=1, le=100, description="Items beyond it are an error")
    when: Expression | None = Field(None, description="Skipped where this is false or empty")
    retry: StepRetry | None = Field(None, description="New executions after a failure")
    timeout_sec: float | None = Field(None, gt=0, le=2_592_000, description="Fail after this long")

    @model_validator(mode="after")
    def _one_kind(self) -> "Step":
        given = [kind for kind in KINDS if getattr(self, kind) is not None]
        if len(given) != 1:
            raise ValueError(f"give exactly one of {', '.join(KINDS)}")
        if self.steps is not None and self.for_each is None:
            raise ValueError("steps is the body of a for_each; name the list there")
        if self.for_each and self.steps is None and self.skill_name is None:
            raise ValueError("for_each repeats a skill or a body of steps")
        if (self.input or self.mapping or self.approved_by or self.retry) and not self.skill_name:
            raise ValueError("input, mapping, approved_by and retry belong to a skill")
        if self.timeout_sec and not self.skill_name and not self.approval:
            raise ValueError("timeout_sec belongs to a skill or an approval")
        return self

    @property
    def label(self) -> str:
        """What a person reads in a list of steps."""
        kind = next(kind for kind in KINDS if getattr(self, kind) is not None)
        return self.name or self.skill_name or _LABELS.get(kind, kind)

    @property
    def reach(self) -> int:
        """Characters of the longest position inside this step, its own number aside."""
        turn = len("99.") if self.for_each else 0
        inside = [(len(name) + 1, body) for name, body in (self.branches or {}).items()]
        bodies = [*inside, (turn, self.steps)] if self.steps else inside
        return max([at + reach_of(body) for at, body in bodies], default=turn)

    def bodies(self) -> Iterator[tuple[str, list["Step"]]]:
        """(where in this step, list of steps) of the lists inside it."""
        for name, body in (self.branches or {}).items():
            yield f"branches.{name}", body
        if self.steps:
            yield "steps", self.steps


KINDS = (
    "skill_name",
    "approval",
    "wait_seconds",
    "wait_until",
    "branches",
    "steps",
    "go_back",
)
_LABELS = {
    "wait_seconds": "wait",
    "wait_until": "wait",
    "steps": "for each",
    "go_back": "go back",
}


def places(steps: Sequence[Step], under: str = "steps") -> Iterator[tuple[str, Step]]:
    """(place in the definition, step) of every step, those inside others included."""
    for number, step in enumerate(steps):
        at = f"{under}.{number}"
        yield at, step
        for where, body in step.bodies():
            yield from places(body, f"{at}.{where}")


def reach_of(body: Sequence[Step]) -> int:
    """Characters of the longest position in a list of steps."""
    number = len("99~99.") if any(step.go_back for step in body) else len("99.")
    return number + max(step.reach for step in body)


class Definition(_Part):
    """A workflow: name, version and ordered steps."""

    name: str = Field(pattern=r"^[a-z][a-z0-9_-]{1,63}$", description="Unique with the version")
    version: int = Field(1, ge=1, le=1_000_000, description="Rises with every change")
    description: str = Field("", max_length=500, description="What it is for")
    steps: list[Step] = Field(min_length=1, max_length=MAX_STEPS)
    schedule: Schedule | None = None

    @model_validator(mode="after")
    def _fits_together(self) -> "Definition":
        steps = list(self.all_steps())
        if len(steps) > MAX_STEPS:
            raise ValueError(f"a workflow has at most {MAX_STEPS} steps, this one {len(steps)}")
        if reach_of(self.steps) > MAX_PATH:
            raise ValueError("branches and lists are nested too deep, or their names are too long")
        names = [step.name for step in steps if step.name]
        twice = {name for name in names if names.count(name) > 1}
        if twice:
            raise ValueError(f"names must be unique, not twice {', '.join(sorted(twice))}")
        asked = {step.name for step in steps if step.approval and step.approval.action}
        lost = {step.approved_by for step in steps if step.approved_by} - asked
        if lost:
            raise ValueError(f"approved_by names no approval step: {', '.join(map(str, lost))}")
        for body in [self.steps, *(body for step in steps for _, body in step.bodies())]:
            _check_ways_back(body)
        return self

    def step_at(self, path: str) -> Step:
        """The step whose record has this position: numbers, branch names and item numbers by dots.

        What follows a `~` is the round and says nothing about the step.
        """
        first, *rest = [part.partition("~")[0] for part in path.split(".")]
        step = self.steps[int(first)]
        while len(rest) > 1:
            body = step.branches[rest[0]] if step.branches else step.steps
            assert body  # the path is one of this definition's
            step, rest = body[int(rest[1])], rest[2:]
        return step

    def all_steps(self) -> Iterator[Step]:
        """Every step, those inside others included."""
        return (step for _, step in places(self.steps))


def _check_ways_back(body: list[Step]) -> None:
    """ValueError where a way back of this list leads nowhere, does not end, or uses a signature twice.

    Puts the targets into the order of the list: of several the earliest is taken.
    """
    rounds = 0
    for at, step in enumerate(body):
        if way := step.go_back:
            earlier = [one.name for one in body[:at]]
            lost = set(way.to) - set(earlier)
            if lost:
                names = ", ".join(sorted(lost))
                raise ValueError(f"go_back: {names} is no earlier step of the same list")
            way.to = {name: way.to[name] for name in earlier if name in way.to}
            first = next(iter(way.to))
            _check_signatures(first, body[earlier.index(first) : at])
            rounds += way.at_most
    if rounds > MAX_ROUNDS:
        raise ValueError(f"go_back: a list goes back at most {MAX_ROUNDS} times, this one {rounds}")


def _check_signatures(name: str, again: list[Step]) -> None:
    steps = [step for _, step in places(again)]
    asked = {step.name for step in steps if step.approval}
    for step in steps:
        if step.approved_by and step.approved_by not in asked:
            raise ValueError(
                f"go_back: {name} comes after {step.approved_by}, whose signature "
                f"{step.label} uses; a signature is for one call, go back before it"
            )


class _Loader(yaml.SafeLoader):
    """YAML without merge keys: a few lines of them are endlessly many values before any is counted."""

    def flatten_mapping(self, node: yaml.MappingNode) -> None:
        if any(key.tag == "tag:yaml.org,2002:merge" for key, _ in node.value):
            raise yaml.constructor.ConstructorError(None, None, "a merge key (<<) is not taken")
        super().flatten_mapping(node)


def _read(text: str) -> Any:
    """The JSON values of a YAML text; INVALID_INPUT where it is none or holds others."""
    try:
        data = _Loader(text).get_single_data()
        _refuse_large(data)
        return loads(dumps(data))  # a date is a text, as in JSON
    except Exception as problem:  # noqa: BLE001  PyYAML raises anything for a value unlike its tag
        why = " ".join(str(problem).split())[:300]
        message = f"The definition cannot be read: {why}"
        raise ChimeraError("INVALID_INPUT", message, errors={"": [message]}) from None


def _refuse_large(data: Any) -> None:
    """ValueError for what a few aliases of YAML can stand for: endlessly many values."""
    left, seen = [data], 0
    while left:
        value, seen = left.pop(), seen + 1
        if seen > MAX_VALUES:
            raise ValueError(f"it holds more than {MAX_VALUES} values")
        left += value.values() if isinstance(value, dict) else []
        left += value if isinstance(value, list) else []


def parse(data: Any) -> Definition:
    """The definition in a dict or in YAML or JSON text; INVALID_INPUT names each wrong field."""
    if isinstance(data, str):
        data = _read(data)
    where = unstorable(data)
    if where is not None:
        raise ChimeraError("INVALID_INPUT", NO_TEXT, errors={where: [NO_TEXT]})
    try:
        return Definition.model_validate(data)
    except ValidationError as problem:
        raise ChimeraError("INVALID_INPUT", errors=field_errors(problem)) from None
