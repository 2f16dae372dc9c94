"""Durable runs: everything a run does is rows, written in one transaction under the run's lock.

A kill between any two lines leaves the transaction undone; the next walk does it again. A run that
waits for a person, a moment or a job holds no worker and no memory.
"""

import logging
from collections import Counter
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db import InterfaceError, OperationalError, transaction
from django.db.models import Exists, OuterRef

from approvals.models import ApprovalRequest, Kind
from approvals.models import Status as ApprovalStatus
from approvals.questions import question_open, question_take
from approvals.requests import open_request, parse_body
from approvals.services import request_void, token_of
from chimera.core.clock import now
from chimera.core.errors import CODES, ChimeraError
from chimera.core.jsontext import plain
from chimera.core.killpoints import reach
from skills.catalogue import registry
from skills.models import FINAL, SkillExecution, Status
from skills.services import execution_cancel, submit
from skills.workflows.definition import Definition, Step
from skills.workflows.models import ENDED, RunStatus, StepRecord, WorkflowRun
from skills.workflows.standins import agent_for
from skills.workflows.walk import OPEN, Actions, Outcome, Walk, scope_of

log = logging.getLogger("chimera.workflows")
State = StepRecord.State
LOOK_AGAIN = timedelta(seconds=30)
MOST_RECORDS = 10_000
"""Steps of one run, every item, round and attempt: its start was one call."""
TOKEN = "[redacted]"  # noqa: S105  what stands where a token was


def advance(run_id: UUID) -> WorkflowRun:
    """Walk a run as far as it goes now. Harmless at any time, by any number of processes.

    A defect fails this run with INTERNAL_ERROR, a run of too many steps with INVALID_INPUT, so that
    neither stands in the way of others.
    """
    try:
        run = _advance(run_id)
    except (OperationalError, InterfaceError, WorkflowRun.DoesNotExist):
        raise  # the database's trouble, not the run's: it is walked again
    except Exception as problem:
        log.exception("run %s cannot be walked", run_id)
        run = _break_off(run_id, problem)
    reach("workflow.saved")
    return run


def _advance(run_id: UUID) -> WorkflowRun:
    with transaction.atomic():
        locked = WorkflowRun.objects.select_for_update(of=("self",)).select_related("agent")
        run = locked.get(id=run_id)
        engine = _Engine(run)
        if run.status in ENDED:
            engine.follow_up()
        else:
            outcome = engine.walk()
            reach("workflow.walked")
            _keep(run, outcome)
    return run


def _break_off(run_id: UUID, problem: Exception) -> WorkflowRun:
    broke = _error("INTERNAL_ERROR", "The run broke off")
    error = plain(problem.as_dict()) if isinstance(problem, ChimeraError) else broke
    with transaction.atomic():
        run = WorkflowRun.objects.select_for_update(of=("self",)).get(id=run_id)
        if run.status not in ENDED:
            _keep(run, Outcome("failed", error=error))
    return run


def _keep(run: WorkflowRun, outcome: Outcome) -> None:
    if outcome.kind == "waiting":
        run.status = RunStatus.BLOCKED if outcome.blocked else RunStatus.RUNNING
        run.due_at = outcome.due
    else:
        run.status = RunStatus.COMPLETED if outcome.kind == "done" else RunStatus.FAILED
        run.output, run.error = outcome.output, outcome.error
        run.due_at, run.completed_at = None, now()
    run.save(update_fields=["status", "due_at", "output", "error", "completed_at"])


def hold(run: WorkflowRun) -> None:
    """Lock the jobs and requests of the run's open steps, always in this order.

    Before something of them is cancelled: who holds one of them may want the audit log next.
    """
    steps = run.records.filter(state__in=OPEN)
    jobs = SkillExecution.objects.filter(id__in=list(steps.values_list("execution_id", flat=True)))
    list(jobs.select_for_update().order_by("id").values_list("id"))
    asked = ApprovalRequest.objects.filter(
        id__in=list(run.records.values_list("approval_id", flat=True))
    )
    list(asked.select_for_update().order_by("id").values_list("id"))


