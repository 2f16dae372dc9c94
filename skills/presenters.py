"""How executions and skills look on the wire."""

import inspect
import sys
from datetime import datetime
from functools import lru_cache
from typing import Any, Literal
from uuid import UUID

from django.utils.http import http_date
from pydantic import BaseModel

from chimera.core.clock import iso
from chimera.core.errors import CODES, ChimeraError
from chimera.core.jsontext import loads, plain
from chimera.core.schema import inlined
from skills import artifacts, progress
from skills.catalogue import is_deprecated, midnight, registry
from skills.contract import Skill
from skills.models import SkillExecution
from skills.registration import examples_file

_STATUSES = Literal[
    "queued",
    "running",
    "retrying",
    "blocked",
    "completed",
    "failed",
    "cancelled",
    "outcome_unknown",
]
COMMON_CODES = (
    "INVALID_INPUT",
    "UNAUTHENTICATED",
    "FORBIDDEN",
    "RATE_LIMITED",
    "TIMEOUT",
    "INTERNAL_ERROR",
)


class ErrorOut(BaseModel):
    """The error of an execution."""

    code: str
    message: str
    details: dict[str, Any]
    retryable: bool
    backoff_sec: float | None
    http_status: int


class ArtifactOut(BaseModel):
    """A file that an execution made."""

    name: str
    size: int
    sha256: str
    url: str


class ProgressOut(BaseModel):
    """How far a long job is."""

    fraction: float
    message: str


class ExecutionOut(BaseModel):
    """An execution."""

    id: UUID
    skill: str
    version: str
    agent_id: UUID
    status: _STATUSES
    input: dict[str, Any]
    output: Any
    output_text: str
    artifacts: list[ArtifactOut]
    progress: ProgressOut | None
    warnings: list[str]
    error: ErrorOut | None
    retry_count: int
    duration_ms: int | None
    input_hash: str
    output_hash: str | None
    cached: bool
    approval_id: UUID | None
    workflow_run_id: UUID | None
    trace_id: str
    scheduled_for: datetime | None
    created_at: datetime
    started_at: datetime | None
    completed_at: datetime | None


class SkillOut(BaseModel):
    """A skill of the catalogue."""

    name: str
    version: str
    versions: list[str]
    description: str
    roles: list[str]
    metadata: dict[str, Any]
    input_schema: dict[str, Any]
    output_schema: dict[str, Any]
    error_codes: list[str]
    examples: list[dict[str, Any]]
    requires_approval: bool
    deprecated: bool
    sunset: datetime | None


def execution_dict(execution: SkillExecution) -> dict[str, Any]:
    """An execution as the API shows it."""
    return {
        "id": execution.id,
        "skill": execution.skill,
        "version": execution.version,
        "agent_id": execution.agent_id,
        "status": execution.status,
        "input": execution.input,
        "output": execution.output,
        "output_text": execution.output_text,
        "artifacts": artifacts.shown(execution),
        "progress": progress.shown(execution),
        "warnings": execution.warnings,
        "error": execution.error,
        "retry_count": execution.retry_count,
        "duration_ms": execution.duration_ms,
        "input_hash": execution.input_hash,
        "output_hash": execution.output_hash or None,
        "cached": execution.cached,
        "approval_id": execution.approval_id,
        "workflow_run_id": execution.workflow_run_id,
        "trace_id": execution.trace_id,
        "scheduled_for": iso(execution.scheduled_for),
        "created_at": iso(execution.created_at),
        "started_at": iso(execution.started_at),
        "completed_at": iso(execution.completed_at),
    }


def failure_of(execution: SkillExecution) -> ChimeraError:
    """The error that a failed execution keeps, to be answered as any other."""
    kept = execution.error or {}
    code = kept.get("code", "INTERNAL_ERROR")
    details = dict(kept.get("details") or {})
    return ChimeraError(
        code if code in CODES else "INTERNAL_ERROR",
        kept.get("message", ""),
        errors=details.pop("errors", None),
        details=details,
        backoff_sec=kept.get("backoff_sec"),
        output=execution.output,
        final=not kept.get("retryable", False),
    )


@lru_cache(maxsize=256)
def _schema(model: type[BaseModel], mode: Literal["validation", "serialization"]) -> dict[str, Any]:
    return inlined(model.model_json_schema(mode=mode))


def description_of(skill: Skill) -> str:
    """The first paragraph of the skill module's docstring."""
    text = inspect.getdoc(sys.modules[type(skill).__module__]) or inspect.getdoc(type(skill)) or ""
    return " ".join(text.split("\n\n")[0].split())


def examples_of(skill: Skill) -> list[dict[str, Any]]:
    """The examples beside the skill: `[{"input", "output"}]`."""
    path = examples_file(type(skill))
    found: list[dict[str, Any]] = loads(path.read_bytes()) if path.exists() else []
    return found


def skill_dict(skill: Skill) -> dict[str, Any]:
    """A skill as the catalogue shows it; schemas are JSON Schema 2020-12."""
    return {
        "name": skill.name,
        "version": skill.metadata.version,
        "versions": registry.versions(skill),
        "description": description_of(skill),
        "roles": sorted(skill.roles),
        "metadata": plain(
            {**skill.metadata.model_dump(), "capabilities": sorted(skill.metadata.capabilities)}
        ),
        "input_schema": _schema(skill.input_model, "validation"),
        "output_schema": _schema(skill.output_model, "serialization"),
        "error_codes": sorted({*COMMON_CODES, *skill.error_codes}),
        "examples": examples_of(skill),
        "requires_approval": skill.requires_approval,
        "deprecated": is_deprecated(skill),
        "sunset": iso(midnight(skill.sunset)) if skill.sunset else None,
    }


def deprecation_headers(skill: Skill) -> dict[str, str]:
    """`Deprecation` (RFC 9745) and `Sunset` (RFC 8594) of a skill that has such a date."""
    if skill.deprecated_since is None:
        return {}
    since = midnight(skill.deprecated_since)
    found = {"Deprecation": f"@{int(since.timestamp())}"}
    if skill.sunset:
        found["Sunset"] = http_date(midnight(skill.sunset).timestamp())
    return found
