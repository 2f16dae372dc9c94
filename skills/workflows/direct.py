"""Workflows in Python: ordered skills, run here and now, one record a step.

`Workflow("name", steps=[Step("echo", {...}), Step("normalize_handle")]).run()` needs no database; a
skill that needs a caller, a token or a client is run through the API or as a durable workflow.
"""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from asgiref.sync import async_to_sync
from pydantic import ValidationError

from chimera.core.clock import now
from chimera.core.jsontext import plain
from skills.catalogue import registry
from skills.contract import Skill, SkillContext
from skills.mcp.client import MCPClient
from skills.workflows.definition import Step as MappedStep
from skills.workflows.walk import Scope


@dataclass
class Step:
    """A skill and its input: None takes the output before, a dict is merged over it."""

    skill_name: str
    input: dict[str, Any] | None = None
    mapping: dict[str, str] | None = None


@dataclass
class Record:
    """The run record of a step. status: succeeded or failed."""

    skill_name: str
    status: str
    output: Any
    error: str | None
    completed_at: datetime


@dataclass
class Workflow:
    """Ordered steps; halts at the first that fails."""

    name: str
    steps: list[Step] = field(default_factory=list)
    mcp: MCPClient | None = None
    records: list[Record] = field(default_factory=list)

    def run(self, data: Any = None) -> list[Record]:
        """Run the steps in their order. Bad input raises pydantic.ValidationError, and the failed
        record is kept in `records`; any other failure is raised too."""
        self.records = []
        outputs: list[Any] = []
        previous = data if data is not None else {}
        for step in self.steps:
            scope = Scope(
                input=data,
                previous=previous,
                steps={str(n): out for n, out in enumerate(outputs)},
                run={"name": self.name},
            )
            previous = self._one(step, scope)
            outputs.append(previous)
        return self.records

    def _one(self, step: Step, scope: Scope) -> Any:
        try:
            skill = registry.get(step.skill_name)
            mapped = MappedStep(skill_name=step.skill_name, input=step.input, mapping=step.mapping)
            output = execute(skill, scope.input_of(mapped), self.mcp)
        except Exception as problem:
            self._record(step, "failed", None, _said(problem))
            raise
        self._record(step, "succeeded", output, None)
        return output

    def _record(self, step: Step, status: str, output: Any, error: str | None) -> None:
        self.records.append(Record(step.skill_name, status, output, error, now()))


def execute(skill: Skill, data: Any, mcp: MCPClient | None = None) -> Any:
    """Run a skill's own code once, in this process: its output as plain JSON values."""
    params = skill.input_model.model_validate(data)
    result = async_to_sync(skill.execute)(SkillContext(params=params, mcp=mcp))
    return plain(skill.output_model.model_validate(result.output))


def _said(problem: Exception) -> str:
    if isinstance(problem, ValidationError):
        return "; ".join(f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in problem.errors())
    return str(problem) or type(problem).__name__