def job_cancel(record: StepRecord) -> bool:
    """Cancel the job of a step; False when its effect may have begun, or it has ended."""
    assert record.execution_id  # asked by the caller
    job = SkillExecution.objects.select_related("agent").get(id=record.execution_id)
    try:
        execution_cancel(agent=job.agent, execution_id=job.id)
    except ChimeraError:
        return False
    return True


def request_withdraw(run: WorkflowRun, record: StepRecord, why: str) -> None:
    """Close what a step asked a person for, unless another run waits for the same."""
    if record.approval_id is None or record.execution_id:
        return
    others = StepRecord.objects.filter(approval_id=record.approval_id, state__in=OPEN)
    if not others.exclude(run=run).exists():
        request_void(request_id=record.approval_id, actor=run.agent.actor, reason=why)


class _Engine:
    """What a walk does for one run."""

    def __init__(self, run: WorkflowRun) -> None:
        self.run = run
        self.records: dict[str, StepRecord] = {}
        self.attempts = Counter[str]()
        self.just_begun: set[UUID] = set()  # what has only now been asked for has no answer yet
        for record in run.records.order_by("attempt"):
            self.attempts[record.path] += 1
            if record.state != State.CANCELLED:
                self.records[record.path] = record

    def walk(self) -> Outcome:
        definition = Definition.model_validate(self.run.definition)
        if any(_overdue(record) for record in self.records.values()):
            hold(self.run)
        walk = Walk(self.records, self.begin, Actions(self.call, self.look, self.ask))
        return walk.sequence(definition.steps, "", scope_of(self.run))

    def follow_up(self) -> None:
        """Of a run that has ended: note what became of the jobs that could not be cancelled."""
        for record in self.records.values():
            if record.state in OPEN and record.execution_id:
                self._look_at_job(record)

    def begin(self, step: Step, path: str, **values: Any) -> StepRecord:
        """The record of an attempt, which whoever fills it in keeps."""
        if self.attempts.total() >= MOST_RECORDS:
            raise ChimeraError("INVALID_INPUT", f"The run has more than {MOST_RECORDS} steps")
        self.attempts[path] += 1
        record = StepRecord(
            run=self.run,
            path=path,
            label=step.label[:80],
            skill_name=step.skill_name or "",
            attempt=self.attempts[path],
            **values,
        )
        self.records[path] = record
        return record

    def call(
        self,
        step: Step,
        data: Any,
        record: StepRecord,
        approval_id: UUID | None,
        again: tuple[str, ...],
    ) -> None:
        """Save the execution of a step; a call that is refused fails the step, not the run's walk."""
        reference, record.input = step.skill_name or "", plain(data)
        skill, sent = registry.get(reference), record.input
        if approval_id and skill.secret_field and isinstance(sent, dict):
            sent = sent | {skill.secret_field: _token(approval_id)}
            record.input = record.input | {skill.secret_field: TOKEN}
        made = submit(
            agent=agent_for(self.run, skill),
            skill_name=reference,
            data=sent,
            workflow_run_id=self.run.id,
            again=again,
        )
        record.execution_id = made.execution.id
        if not made.replayed:
            self.just_begun.add(record.id)
        record.keep("input", "execution_id", "due_at")

    def ask(self, step: Step, fields: dict[str, Any], record: StepRecord) -> None:
        assert step.approval  # the walk has looked
        record.input = plain(fields)
        if step.approval.action:
            body = parse_body({"action": step.approval.action} | plain(fields))
            request, _ = open_request(self.run.agent, body, until=record.due_at)
        else:
            request = question_open(
                agent=self.run.agent,
                run_id=self.run.id,
                workflow=f"{self.run.workflow} v{self.run.version}",
                step=record.path,
                question=step.approval.question or "",
                shown=plain(fields),
                until=record.due_at,
            )
        record.approval_id, record.state = request.id, State.BLOCKED
        if request.status == ApprovalStatus.PENDING:
            self.just_begun.add(record.id)
        record.keep("input", "approval_id", "state")

    def look(self, record: StepRecord, step: Step) -> None:
        """See what has become of the job or the question of a step."""
        if record.id in self.just_begun:
            return
        if record.execution_id:
            self._look_at_job(record)
        else:
            self._look_at_request(record)
        if record.state in OPEN and _overdue(record):
            self._give_up(record)

    def _look_at_request(self, record: StepRecord) -> None:
        assert record.approval_id  # asked when it began
        request = ApprovalRequest.objects.get(id=record.approval_id)
        if request.kind == Kind.QUESTION:
            agreed = question_take(request=request, run_id=self.run.id)
        else:
            agreed = request.status in (ApprovalStatus.APPROVED, ApprovalStatus.CONSUMED)
        if agreed:
            self._end(record, State.SUCCEEDED, output={"approval_id": str(request.id)})
        elif request.status != ApprovalStatus.PENDING:
            said = f"The approval request was {request.get_status_display().lower()}"
            why = f"{said}: {request.reason}" if request.reason else said
            late = request.status == ApprovalStatus.EXPIRED and _overdue(record)
            error = _TOO_LATE if late else _error("FORBIDDEN", why)
            self._end(record, State.FAILED, error=error)

    def _look_at_job(self, record: StepRecord) -> None:
        assert record.execution_id  # asked by the caller
        job = SkillExecution.objects.get(id=record.execution_id)
        if job.status == Status.COMPLETED:
            self._end(record, State.SUCCEEDED, output=job.output)
        elif job.status in FINAL:
            error = job.error or _error("FORBIDDEN", "The execution was cancelled")
            self._end(record, State.FAILED, error=error)
        else:
            blocked = job.status == Status.BLOCKED
            state, asked = (State.BLOCKED, job.approval_id) if blocked else (State.RUNNING, None)
            if (record.state, record.approval_id) != (state, asked):
                record.state, record.approval_id = state, asked
                record.keep("state", "approval_id")

    def _give_up(self, record: StepRecord) -> None:
        if record.execution_id and not job_cancel(record):
            record.due_at = now() + LOOK_AGAIN  # its effect has begun: wait for what becomes of it
            record.keep("due_at")
            return
        request_withdraw(self.run, record, "Nobody decided within the time limit of the step")
        self._end(record, State.FAILED, error=_TOO_LATE)

    def _end(self, record: StepRecord, state: str, **values: Any) -> None:
        record.state, record.completed_at = state, now()
        for name, value in values.items():
            setattr(record, name, value)
        record.keep("state", "completed_at", *values)


