"""The one way in: every door (REST, MCP, workflow step, Python) submits here."""

import secrets
from contextlib import nullcontext
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models import Exists
from pydantic import BaseModel, ValidationError

from agents.models import Agent
from approvals.models import ApprovalRequest
from approvals.services import request_void
from chimera.core import hints, ratelimit, tracing
from chimera.core.clock import now
from chimera.core.errors import ChimeraError
from chimera.core.jsontext import NO_TEXT, plain, unstorable
from chimera.core.schema import field_errors
from chimera.core.secrets import encrypt
from skills import records
from skills.catalogue import registry
from skills.contract import Skill
from skills.models import FINAL, SkillExecution, Status
from skills.queues import queue_of, require_worker

RUN_TASK = "skills.run"
ADVANCE_TASK = "workflows.advance"
REDACTED = "[redacted]"
KEY_LIFE = timedelta(days=30)
SETTLED = (*FINAL, Status.BLOCKED, Status.OUTCOME_UNKNOWN)


@dataclass(frozen=True)
class Submitted:
    """The execution of a call, and whether an earlier call had made it."""

    execution: SkillExecution
    replayed: bool


def submit(
    *,
    agent: Agent,
    skill_name: str,
    data: Any,
    scopes: frozenset[str] | None = None,
    idempotency_key: str | None = None,
    workflow_run_id: UUID | None = None,
    again: tuple[str, ...] = (),
    wake: bool = True,
) -> Submitted:
    """Check a call in the documented order and save it as an execution.

    data: the input, or a function that reads it once rate, skill and permission are settled.
    scopes: those of the token, None for calls from inside. The trace is the current one.
    workflow_run_id: the run whose step this is; its start was the call that counted.
    again: why the run asks for this once more.
    Errors: RATE_LIMITED, SKILL_NOT_FOUND, VERSION_GONE, FORBIDDEN, RESOURCE_UNAVAILABLE, the input's codes,
    IDEMPOTENCY_CONFLICT, IN_PROGRESS.
    """
    if workflow_run_id is None:
        ratelimit.hit(f"skill:{agent.id}", settings.CHIMERA.chimera_rate_limit)
    skill = registry.get(skill_name)
    place = tracing.current() or tracing.Place(secrets.token_hex(16))
    with records.refused(skill, agent, place.trace_id) as call:
        _permit(agent, skill, scopes)
        require_worker(skill)
        call.data = data() if callable(data) else data
        execution = _execution(agent, skill, _version(skill, skill_name), place, call.data)
        execution.workflow_run_id, execution.again = workflow_run_id, list(again)
        _give_key(execution, idempotency_key)
        return _save(execution, skill, wake)


def _execution(
    agent: Agent, skill: Skill, version: str, place: tracing.Place, data: Any
) -> SkillExecution:
    """The row of a call whose input is valid; its secret is sealed and left out of the hash."""
    params, secret = parse_input(skill, data)
    stored = plain(params.model_dump(exclude_computed_fields=True))
    hidden = {skill.secret_field: REDACTED} if skill.secret_field and secret else {}
    execution = SkillExecution(
        skill=skill.name,
        version=version,
        agent=agent,
        input=stored | hidden,
        input_hash=records.input_hash(skill, stored),
        trace_id=place.trace_id,
        traceparent=place.traceparent,
        sealed_token=encrypt(secret.encode()) if secret else b"",
    )
    own_key = skill.idempotency(params)
    if own_key:
        execution.idempotency_scope, execution.idempotency_key = own_key
    return execution


def _give_key(execution: SkillExecution, key: str | None) -> None:
    """The key of the header, where the input carries none of its own."""
    if key and not execution.idempotency_key:
        execution.idempotency_scope = f"agent:{execution.agent_id}"
        execution.idempotency_key = checked_key(key)


def _version(skill: Skill, reference: str) -> str:
    return reference.partition("@v")[2] or skill.metadata.version


def _permit(agent: Agent, skill: Skill, scopes: frozenset[str] | None) -> None:
    if agent.type not in skill.roles:
        raise ChimeraError(
            "FORBIDDEN", f"An agent of the role {agent.type} may not call {skill.name}"
        )
    if scopes is not None and not scopes & {f"skills:{skill.name}", "skills:*"}:
        raise ChimeraError("FORBIDDEN", f"The access token lacks the scope skills:{skill.name}")


def parse_input(skill: Skill, data: Any) -> tuple[BaseModel, str]:
    """(validated input, its secret). The code is that of the first wrong field, else INVALID_INPUT."""
    where = unstorable(data)
    if where is not None:
        raise ChimeraError("INVALID_INPUT", NO_TEXT, errors={where: [NO_TEXT]})
    try:
        params = skill.input_model.model_validate(data)
    except ValidationError as problem:
        top = str(problem.errors()[0]["loc"][0]) if problem.errors()[0]["loc"] else ""
        missing_secret = top == skill.secret_field and top not in data
        code = "INVALID_INPUT" if missing_secret else skill.field_codes.get(top, "INVALID_INPUT")
        raise ChimeraError(code, _first_message(problem), errors=field_errors(problem)) from None
    secret = getattr(params, skill.secret_field, None) if skill.secret_field else None
    return params, secret or ""


