"""Questions of workflows to a person: a yes lets the run go on and allows nothing else."""

from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import Exists, OuterRef

from agents.models import Agent
from approvals.models import ApprovalRequest, Decision, Kind, Lane, Status
from approvals.services import request_open
from chimera.core import audit
from chimera.core.clock import now

_SAID_YES = (Status.APPROVED, Status.EXPIRED)


def question_open(
    *,
    agent: Agent,
    run_id: UUID,
    workflow: str = "",
    step: str,
    question: str,
    shown: dict[str, Any],
    until: datetime | None = None,
) -> ApprovalRequest:
    """Ask a person; the action that is signed is the question with everything that was shown.

    workflow: name and version, for people to read; until: as of `request_open`.
    """
    action = {
        "type": Kind.QUESTION.value,
        "run_id": str(run_id),
        "step": step,
        "question": question,
        "shown": shown,
    }
    request, _ = request_open(
        agent=agent,
        action=action,
        sentence=question[:400],
        lane=Lane.STANDARD,
        confidence=None,
        context={"workflow": workflow},
        until=until,
    )
    return request


def question_take(*, request: ApprovalRequest, run_id: UUID) -> bool:
    """True when a person has said yes; the yes then is this run's and can lapse no more.

    A yes that nobody fetched in time (all processes were down) still is one: it allows no effect.
    """
    if request.status == Status.CONSUMED:
        return request.consumed_by == run_id
    if request.status not in _SAID_YES:
        return False
    yes = Decision.objects.filter(request=OuterRef("pk"), verdict=Decision.Verdict.APPROVE)
    untaken = ApprovalRequest.objects.filter(
        Exists(yes), id=request.id, status__in=_SAID_YES, revoked_at__isnull=True
    )
    with transaction.atomic(savepoint=False):
        taken = untaken.update(status=Status.CONSUMED, consumed_at=now(), consumed_by=run_id)
        if taken:
            audit.record(
                actor=f"agent:{request.agent_id}",
                action="approval.consumed",
                object_type="approval",
                object_id=request.id,
                data={"workflow_run_id": str(run_id), "action_digest": request.action_digest},
            )
    return bool(taken)
