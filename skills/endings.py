"""How an attempt ends: kept, failed or tried again; always by one update of a row that is still ours."""

import logging
import time
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from django.db import transaction
from django.db.models import F
from django_celery_results.models import TaskResult

from agents.models import Agent
from approvals.escalations import escalation_open, outcome_known
from chimera.core import audit, metrics
from chimera.core.clock import now
from chimera.core.digest import digest
from chimera.core.errors import ChimeraError
from chimera.core.jsontext import plain
from skills import artifacts, records
from skills.contract import GatedSkill, Skill, SkillContext, SkillResult, StepStatus
from skills.models import SkillExecution, Status
from skills.retries import retry_in
from skills.services import wake_up, wake_workflow

log = logging.getLogger("chimera.runner")
CLAIMS_UNTIL_A_PERSON = 6
"""Look-ups of an unknown outcome (about a minute and a half) after which a person is asked as well,
and again after every tenth."""


@dataclass(frozen=True)
class Attempt:
    """One claimed run of an execution. started: monotonic seconds; task_id: Celery's, if there is one."""

    execution: SkillExecution
    skill: Skill
    task_id: str = ""
    started: float = field(default_factory=time.monotonic)


def give_back(execution: SkillExecution, **changes: Any) -> bool:
    """Let go of the execution, if it is still ours."""
    held = SkillExecution.objects.filter(
        id=execution.id, status=Status.RUNNING, lease=execution.lease
    )
    changed = held.update(lease="", lease_until=None, **changes)
    if changed:
        for name, value in changes.items():
            setattr(execution, name, value)
    return bool(changed)


def complete(attempt: Attempt, result: SkillResult, context: SkillContext[Any]) -> None:
    """Check the output against its schema and keep it."""
    execution, skill = attempt.execution, attempt.skill
    output = (
        plain(skill.output_model.model_validate(result.output))
        if not execution.cached
        else result.output
    )
    status = Status.COMPLETED if result.status == StepStatus.COMPLETED else Status.FAILED
    changes = {
        "status": status,
        "output": output,
        "output_text": result.output_text,
        "output_hash": digest(output),
        "artifacts": artifacts.keep(execution, result.artifacts),
        "warnings": context.warnings,
        "cached": execution.cached or context.cached,
        "error": None,
    }
    _end(attempt, changes)


def fail_or_retry(attempt: Attempt, error: ChimeraError) -> None:
    """Another attempt where the retry table allows one, else the end."""
    execution, skill = attempt.execution, attempt.skill
    wait = retry_in(execution, skill, error)
    if wait is None:
        return fail(attempt, error)
    unknown = error.code == "OUTCOME_UNKNOWN"
    if unknown and _needs_a_person(execution, error):
        _escalate(execution, error)
    due = now() + timedelta(seconds=wait)
    told = skill.told(execution.input, error) if unknown else None
    with transaction.atomic():
        give_back(
            execution,
            **({"output": plain(told)} if told else {}),
            status=Status.OUTCOME_UNKNOWN if unknown else Status.RETRYING,
            retry_count=execution.retry_count + (0 if unknown else 1),
            due_at=due,
            hinted_at=due,
            error=plain(error.as_dict()),
        )
        wake_up(execution, skill, countdown=wait)
    return None


def _needs_a_person(execution: SkillExecution, error: ChimeraError) -> bool:
    """An outcome that stays in doubt; a platform that is at work leaves no doubt."""
    late = execution.claims - CLAIMS_UNTIL_A_PERSON
    return late >= 0 and late % 10 == 0 and not error.details.get("processing")


def fail(attempt: Attempt, error: ChimeraError) -> None:
    """End it with an error; a partial output is kept."""
    execution, skill = attempt.execution, attempt.skill
    changes: dict[str, Any] = {"status": Status.FAILED, "error": plain(error.as_dict())}
    if error.output is not None:
        changes["output"] = plain(error.output)
    told = skill.told(execution.input, error)
    if told is not None:
        output = plain(skill.output_model.model_validate(told))
        changes = {"status": Status.COMPLETED, "error": None, "output": output}
        changes |= {"output_hash": digest(output), "output_text": error.message}
    # A mistaken token must not use the key up, nor what failed without an effect and may be asked anew.
    harmless = told is not None and (error.retryable or execution.approval_id is None)
    if error.code in ("INVALID_TOKEN", "TOKEN_EXPIRED") or harmless:
        changes["idempotency_key"] = None
    _end(attempt, changes, error)


def _escalate(execution: SkillExecution, error: ChimeraError) -> None:
    escalation_open(
        agent_id=execution.agent_id,
        execution_id=execution.id,
        skill=execution.skill,
        code=error.code,
        sentence=error.message,
        context={"input": execution.input, "error": error.as_dict()},
        subject=str(execution.id) if error.code == "OUTCOME_UNKNOWN" else "",
    )


def _end(attempt: Attempt, changes: dict[str, Any], error: ChimeraError | None = None) -> None:
    execution, skill = attempt.execution, attempt.skill
    moment = now()
    changes |= {
        "duration_ms": int((time.monotonic() - attempt.started) * 1000),
        "completed_at": moment,
        "sealed_token": b"",
    }
    with transaction.atomic():
        if not give_back(execution, **changes):
            log.warning("execution %s was taken over by another worker", execution.id)
            return
        failed = error is not None or execution.status == Status.FAILED
        if failed and isinstance(skill, GatedSkill):
            skill.call_off(execution.id)
        if error and error.code in skill.escalate_codes:
            _escalate(execution, error)
        if execution.claims >= CLAIMS_UNTIL_A_PERSON:
            known = f"The outcome became known: {execution.get_status_display().lower()}"
            outcome_known(execution_id=execution.id, note=known)
        if error and error.code == "SECURITY_VIOLATION":
            _audit(execution, error)
        _keep_task_result(execution, attempt.task_id)
        _count_for_agent(execution, skill, failed=failed)
        wake_workflow(execution)
    code = error.code if error else None
    records.write(execution, code)
    metrics.count(
        skill.name,
        duration_ms=execution.duration_ms or 0,
        error_code=code,
        retries=execution.retry_count,
    )


def _audit(execution: SkillExecution, error: ChimeraError) -> None:
    audit.record(
        actor=f"agent:{execution.agent_id}",
        action="execution.security_violation",
        object_type="execution",
        object_id=execution.id,
        data={"skill": execution.skill, "version": execution.version, "message": error.message},
    )


def _keep_task_result(execution: SkillExecution, task_id: str) -> None:
    """The django-celery-results row of the task: ids and status, never payloads."""
    status = "SUCCESS" if execution.status == Status.COMPLETED else "FAILURE"
    row = TaskResult(
        task_id=task_id or str(execution.id),
        task_name="skills.run",
        task_args=f'["{execution.id}"]',
        status=status,
        content_type="application/json",
        content_encoding="utf-8",
        result="null",
        date_done=execution.completed_at,
    )
    TaskResult.objects.bulk_create(
        [row],
        update_conflicts=True,
        unique_fields=["task_id"],
        update_fields=["status", "date_done"],
    )


def _count_for_agent(execution: SkillExecution, skill: Skill, *, failed: bool) -> None:
    """Only a verified effect moves the reputation."""
    if not skill.requires_approval or not execution.approval_id:
        return
    field = "tasks_failed" if failed else "tasks_succeeded"
    Agent.objects.filter(id=execution.agent_id).update(**{field: F(field) + 1})
