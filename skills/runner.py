"""The one pipeline of an execution: claim, cache, gate, execute, check, save, log, count.

Whatever kills this process, the row tells the next one where to go on; effects are looked up there
where they happened before anything is done again.
"""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from functools import partial
from typing import Any
from uuid import UUID

from celery.exceptions import SoftTimeLimitExceeded
from django.db import transaction
from pydantic import ValidationError

from approvals import redeeming
from approvals.models import ApprovalRequest, Kind
from approvals.models import Status as ApprovalStatus
from approvals.questions import question_open, question_take
from chimera.core import tracing
from chimera.core.actors import acting
from chimera.core.clock import now
from chimera.core.errors import ChimeraError
from chimera.core.jsontext import plain
from chimera.core.killpoints import reach
from skills import artifacts, cache, leases, progress
from skills.catalogue import registry
from skills.contract import STORED, GatedSkill, Skill, SkillContext, SkillResult
from skills.contracted import ContractBroken
from skills.endings import Attempt, complete, fail, fail_or_retry, give_back
from skills.gating import Blocked, bounded, pass_gate
from skills.mcp import servers
from skills.models import SkillExecution, Status
from skills.policy_gate import STEP, pass_policy
from skills.retries import happens_each_time
from skills.services import wake_up, wake_workflow

log = logging.getLogger("chimera.runner")
MAX_CLAIMS = 25


class Scheduled(Exception):
    """The execution has done what can be done now and is due again later."""


def run(execution_id: UUID, reference: str = "", *, task_id: str = "") -> SkillExecution | None:
    """Run one attempt of an execution, if it is due and nobody else has it.

    reference: its `name@v1.0`, which saves looking it up.
    """
    name, _, version = reference.partition("@v")
    if not version:
        rows = SkillExecution.objects.values_list("skill", "version")
        name, version = rows.get(id=execution_id)
    skill = registry.accepted(name, version)
    if skill is None:
        log.warning("%s@v%s is unknown here; left to another worker", name, version)
        return None
    execution = leases.claim(execution_id, skill)
    if execution is None:
        return None
    reach(f"{skill.name}.claimed")
    with acting(f"agent:{execution.agent_id}"), _traced(execution):
        _run(execution, skill, task_id)
    return execution


@contextmanager
def _traced(execution: SkillExecution) -> Iterator[None]:
    """The attempt as a span under the call that it came from."""
    caller = tracing.parse(execution.traceparent) or tracing.Place(execution.trace_id)
    with tracing.span(f"run {execution.skill}", parent=caller) as step:
        step.set(
            chimera__execution__id=str(execution.id),
            chimera__execution__skill=execution.skill,
            chimera__execution__version=execution.version,
        )
        yield
        step.set(chimera__execution__status=str(execution.status))
        step.error = (execution.error or {}).get("code", "")


def _run(execution: SkillExecution, skill: Skill, task_id: str) -> None:
    attempt = Attempt(execution, skill, task_id)
    try:
        result, context = _attempt(execution, skill)
        reach(f"{skill.name}.executed")
        complete(attempt, result, context)
        reach(f"{skill.name}.saved")
    except Blocked as waiting:
        _block(execution, waiting.approval)
    except Scheduled:
        give_back(execution, status=Status.QUEUED, due_at=execution.scheduled_for)
    except ContractBroken as broken:
        _show_best(execution, broken)
    except Exception as problem:  # noqa: BLE001  whatever a skill raises ends in the record, never in the worker
        fail_or_retry(attempt, _as_ended(problem, execution, skill))


def _as_ended(problem: Exception, execution: SkillExecution, skill: Skill) -> ChimeraError:
    """`as_error`; but where the effect may have happened an accident ends nothing: it is looked up."""
    error = as_error(problem, skill)
    accident = not isinstance(problem, ChimeraError) or error.code == "INTERNAL_ERROR"
    if accident and isinstance(skill, GatedSkill) and skill.under_way(execution.id):
        return ChimeraError("OUTCOME_UNKNOWN", f"{error.message}; its effect may have happened")
    return error