def _first_message(problem: ValidationError) -> str:
    error = problem.errors()[0]
    where = ".".join(str(part) for part in error["loc"]) or "input"
    return f"{where}: {str(error['msg']).removeprefix('Value error, ')}"


def checked_key(key: str) -> str:
    """The header's value; INVALID_INPUT where it cannot be kept."""
    if not 1 <= len(key) <= 200 or not key.isprintable():
        message = "Idempotency-Key must have 1 to 200 printable characters"
        raise ChimeraError("INVALID_INPUT", message, errors={"Idempotency-Key": [message]})
    return key


def _save(execution: SkillExecution, skill: Skill, wake: bool) -> Submitted:
    kept = transaction.atomic() if execution.idempotency_key else nullcontext()
    try:
        with kept:
            execution.save(force_insert=True)
    except IntegrityError:
        if execution.idempotency_key is None:
            raise
        return _replay(execution, skill, wake)
    if wake:
        wake_up(execution, skill)
    return Submitted(execution, False)


def _replay(execution: SkillExecution, skill: Skill, wake: bool) -> Submitted:
    """The execution an earlier call with this key made; a header's key is kept for 30 days."""
    first = SkillExecution.objects.filter(
        skill=execution.skill,
        idempotency_scope=execution.idempotency_scope,
        idempotency_key=execution.idempotency_key,
    ).first()
    if first is None:
        raise ChimeraError("CONCURRENCY_ERROR", "The call could not be saved; send it again")
    if first.status in FINAL and _is_outdated(first):
        SkillExecution.objects.filter(id=first.id).update(idempotency_key=None)
        return _save(execution, skill, wake)
    if first.input_hash != execution.input_hash or first.agent_id != execution.agent_id:
        raise ChimeraError(
            "IDEMPOTENCY_CONFLICT",
            "This key was used with another body; send that body again to learn what became of it. "
            "Another call needs a key of its own",
        )
    if first.status not in SETTLED and first.scheduled_for is None:
        raise ChimeraError(
            "IN_PROGRESS",
            "The first call with this key is still running",
            details={"execution_id": str(first.id)},
        )
    return Submitted(first, True)


def _is_outdated(execution: SkillExecution) -> bool:
    """True for a key of the caller's own that has had its time; the key of a payment never has."""
    own = execution.idempotency_scope.startswith("agent:")
    return own and execution.created_at < now() - KEY_LIFE


def deadline_of(skill: Skill) -> timedelta:
    """How long an execution may take from its first attempt: every attempt, every wait, and slack."""
    attempts = skill.retry.retries + 1
    waits = sum(2**number + 1 for number in range(skill.retry.retries))
    return timedelta(seconds=attempts * (skill.metadata.timeout_sec + 10) + waits + 60)


def wake_up(execution: SkillExecution, skill: Skill, countdown: float = 0) -> None:
    """Hint a worker, with time limits that end a hanging attempt."""
    limit = skill.metadata.timeout_sec
    options: dict[str, Any] = {
        "soft_time_limit": limit + 3,
        "time_limit": limit + 8,
        "queue": queue_of(skill),
    }
    if countdown > 0:
        options["countdown"] = countdown
    hints.wake(RUN_TASK, str(execution.id), f"{skill.name}@v{execution.version}", **options)


def wake_workflow(execution: SkillExecution) -> None:
    """Hint the workflow that waits for this execution, if there is one."""
    if execution.workflow_run_id:
        hints.wake(ADVANCE_TASK, str(execution.workflow_run_id))


def execution_of(agent: Agent, execution_id: UUID) -> SkillExecution:
    """The agent's own execution. NOT_FOUND."""
    found = SkillExecution.objects.filter(id=execution_id, agent=agent).first()
    if found is None:
        raise ChimeraError("NOT_FOUND", "No such execution of yours")
    return found


def execution_cancel(*, agent: Agent, execution_id: UUID) -> SkillExecution:
    """Cancel before any effect: before its approval is used up. NOT_FOUND, NOT_CANCELLABLE."""
    waiting = [Status.QUEUED, Status.RETRYING, Status.BLOCKED]
    mine = SkillExecution.objects.filter(id=execution_id, agent=agent)
    begun = ApprovalRequest.objects.filter(consumed_by=execution_id)
    with transaction.atomic():
        changed = mine.filter(~Exists(begun), status__in=waiting).update(
            status=Status.CANCELLED, completed_at=now(), sealed_token=b""
        )
        execution = execution_of(agent, execution_id)
        if changed and execution.approval_id:
            why = "The agent cancelled the call"
            request_void(request_id=execution.approval_id, actor=agent.actor, reason=why)
        if changed:
            wake_workflow(execution)
    if not changed and execution.status != Status.CANCELLED:
        raise ChimeraError(
            "NOT_CANCELLABLE", f"The execution is {execution.status}; its effect may have begun"
        )
    return execution