def _overdue(record: StepRecord) -> bool:
    """Past its time limit; the wait before another attempt has none, nor has a step that waits."""
    begun = record.execution_id or record.approval_id
    return bool(begun and record.due_at and record.due_at <= now())


def _token(approval_id: UUID) -> str:
    token = token_of(ApprovalRequest.objects.get(id=approval_id))
    if token is None:
        message = "The signature has been used, revoked or has lapsed; resume the run to ask again"
        raise ChimeraError("TOKEN_EXPIRED", message)
    return token


def _error(code: str, message: str) -> dict[str, Any]:
    assert code in CODES
    return dict(plain(ChimeraError(code, message).as_dict()))


_TOO_LATE = _error("TIMEOUT", "The step took too long")


def runs_to_look_at(moment: datetime, limit: int = 500) -> list[UUID]:
    """Runs that are due, and runs whose wake-up was lost: their job or their question has ended."""
    due = WorkflowRun.objects.filter(completed_at=None, due_at__lte=moment)
    ended = SkillExecution.objects.filter(id=OuterRef("execution_id"), status__in=FINAL)
    decided = ApprovalRequest.objects.filter(id=OuterRef("approval_id")).exclude(
        status=ApprovalStatus.PENDING
    )
    open_steps = StepRecord.objects.filter(state__in=OPEN).order_by()
    asking = open_steps.filter(execution_id=None).filter(Exists(decided))
    working = open_steps.filter(Exists(ended))
    found = [
        *due.order_by("due_at").values_list("id", flat=True)[:limit],
        *asking.values_list("run_id", flat=True)[:limit],
        *working.values_list("run_id", flat=True)[:limit],
    ]
    return list(dict.fromkeys(found))


def runs_of_approval(approval_id: UUID) -> list[UUID]:
    """Runs that asked for this decision."""
    asking = StepRecord.objects.filter(approval_id=approval_id, state__in=OPEN, execution_id=None)
    return list(asking.values_list("run_id", flat=True))
