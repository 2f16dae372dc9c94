"""Store definitions; start, cancel and go on with runs."""

from functools import cache, partial
from pathlib import Path
from typing import Any
from uuid import UUID

from django.db import IntegrityError, transaction

from agents.models import Agent
from approvals.models import ApprovalRequest
from approvals.models import Status as ApprovalStatus
from chimera.core import audit, hints, tracing
from chimera.core.clock import now
from chimera.core.digest import digest
from chimera.core.errors import ChimeraError
from chimera.core.jsontext import plain
from skills.catalogue import registry
from skills.services import ADVANCE_TASK, KEY_LIFE, checked_key
from skills.workflows.definition import Definition, parse, places
from skills.workflows.engine import hold, job_cancel, request_withdraw
from skills.workflows.models import ENDED, RunStatus, StepRecord, StoredWorkflow, WorkflowRun
from skills.workflows.naming import problems
from skills.workflows.standins import agent_of_step
from skills.workflows.walk import OPEN

State = StepRecord.State


@cache
def builtin() -> dict[str, Definition]:
    """The workflows that come with the program, by name."""
    files = sorted((Path(__file__).parent / "builtin").glob("*.yaml"))
    return {made.name: made for made in (parse(path.read_text()) for path in files)}


def workflow_check(*, agent: Agent | None, data: Any) -> Definition:
    """The definition, if this agent may store it. INVALID_INPUT, SKILL_NOT_FOUND."""
    definition = parse(data)
    for place, step in places(definition.steps):
        if step.skill_name:
            _require_skill(step.skill_name, place)
    if wrong := problems(definition):
        raise ChimeraError("INVALID_INPUT", errors=wrong)
    if definition.name in builtin():
        message = f"{definition.name} is a built-in workflow; choose another name"
        raise ChimeraError("INVALID_INPUT", message, errors={"name": [message]})
    _refuse_foreign(definition.name, agent)
    return definition


def _require_skill(name: str, place: str) -> None:
    try:
        registry.get(name)
    except ChimeraError as problem:
        problem.errors = {f"{place}.skill_name": [problem.message]}
        raise


def workflow_store(*, agent: Agent | None, data: Any, actor: str) -> StoredWorkflow:
    """Keep a definition as a version of its name. As `workflow_check`, and CONCURRENCY_ERROR."""
    definition = workflow_check(agent=agent, data=data)
    schedule = definition.schedule
    try:
        with transaction.atomic():
            stored = StoredWorkflow.objects.create(
                name=definition.name,
                version=definition.version,
                definition=plain(definition.model_dump(exclude_none=True)),
                agent=agent,
                next_at=schedule.next(now()) if schedule and agent else None,
            )
            StoredWorkflow.objects.filter(name=stored.name).exclude(id=stored.id).update(
                next_at=None  # the newest version alone is on the schedule
            )
            audit.record(
                actor=actor,
                action="workflow.stored",
                object_type="workflow",
                object_id=stored.id,
                data={"name": stored.name, "version": stored.version},
            )
    except IntegrityError:
        message = f"{definition.name} v{definition.version} exists; raise the version"
        raise ChimeraError("CONCURRENCY_ERROR", message) from None
    return stored


def workflow_enable(*, workflow_id: UUID, enabled: bool, actor: str) -> None:
    """Let runs of a stored version begin, or begin no more."""
    with transaction.atomic():
        stored = StoredWorkflow.objects.select_for_update(of=("self",)).get(id=workflow_id)
        stored.enabled = enabled
        stored.save(update_fields=["enabled"])
        audit.record(
            actor=actor,
            action="workflow.enabled" if enabled else "workflow.disabled",
            object_type="workflow",
            object_id=stored.id,
            data={"name": stored.name, "version": stored.version},
        )


def _refuse_foreign(name: str, agent: Agent | None) -> None:
    owner = _owner(name)
    if agent and owner and owner.agent != agent:
        message = f"The name {name} is taken by another agent; choose another"
        raise ChimeraError("INVALID_INPUT", message, errors={"name": [message]})


def _owner(name: str) -> StoredWorkflow | None:
    """The first version of a name: whose it is. Two who take a name at once end with one owner."""
    first = StoredWorkflow.objects.filter(name=name).select_related("agent")
    return first.order_by("created_at", "id").first()


def definition_get(name: str, version: int | None = None) -> Definition:
    """The newest, or this, version of a workflow. NOT_FOUND."""
    made = builtin().get(name)
    if made and version in (None, made.version):
        return made
    owner = _owner(name)
    theirs = {"agent": owner.agent} if owner else {}
    stored = StoredWorkflow.objects.filter(name=name, enabled=True, **theirs).order_by("-version")
    found = (stored.filter(version=version) if version else stored).first()
    if found:
        return parse(found.definition)
    versions = [*([made.version] if made else []), *stored.values_list("version", flat=True)]
    if versions:
        there = ", ".join(map(str, versions))
        raise ChimeraError("NOT_FOUND", f"{name} has no version {version}; there are {there}")
    raise ChimeraError("NOT_FOUND", f"No workflow {name}; GET /api/v1/workflows/ lists them")