def as_error(problem: Exception, skill: Skill) -> ChimeraError:
    """Any exception of a skill as an error of the table: validation, time-out, security or bug."""
    match problem:
        case ChimeraError():
            return problem
        case TimeoutError() | SoftTimeLimitExceeded():
            limit = skill.metadata.timeout_sec
            return ChimeraError(
                skill.timeout_code, f"{skill.name} did not finish within {limit:g} s"
            )
        case ValidationError():
            first = problem.errors(include_url=False, include_input=False)[0]
            field = ".".join(map(str, first["loc"])) or problem.title
            why = first["type"] if "ctx" in first else first["msg"]  # with a context: may quote it
            message = f"{skill.name} gave an output that breaks its schema: {field}: {why}"
            return ChimeraError("INTERNAL_ERROR", message)
        case ValueError():
            return ChimeraError("INVALID_INPUT", str(problem))
        case ConnectionError():
            return ChimeraError("NETWORK_ERROR", type(problem).__name__)
    log.error("%s failed", skill.name, exc_info=problem)
    return ChimeraError("INTERNAL_ERROR")


def _attempt(execution: SkillExecution, skill: Skill) -> tuple[SkillResult, SkillContext[Any]]:
    context = _context(execution, skill)
    served = cache.lookup(skill, execution)
    if not _is_granted(execution, skill):
        pass_policy(execution, skill, free=served is not None)
    if served:
        execution.cached = True
        return served, context
    _check_limits(execution)
    if not execution.agent_enabled and not _is_granted(execution, skill):
        raise ChimeraError("FORBIDDEN", "The agent has been disabled")
    if isinstance(skill, GatedSkill):
        context.grant = pass_gate(execution, skill, context)
        _refresh(execution)
        if execution.scheduled_for and execution.scheduled_for > now():
            raise Scheduled
    try:
        _begin(execution, skill)
        result = bounded(skill, context, "execute")
    except Exception as problem:
        error = _as_ended(problem, execution, skill)
        if context.grant and isinstance(problem, TimeoutError | SoftTimeLimitExceeded):
            error = ChimeraError(
                "OUTCOME_UNKNOWN", f"{error.message}; its effect may have happened"
            )
        stale = cache.stale(skill, execution) if error.code in skill.stale_codes else None
        if stale is None:
            raise error from problem
        context.warn("STALE_CACHE")
        execution.cached = True
        return stale, context
    return result, context


def _begin(execution: SkillExecution, skill: Skill) -> None:
    """Note the attempt of an effect that must not be repeated; refuse it where one was cut short."""
    if not happens_each_time(skill):
        return
    begun = ChimeraError(
        "OUTCOME_UNKNOWN", "An attempt was cut short; its effect may have happened"
    )
    if (execution.error or {}).get("code") == begun.code:
        raise begun
    mine = SkillExecution.objects.filter(id=execution.id, lease=execution.lease)
    if not mine.update(error=plain(begun.as_dict())):
        raise ChimeraError("CONCURRENCY_ERROR", "Another worker has taken the execution over")


def _is_granted(execution: SkillExecution, skill: Skill) -> bool:
    if not isinstance(skill, GatedSkill):
        return False
    under_way = skill.under_way(execution.id)
    return redeeming.grant_of_execution(execution.id, under_way=under_way) is not None


def _refresh(execution: SkillExecution) -> None:
    fresh = SkillExecution.objects.values("scheduled_for", "approval_id").get(id=execution.id)
    execution.scheduled_for, execution.approval_id = fresh["scheduled_for"], fresh["approval_id"]


