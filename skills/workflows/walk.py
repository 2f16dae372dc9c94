"""One walk over a definition with what has been recorded so far: begins what can begin now.

A walk is repeated from the start every time something has happened, rounds included. What is recorded
is not done again; everything else follows from the records, so a walk after a crash is the same walk.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any, Literal
from uuid import UUID, uuid5

from chimera.core.clock import iso, moment_of, now
from chimera.core.errors import ChimeraError
from chimera.core.jsontext import dumps, plain
from skills.workflows.definition import Step
from skills.workflows.expressions import NAMES, find
from skills.workflows.models import StepRecord

State = StepRecord.State
OPEN = (State.RUNNING, State.BLOCKED)
MOST_TOLD = 1000
Kind = Literal["done", "waiting", "failed"]


@dataclass(frozen=True)
class Outcome:
    """How far a step is. blocked: it waits for a person; due: when it is to be looked at again.

    back: the name of the step with which the list goes on.
    """

    kind: Kind
    output: Any = None
    error: dict[str, Any] | None = None
    blocked: bool = False
    due: datetime | None = None
    back: str = ""


@dataclass(frozen=True)
class Scope:
    """What expressions see. key: a UUID of this step and this attempt of it alone.

    rounds: `steps` as it was each time this list went back; told: step -> why it runs again;
    gone: how often the step in hand has gone back.
    """

    input: Any
    previous: Any
    steps: dict[str, Any]
    run: dict[str, Any]
    item: Any = None
    index: int | None = None
    key: str = ""
    rounds: list[dict[str, Any]] = field(default_factory=list)
    told: dict[str, list[str]] = field(default_factory=dict)
    gone: int = 0

    def find(self, expression: str) -> Any:
        """The value of an expression; INVALID_INPUT where it cannot be evaluated."""
        return find(expression, {name: getattr(self, name) for name in NAMES})

    def input_of(self, step: Step) -> Any:
        """The input of a skill call: mapping, or literal over previous output, or previous output."""
        if step.mapping is not None:
            return {name: self.find(text) for name, text in step.mapping.items()}
        base = self.item if step.for_each else self.previous
        if step.input is None:
            return base
        return (base if isinstance(base, dict) else {}) | step.input


@dataclass
class Actions:
    """What a walk may do to the world: all of it rows in the open transaction."""

    call: Callable[[Step, Any, StepRecord, UUID | None, tuple[str, ...]], None]
    look: Callable[[StepRecord, Step], None]
    ask: Callable[[Step, dict[str, Any], StepRecord], None]


@dataclass
class Walk:
    """A walk of one run. records: path -> newest record."""

    records: dict[str, StepRecord]
    begin: Callable[..., StepRecord]
    actions: Actions
    named: dict[str, Any] = field(default_factory=dict)
    approvals: dict[str, StepRecord] = field(default_factory=dict)

    def sequence(self, steps: Sequence[Step], prefix: str, scope: Scope) -> Outcome:
        """The steps in their order, some of them again where one goes back; the output of the last."""
        scope = replace(scope, rounds=[])
        names = [step.name for step in steps]
        given: dict[int, Any] = {}  # what came before each step, for when it runs again
        gone: Counter[int] = Counter()
        at = 0
        while at < len(steps):
            given[at] = scope.previous
            number = f"{at}~{len(scope.rounds)}" if scope.rounds else str(at)
            outcome = self.step(steps[at], f"{prefix}{number}", replace(scope, gone=gone[at]))
            if outcome.kind != "done":
                return outcome
            scope = replace(scope, previous=outcome.output, steps=self.named)
            gone[at] += bool(outcome.back)
            at = names.index(outcome.back) if outcome.back else at + 1
            if outcome.back:
                scope = _back(scope, outcome, given[at])
        return Outcome("done", scope.previous)

    def step(self, step: Step, path: str, scope: Scope) -> Outcome:
        """One step, as far as it goes."""
        try:
            outcome = self._step(step, path, scope)
        except ChimeraError as problem:
            return self._fail(step, path, problem)
        if outcome.kind == "done" and step.name:
            skipped = path in self.records and self.records[path].state == State.SKIPPED
            self.named = self.named | {step.name: None if skipped else outcome.output}
        return outcome

    def _step(self, step: Step, path: str, scope: Scope) -> Outcome:
        record = self.records.get(path)
        if record and record.state == State.FAILED:
            return _failed(record)
        if record is None and step.when and not scope.find(step.when):
            record = self._ended(step, path, state=State.SKIPPED)
        if record and record.state == State.SKIPPED:
            self.approvals.pop(step.name or "", None)  # an earlier turn's is not this one's
            return Outcome("done", scope.previous)
        if step.for_each:
            return self._each(step, path, scope)
        if step.branches:
            return self._side_by_side(step.branches, path, scope)
        if step.go_back:
            return self._go_back(step, path, scope, record)
        return self._leaf(step, path, scope, record)

    def _go_back(self, step: Step, path: str, scope: Scope, record: StepRecord | None) -> Outcome:
        """Where to, once and for all; a way back that is not taken is a skipped step."""
        way = step.go_back
        assert way  # asked by the caller
        if record is None:
            here = [name for name, when in way.to.items() if scope.find(when)]
            if not here or scope.gone >= way.at_most:
                self._ended(step, path, state=State.SKIPPED)
                return Outcome("done", scope.previous)
            found = {"to": here[0], "why": _text(scope.find(way.why)) if way.why else ""}
            record = self._ended(step, path, state=State.SUCCEEDED, output=found)
        return Outcome("done", record.output, back=record.output["to"])

    def _side_by_side(self, branches: dict[str, list[Step]], path: str, scope: Scope) -> Outcome:
        """A branch sees what was named before them all and in itself, however far the others are."""
        outside, inside, outcomes = self.named, dict(self.named), {}
        for name, body in sorted(branches.items()):
            self.named = outside
            outcomes[name] = self.sequence(body, f"{path}.{name}.", scope)
            inside |= self.named
        self.named = inside
        return _joined(list(outcomes.values()), outcomes)

    def _each(self, step: Step, path: str, scope: Scope) -> Outcome:
        items = scope.find(step.for_each or "")
        if not isinstance(items, list):
            raise ChimeraError("INVALID_INPUT", f"for_each of {step.label} gives no list")
        if len(items) > step.max_items:
            message = f"{step.label} has {len(items)} items, at most {step.max_items} are allowed"
            raise ChimeraError("INVALID_INPUT", message)
        outside, outcomes = self.named, []
        for index, item in enumerate(items):
            self.named = outside  # names of a body are seen inside their own turn alone
            turn = replace(scope, item=item, index=index, previous=item)
            if step.steps:
                outcomes.append(self.sequence(step.steps, f"{path}.{index}.", turn))
            else:
                outcomes.append(self._item(step, f"{path}.{index}", turn))
        self.named = outside
        return _joined(outcomes)

    def _item(self, step: Step, path: str, turn: Scope) -> Outcome:
        """One turn of a repeated skill; what is wrong with it fails it alone, the others go on."""
        try:
            return self._leaf(step, path, turn, self.records.get(path))
        except ChimeraError as problem:
            return self._fail(step, path, problem)

    def _leaf(self, step: Step, path: str, scope: Scope, record: StepRecord | None) -> Outcome:
        if record is None:
            record = self._begun(step, path, scope)
        if record.state in OPEN:
            record = self._look(step, record, scope)
        if record.state == State.FAILED:
            return _failed(record)
        if step.approval and step.name:
            self.approvals[step.name] = record
        if record.state == State.SUCCEEDED:
            return Outcome("done", record.output)
        return Outcome("waiting", blocked=record.state == State.BLOCKED, due=record.due_at)

    def _ended(self, step: Step, path: str, **values: Any) -> StepRecord:
        moment = now()
        return self._note(step, path, started_at=moment, completed_at=moment, **values)

    def _note(self, step: Step, path: str, **values: Any) -> StepRecord:
        record = self.begin(step, path, **values)
        record.keep()
        return record

    def _begun(self, step: Step, path: str, scope: Scope) -> StepRecord:
        record = self.begin(step, path, due_at=_limit(step))
        if step.skill_name:
            self._call(step, record, scope)
        elif step.approval:
            fields = {name: scope.find(text) for name, text in step.approval.mapping.items()}
            self.actions.ask(step, fields, record)
        else:
            record.due_at = _moment(step, scope)
            record.output = scope.previous
            record.keep("due_at", "output")
        return record

    def _call(self, step: Step, record: StepRecord, scope: Scope) -> None:
        asked = self.approvals.get(step.approved_by or "")
        key = str(uuid5(UUID(scope.run["id"]), f"{record.path}/{record.attempt}"))
        data = replace(scope, key=key).input_of(step)
        again = tuple(scope.told.get(step.name or "", ()))
        self.actions.call(step, data, record, asked.approval_id if asked else None, again)

    def _look(self, step: Step, record: StepRecord, scope: Scope) -> StepRecord:
        if step.skill_name and record.execution_id is None:  # the wait before another attempt
            if record.due_at and record.due_at <= now():
                record.due_at = _limit(step)
                self._call(step, record, scope)
        elif step.skill_name or step.approval:
            self.actions.look(record, step)
        elif record.due_at and record.due_at <= now():
            record.state, record.completed_at = State.SUCCEEDED, now()
            record.keep("state", "completed_at")
        if record.state == State.FAILED and step.retry and record.attempt <= step.retry.times:
            again = now() + timedelta(seconds=step.retry.wait_sec)
            return self._look(step, self._note(step, record.path, due_at=again), scope)
        return record

    def _fail(self, step: Step, path: str, problem: ChimeraError) -> Outcome:
        record = self.records.get(path) or self.begin(step, path)
        record.state, record.error = State.FAILED, plain(problem.as_dict())
        record.completed_at = now()
        record.keep("state", "error", "completed_at")
        return _failed(record)


def _failed(record: StepRecord) -> Outcome:
    """The run's error is the step's, and its details say which step that is."""
    error = record.error or {}
    where = {"step": record.path, "name": record.label}
    return Outcome("failed", error=error | {"details": error.get("details", {}) | where})


def _back(scope: Scope, taken: Outcome, previous: Any) -> Scope:
    """What the step that runs again sees: as the first time, and the rounds so far."""
    why, told = taken.output["why"], dict(scope.told)
    if why:
        told[taken.back] = [*told.get(taken.back, []), why]
    return replace(scope, previous=previous, rounds=[*scope.rounds, scope.steps], told=told)


def _text(value: Any) -> str:
    text = value if isinstance(value, str) else dumps(value)
    return text[:MOST_TOLD]


def _joined(outcomes: list[Outcome], named: dict[str, Outcome] | None = None) -> Outcome:
    """Side by side: waits for all, then fails with the first failure or gives all outputs."""
    waiting = [one for one in outcomes if one.kind == "waiting"]
    if waiting:
        dues = [one.due for one in waiting if one.due]
        blocked = all(one.blocked for one in waiting)
        return Outcome("waiting", blocked=blocked, due=min(dues, default=None))
    lost = next((one for one in outcomes if one.kind == "failed"), None)
    if lost:
        return lost
    if named is not None:
        return Outcome("done", {name: one.output for name, one in named.items()})
    return Outcome("done", [one.output for one in outcomes])


def _limit(step: Step) -> datetime | None:
    return now() + timedelta(seconds=step.timeout_sec) if step.timeout_sec else None


def _moment(step: Step, scope: Scope) -> datetime:
    if step.wait_seconds is not None:
        return now() + timedelta(seconds=step.wait_seconds)
    found = scope.find(step.wait_until or "")
    try:
        return moment_of(found)
    except ValueError as problem:
        raise ChimeraError("INVALID_INPUT", f"wait_until of {step.label}: {problem}") from None


def scope_of(run: Any) -> Scope:
    """What the first step of a run sees."""
    facts = {"id": str(run.id), "started_at": iso(run.created_at)}
    return Scope(input=run.input, previous=run.input, steps={}, run=facts)