def run_once(
    *,
    agent: Agent,
    name: str,
    version: int | None,
    data: Any,
    scopes: frozenset[str] | None,
    key: str | None,
) -> tuple[WorkflowRun, bool]:
    """Begin a run of a workflow, or find the one that this key has begun; (the run, was found).

    A key is the agent's and the workflow's and lasts as long as a skill's; without one a run begins.
    Errors: those of `definition_get` and `run_start`, INVALID_INPUT, IDEMPOTENCY_CONFLICT.
    """
    call = partial(run_start, agent=agent, data=data, scopes=scopes)
    if key is None:
        return call(definition=definition_get(name, version)), False
    mine = WorkflowRun.objects.filter(agent=agent, workflow=name, idempotency_key=checked_key(key))
    mine.filter(status__in=ENDED, created_at__lt=now() - KEY_LIFE).update(idempotency_key=None)
    asked = digest({"input": plain(data), "version": version})
    found = mine.first()
    if found is None:
        definition = definition_get(name, version)
        try:
            return call(definition=definition, key=key, request_hash=asked), False
        except IntegrityError:  # another call with this key was first
            found = mine.get()
    if found.request_hash != asked:
        message = "This key was used with another body; another run needs a key of its own"
        raise ChimeraError("IDEMPOTENCY_CONFLICT", message)
    return found, True


def run_start(
    *,
    agent: Agent,
    definition: Definition,
    data: Any,
    scopes: frozenset[str] | None = None,
    key: str | None = None,
    request_hash: str = "",
) -> WorkflowRun:
    """Begin a run. FORBIDDEN when the agent may not call one of its skills; nothing is begun then."""
    _require_permission(agent, definition, scopes)
    place = tracing.current()
    with transaction.atomic():
        run = WorkflowRun.objects.create(
            workflow=definition.name,
            version=definition.version,
            definition=plain(definition.model_dump(exclude_none=True)),
            agent=agent,
            input=plain(data),
            trace_id=place.trace_id if place else "",
            idempotency_key=key,
            request_hash=request_hash,
        )
        hints.wake(ADVANCE_TASK, str(run.id))
    return run


def _require_permission(
    agent: Agent, definition: Definition, scopes: frozenset[str] | None
) -> None:
    for step in definition.all_steps():
        skill = registry.get(step.skill_name) if step.skill_name else None
        if skill is None:
            continue
        acting = agent_of_step(agent, definition.name, definition.version, skill)
        own = acting == agent  # a stand-in's steps are allowed by the person who named it
        if own and scopes is not None and not scopes & {f"skills:{skill.name}", "skills:*"}:
            message = f"The access token lacks the scope skills:{skill.name}"
            raise ChimeraError("FORBIDDEN", message, details={"step": step.label})


def run_cancel(*, agent: Agent, run_id: UUID, person: str = "") -> WorkflowRun:
    """End a run: it begins nothing more, its requests are closed, its jobs are cancelled.

    A job whose effect may have begun goes on to its end, which its record then tells.
    person: who does it in the agent's place.
    """
    with transaction.atomic():
        run = _own(agent, run_id)
        if run.status in ENDED:
            raise ChimeraError("NOT_CANCELLABLE", f"The run is {run.status}")
        hold(run)
        for record in run.records.exclude(approval_id=None):
            request_withdraw(run, record, "The run was cancelled")
        for record in run.records.filter(state__in=OPEN):
            if record.execution_id is None or job_cancel(record):
                record.state, record.completed_at = State.CANCELLED, now()
                record.save(update_fields=["state", "completed_at"])
        run.status, run.due_at, run.completed_at = RunStatus.CANCELLED, None, now()
        run.save(update_fields=["status", "due_at", "completed_at"])
        _note(run, "cancelled", person)
    return run


def _note(run: WorkflowRun, what: str, person: str) -> None:
    """What a person did with a run stands in the audit log; what its own agent did in its records."""
    if person:
        audit.record(
            actor=person,
            action=f"workflow_run.{what}",
            object_type="workflow_run",
            object_id=run.id,
            data={"workflow": run.workflow, "version": run.version},
        )


def run_resume(*, agent: Agent, run_id: UUID, person: str = "") -> WorkflowRun:
    """Go on from the step that failed: what has succeeded stays, the failed step is done anew.

    A signature that is no longer usable is asked for anew, too. person: as in `run_cancel`.
    """
    with transaction.atomic():
        run = _own(agent, run_id)
        if run.status != RunStatus.FAILED:
            raise ChimeraError("NOT_CANCELLABLE", f"The run is {run.status}, not failed")
        failed = run.records.filter(state=State.FAILED)
        _ask_anew(run, [record.path for record in failed])
        failed.update(state=State.CANCELLED)
        run.status, run.error, run.completed_at = RunStatus.QUEUED, None, None
        run.due_at = now()
        run.save(update_fields=["status", "error", "completed_at", "due_at"])
        _note(run, "resumed", person)
        hints.wake(ADVANCE_TASK, str(run.id))
    return run


def _ask_anew(run: WorkflowRun, failed: list[str]) -> None:
    """Forget the approval steps of the failed ones where the signature has been used or has lapsed."""
    definition = Definition.model_validate(run.definition)
    usable = ApprovalRequest.objects.filter(
        status=ApprovalStatus.APPROVED, token_expires_at__gt=now()
    )
    for path in failed:
        name = definition.step_at(path).approved_by
        asked = run.records.filter(label=name, state=State.SUCCEEDED) if name else []
        theirs = [one for one in asked if path.startswith(_list_of(one.path))]
        for record in theirs[-1:]:  # of several rounds the last
            assert record.approval_id  # asked when it began
            if not usable.filter(id=record.approval_id).exists():
                record.state = State.CANCELLED
                record.save(update_fields=["state"])


def _list_of(path: str) -> str:
    """Where the positions of a step's list begin: `2~1.left.` of `2~1.left.0`."""
    around = path.rpartition(".")[0]
    return f"{around}." if around else ""


def _own(agent: Agent, run_id: UUID) -> WorkflowRun:
    run = WorkflowRun.objects.select_for_update(of=("self",)).filter(id=run_id, agent=agent).first()
    if run is None:
        raise ChimeraError("NOT_FOUND", "No such run of yours")
    return run