def _context(execution: SkillExecution, skill: Skill) -> SkillContext[Any]:
    params = skill.input_model.model_validate(execution.input, context=STORED)
    return SkillContext(
        params=params,
        execution_id=execution.id,
        agent=execution.agent if "DB" in skill.capabilities else None,
        trace_id=execution.trace_id,
        deadline=execution.deadline_at,
        mcp=servers.client() if "MCP" in skill.capabilities else None,
        warnings=list(execution.warnings),
        attempt=execution.retry_count + 1,
        again=tuple(execution.again),
        last_attempt=execution.retry_count >= skill.retry.retries,
        keep_progress=partial(progress.keep, execution),
        resumed=progress.state_of(execution),
        home=artifacts.folder_of(execution) if "IO" in skill.capabilities else None,
    )


def _check_limits(execution: SkillExecution) -> None:
    if (
        execution.claims > MAX_CLAIMS
        and execution.retry_count == 0
        and execution.approval_id is None
    ):
        raise ChimeraError(
            "INTERNAL_ERROR", f"The worker died {MAX_CLAIMS} times while running this"
        )


def _block(execution: SkillExecution, approval: ApprovalRequest) -> None:
    give_back(
        execution,
        status=Status.BLOCKED,
        approval_id=approval.id,
        deadline_at=None,
        error=execution.error,
    )
    wake_workflow(execution)
    approval.refresh_from_db()
    if approval.status != ApprovalStatus.PENDING:
        resume(approval.id)


def _show_best(execution: SkillExecution, broken: ContractBroken) -> None:
    """Show a person the best attempt and wait: yes runs the skill again, no ends it."""
    asked = ApprovalRequest.objects.filter(consumed_by=execution.id).count()
    approval = question_open(
        agent=execution.agent,
        run_id=execution.id,
        workflow=execution.skill,
        step=f"{execution.skill}.{asked + 1}",  # not by claim: a killed process asks the same again
        question=f"{execution.skill} broke its contract {broken.details['runs']} times. Run it again?",
        shown={"broken": broken.details["violations"], "best_attempt": broken.best},
    )
    reach(f"{execution.skill}.asked")
    execution.error = plain(broken.as_dict())
    _block(execution, approval)


def resume(approval_id: UUID) -> None:
    """Go on with what waits for this decision: run it when approved, end it when not."""
    waiting = SkillExecution.objects.filter(approval_id=approval_id, status=Status.BLOCKED)
    if not waiting:
        return
    approval = ApprovalRequest.objects.get(id=approval_id)
    for execution in waiting:
        skill = registry.accepted(execution.skill, execution.version)
        if skill is None:
            log.warning("%s@v%s is unknown here", execution.skill, execution.version)
        elif approval.status in (ApprovalStatus.APPROVED, ApprovalStatus.CONSUMED):
            _go_on(execution, skill, approval)
        elif approval.status != ApprovalStatus.PENDING:
            _end_undecided(execution, skill, approval)


def _go_on(execution: SkillExecution, skill: Skill, approval: ApprovalRequest) -> None:
    reach(f"{execution.skill}.resumed")
    with transaction.atomic():
        moment = now()
        changed = SkillExecution.objects.filter(id=execution.id, status=Status.BLOCKED).update(
            status=Status.QUEUED, due_at=moment, hinted_at=moment
        )
        if approval.kind == Kind.QUESTION:
            question_take(request=approval, run_id=execution.id)
        if changed:
            wake_up(execution, skill)


def _end_undecided(execution: SkillExecution, skill: Skill, approval: ApprovalRequest) -> None:
    why = f": {approval.reason}" if approval.reason else ""
    message = f"The approval request was {approval.get_status_display().lower()}{why}"
    details = {
        "approval_id": str(approval.id),
        "approval_status": approval.status,
        "reason": approval.reason,
    }
    claimed = SkillExecution.objects.filter(id=execution.id, status=Status.BLOCKED).update(
        status=Status.RUNNING, lease=leases.new_lease(), lease_until=now() + timedelta(seconds=30)
    )
    if claimed:
        execution.refresh_from_db()
        shown = approval.kind == Kind.QUESTION and approval.action["step"] != STEP
        code = "CONTRACT_VIOLATION" if shown else "FORBIDDEN"
        error = ChimeraError(code, message, details=details)
        fail(Attempt(execution, skill), error)
