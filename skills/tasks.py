"""Celery tasks: shells round the services. Each may be lost or doubled without harm."""

from datetime import timedelta
from functools import partial
from typing import Any
from uuid import UUID

from celery import shared_task
from django.core.cache import cache

from approvals.models import ApprovalRequest
from approvals.models import Status as ApprovalStatus
from approvals.services import requests_expire, requests_void_superseded
from chimera.core.clock import iso, now
from skills import leases, runner, sealing
from skills.announcing import profiles_announce
from skills.catalogue import registry
from skills.chaining import SECONDS, follow
from skills.models import DUE, SkillExecution, Status
from skills.services import wake_up
from skills.workflows import tasks as workflow_tasks
from skills.workflows.engine import advance, runs_of_approval
from wallets.tasks import settle_and_scan

__all__ = ["workflow_tasks"]  # imported for the worker to find them
GRACE = timedelta(seconds=3)
HEARTBEAT = "chimera.worker.heartbeat"


@shared_task(name="skills.run", bind=True)
def run(self: Any, execution_id: str, reference: str = "") -> None:
    """Run one attempt, and go on with the workflow that it belongs to."""
    attempt = partial(runner.run, UUID(execution_id), reference, task_id=self.request.id or "")
    _, soft_limit = self.request.timelimit or (None, None)
    follow(attempt, soft_limit or SECONDS)


@shared_task(name="skills.resume", soft_time_limit=60, time_limit=70)
def resume(approval_id: str) -> None:
    """Go on with what waited for this decision: an execution, workflow runs."""
    follow(partial(_resume, UUID(approval_id)))


def _resume(approval_id: UUID) -> None:
    runner.resume(approval_id)
    for run_id in runs_of_approval(approval_id):
        advance(run_id)


@shared_task(name="skills.sweep")
def sweep() -> None:
    """Wake what is due and what a dead process held; find decisions whose wake-up was lost."""
    leases.release_dead()
    moment = now()
    due = SkillExecution.objects.filter(
        status__in=DUE, due_at__lte=moment, hinted_at__lte=moment - GRACE
    )
    lost = SkillExecution.objects.filter(status=Status.RUNNING, lease_until__lt=moment)
    for execution in [*due.order_by("due_at")[:200], *lost[:200]]:
        SkillExecution.objects.filter(id=execution.id).update(hinted_at=moment)
        skill = registry.accepted(execution.skill, execution.version)
        if skill is not None:  # else of a version that only a newer program knows
            wake_up(execution, skill)
    decided = ApprovalRequest.objects.exclude(status=ApprovalStatus.PENDING).values("id")
    waiting = SkillExecution.objects.filter(status=Status.BLOCKED, approval_id__in=decided)
    for approval_id in waiting.values_list("approval_id", flat=True)[:200]:
        runner.resume(UUID(str(approval_id)))


@shared_task(name="skills.expire_approvals")
def expire_approvals() -> None:
    """Close what nobody decided in time and what a newer revision has overtaken."""
    requests_expire()
    requests_void_superseded()


@shared_task(name="skills.settle_wallets")
def settle_wallets() -> None:
    """Look after transactions on their way and see deposits."""
    settle_and_scan()


@shared_task(name="skills.announce_profiles")
def announce_profiles() -> None:
    """Register the profile of every orchestrator that has changed since it was registered."""
    profiles_announce()


@shared_task(name="skills.seal_executions")
def seal_executions() -> None:
    """Put the digests of finished executions into the audit log."""
    sealing.seal()


@shared_task(name="skills.heartbeat")
def heartbeat() -> None:
    """A worker answered now; /readyz looks at it."""
    cache.set(HEARTBEAT, iso(now()), timeout=3600)
