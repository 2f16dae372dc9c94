"""Executions: the record of every call, and the queue itself."""

from django.db import models
from django.utils import timezone

from chimera.core.ids import new_id
from chimera.core.models import ExactJSONField


class Status(models.TextChoices):
    QUEUED = "queued"
    RUNNING = "running"
    RETRYING = "retrying"
    BLOCKED = "blocked"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"
    OUTCOME_UNKNOWN = "outcome_unknown"


FINAL = (Status.COMPLETED, Status.FAILED, Status.CANCELLED)
DUE = (Status.QUEUED, Status.RETRYING, Status.OUTCOME_UNKNOWN)


class SkillExecution(models.Model):
    """One call of a skill. Claimed by one conditional update with a lease; a Celery message is a hint."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    skill = models.CharField(max_length=64)
    version = models.CharField(max_length=10)
    agent = models.ForeignKey("agents.Agent", models.PROTECT, related_name="executions")
    status = models.CharField(max_length=20, choices=Status, default=Status.QUEUED)
    input = ExactJSONField(default=dict)
    input_hash = models.CharField(max_length=64)
    again = models.JSONField(
        default=list, blank=True, help_text="Why a workflow asks for this anew: a reason per round"
    )
    output = ExactJSONField(null=True)
    output_text = models.TextField(blank=True)
    output_hash = models.CharField(max_length=64, blank=True)
    artifacts = models.JSONField(default=list)
    warnings = models.JSONField(default=list)
    error = ExactJSONField(null=True)
    progress = ExactJSONField(
        null=True, help_text="fraction, message, and the state from which the work goes on"
    )
    retry_count = models.PositiveSmallIntegerField(default=0)
    duration_ms = models.PositiveIntegerField(null=True)
    cached = models.BooleanField(default=False)
    approval_id = models.UUIDField(null=True, db_index=True)
    workflow_run_id = models.UUIDField(null=True)
    trace_id = models.CharField(max_length=32)
    traceparent = models.CharField(
        max_length=55, blank=True, help_text="The span that the call came from"
    )
    idempotency_scope = models.CharField(max_length=120, blank=True)
    idempotency_key = models.CharField(max_length=200, null=True)  # noqa: DJ001  NULL is outside the unique key
    sealed_token = models.BinaryField(default=b"", editable=False)
    scheduled_for = models.DateTimeField(null=True)
    due_at = models.DateTimeField(default=timezone.now)
    hinted_at = models.DateTimeField(default=timezone.now)
    claims = models.PositiveSmallIntegerField(default=0)
    lease = models.CharField(
        max_length=200, blank=True, help_text="host|pid|start of the process, and a nonce"
    )
    lease_until = models.DateTimeField(null=True)
    deadline_at = models.DateTimeField(null=True)
    seal = models.BigIntegerField(null=True, help_text="The audit entry that holds its digest")
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    started_at = models.DateTimeField(null=True)
    completed_at = models.DateTimeField(null=True)

    agent_enabled = True
    """Whether the agent may act; a claim sets it."""

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["skill", "idempotency_scope", "idempotency_key"],
                condition=models.Q(idempotency_key__isnull=False),
                name="execution_once_per_key",
            ),
            models.CheckConstraint(
                condition=models.Q(status__in=Status.values), name="execution_status_known"
            ),
        ]
        indexes = [
            models.Index(fields=["status", "due_at"], name="execution_due"),
            models.Index(fields=["agent", "-id"], name="execution_of_agent"),
            models.Index(fields=["skill", "input_hash", "-completed_at"], name="execution_cache"),
            models.Index(
                fields=["completed_at"],
                condition=models.Q(seal__isnull=True, completed_at__isnull=False),
                name="execution_unsealed",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.skill} {self.id}"


# Django finds an application's models in this module.
from skills.mcp.models import ToolPin  # noqa: E402
from skills.workflows.models import StandIn, StepRecord, StoredWorkflow, WorkflowRun  # noqa: E402

__all__ = [
    "DUE",
    "FINAL",
    "SkillExecution",
    "StandIn",
    "Status",
    "StepRecord",
    "StoredWorkflow",
    "ToolPin",
    "WorkflowRun",
]
