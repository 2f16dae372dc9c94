"""How an agent's row changes: one conditional update with its audit entry and its history row.

The allowed changes of status are those of the schemas; only a person takes an agent out of `error`.
"""

from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import F

from agents.models import Agent
from agents.roles import Status
from chimera.core import audit
from chimera.core.errors import ChimeraError

ALLOWED: dict[str, tuple[Status, ...]] = {
    Status.ACTIVE: (Status.BUSY, Status.PAUSED, Status.ERROR),
    Status.BUSY: (Status.ACTIVE, Status.PAUSED, Status.ERROR),
    Status.PAUSED: (Status.ACTIVE, Status.ERROR),
    Status.ERROR: (Status.ERROR,),
}
BY_A_PERSON: dict[str, tuple[Status, ...]] = {
    **ALLOWED,
    Status.ERROR: (Status.ACTIVE, Status.PAUSED, Status.ERROR),
}


def agent_state_update(
    *,
    agent_id: UUID,
    changes: dict[str, Any],
    actor: str,
    reason: str = "",
    expected_version: int | None = None,
    by_person: bool = False,
) -> Agent:
    """The agent after the change, all of it or none; its version has risen by one.

    changes: column -> value of status, pending_tasks, last_execution. A status that stays as it is
    is no change of status. Errors: AGENT_NOT_FOUND, CONCURRENCY_ERROR (details: current_version),
    INVALID_STATE_TRANSITION (details: allowed).
    """
    with transaction.atomic():
        seen = Agent.objects.select_for_update(no_key=True).filter(id=agent_id).first()
        if seen is None:
            raise ChimeraError("AGENT_NOT_FOUND", f"No agent {agent_id}")
        if expected_version not in (None, seen.version):
            raise _overtaken(seen, expected_version)
        if "status" in changes:
            _check_transition(seen, changes["status"], reason, by_person)
            changes = {**changes, "status_reason": reason}
        data = {"reason": reason} if reason else {}
        return agent_change(
            seen=seen, changes=changes, actor=actor, action="agent.state_changed", data=data
        )


def agent_change(
    *, seen: Agent, changes: dict[str, Any], actor: str, action: str, data: dict[str, Any]
) -> Agent:
    """The agent with the new values. CONCURRENCY_ERROR when it is no longer in the version seen."""
    with transaction.atomic():
        same = Agent.objects.filter(id=seen.id, version=seen.version)
        if not same.update(**changes, version=F("version") + 1):
            raise _overtaken(Agent.objects.get(id=seen.id), seen.version)
        agent = Agent.objects.get(id=seen.id)
        Agent.history.bulk_history_create([agent], update=True)
        names = [*changes, "version"]
        audit.record(
            actor=actor,
            action=action,
            object_type="agent",
            object_id=agent.id,
            data={
                **data,
                "before": {name: getattr(seen, name) for name in names},
                "after": {name: getattr(agent, name) for name in names},
            },
        )
    return agent


def _overtaken(agent: Agent, expected: int | None) -> ChimeraError:
    message = f"The agent is at version {agent.version}, not {expected}; read it again"
    details = {"current_version": agent.version, "expected_version": expected}
    return ChimeraError("CONCURRENCY_ERROR", message, details=details)


def _check_transition(seen: Agent, wanted: str, reason: str, by_person: bool) -> None:
    allowed = (BY_A_PERSON if by_person else ALLOWED)[seen.status]
    details = {"from": seen.status, "to": wanted, "allowed": [str(status) for status in allowed]}
    if wanted == Status.ERROR and not reason:
        message = "The status error needs a reason; say in `reason` what went wrong"
        raise ChimeraError("INVALID_STATE_TRANSITION", message, details=details)
    if wanted in (*allowed, seen.status):
        return
    into = ", ".join(details["allowed"])
    message = f"An agent in {seen.status} cannot become {wanted}; allowed: {into}"
    if seen.status == Status.ERROR:
        message += ". Only a person takes it out of error"
    raise ChimeraError("INVALID_STATE_TRANSITION", message, details=details)
