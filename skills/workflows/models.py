"""Stored definitions, runs, and the record of every step. A run that waits is rows and nothing else."""

from typing import Any

from django.core.exceptions import ValidationError
from django.db import models
from django.db.models import Q
from django.utils import timezone

from agents.roles import Role
from chimera.core.actors import history as history_of
from chimera.core.ids import new_id
from chimera.core.models import ExactJSONField


class StoredWorkflow(models.Model):
    """One version of a workflow. A version is never changed; a change is a new version."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    name = models.CharField(max_length=64)
    version = models.PositiveIntegerField()
    definition = ExactJSONField()
    agent = models.ForeignKey(
        "agents.Agent", models.PROTECT, null=True, blank=True, related_name="workflows"
    )
    enabled = models.BooleanField(default=True)
    next_at = models.DateTimeField(null=True, blank=True, help_text="The next scheduled start")
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    history = history_of()

    class Meta:
        app_label = "skills"
        ordering = ["name", "-version"]
        constraints = [
            models.UniqueConstraint(fields=["name", "version"], name="workflow_version_once")
        ]

    def __str__(self) -> str:
        return f"{self.name} v{self.version}"


class StandIn(models.Model):
    """The agent that carries out, in runs of `agent` of this one version, the steps of another role.

    Made by people alone. Every signature that such a step needs is asked for as always.
    """

    workflow = models.CharField(max_length=64, help_text="Name of a built-in or stored workflow")
    version = models.PositiveIntegerField(default=1)
    agent = models.ForeignKey(
        "agents.Agent", models.PROTECT, related_name="+", help_text="Whose runs"
    )
    role = models.CharField(max_length=30, choices=Role, help_text="Which steps")
    stand_in = models.ForeignKey(
        "agents.Agent", models.PROTECT, related_name="+", help_text="Who carries them out"
    )
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    history = history_of()

    class Meta:
        app_label = "skills"
        ordering = ["workflow", "version", "role"]
        constraints = [
            models.UniqueConstraint(
                fields=["workflow", "version", "agent", "role"], name="one_stand_in_per_role"
            )
        ]

    def __str__(self) -> str:
        return f"{self.stand_in} as {self.role} in {self.workflow} v{self.version}"

    def clean(self) -> None:
        if self.stand_in_id and self.stand_in.type != self.role:
            raise ValidationError(
                {"stand_in": f"{self.stand_in} has the role {self.stand_in.type}"}
            )


class RunStatus(models.TextChoices):
    QUEUED = "queued"
    RUNNING = "running"
    BLOCKED = "blocked"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"


ENDED = (RunStatus.COMPLETED, RunStatus.FAILED, RunStatus.CANCELLED)


class WorkflowRun(models.Model):
    """One run of a definition, which is kept as it was when the run began."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    workflow = models.CharField(max_length=64)
    version = models.PositiveIntegerField()
    definition = ExactJSONField()
    agent = models.ForeignKey("agents.Agent", models.PROTECT, related_name="workflow_runs")
    input = ExactJSONField(default=dict)
    output = ExactJSONField(null=True)
    error = ExactJSONField(null=True)
    status = models.CharField(max_length=10, choices=RunStatus, default=RunStatus.QUEUED)
    trace_id = models.CharField(max_length=32, blank=True)
    idempotency_key = models.CharField(max_length=200, null=True)  # noqa: DJ001  NULL is outside the unique key
    request_hash = models.CharField(max_length=64, blank=True)
    due_at = models.DateTimeField(
        null=True, default=timezone.now, help_text="When it is looked at without being woken"
    )
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    completed_at = models.DateTimeField(null=True)

    class Meta:
        app_label = "skills"
        constraints = [
            models.CheckConstraint(
                condition=Q(status__in=RunStatus.values), name="workflow_run_status_known"
            ),
            models.UniqueConstraint(
                fields=["agent", "workflow", "idempotency_key"],
                condition=Q(idempotency_key__isnull=False),
                name="workflow_run_once_per_key",
            ),
        ]
        indexes = [
            models.Index(
                fields=["due_at"], condition=Q(completed_at__isnull=True), name="workflow_run_due"
            ),
            models.Index(fields=["agent", "-id"], name="workflow_run_of_agent"),
        ]

    def __str__(self) -> str:
        return f"{self.workflow} {self.id}"


class StepRecord(models.Model):
    """What became of one step of a run.

    path: position, items and branches joined by dots; `4~2` is step 4 after its list went back twice.
    """

    class State(models.TextChoices):
        RUNNING = "running"
        BLOCKED = "blocked"
        SUCCEEDED = "succeeded"
        FAILED = "failed"
        SKIPPED = "skipped"
        CANCELLED = "cancelled"

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    run = models.ForeignKey(WorkflowRun, models.CASCADE, related_name="records")
    path = models.CharField(max_length=120)
    attempt = models.PositiveSmallIntegerField(default=1)
    label = models.CharField(max_length=80)
    skill_name = models.CharField(max_length=80, blank=True)
    state = models.CharField(max_length=10, choices=State, default=State.RUNNING)
    input = ExactJSONField(null=True)
    output = ExactJSONField(null=True)
    error = ExactJSONField(null=True)
    execution_id = models.UUIDField(null=True, db_index=True)
    approval_id = models.UUIDField(null=True, db_index=True)
    due_at = models.DateTimeField(null=True)
    started_at = models.DateTimeField(default=timezone.now)
    completed_at = models.DateTimeField(null=True)

    class Meta:
        app_label = "skills"
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(fields=["run", "path", "attempt"], name="step_once_per_attempt")
        ]
        indexes = [
            models.Index(
                fields=["execution_id", "approval_id", "run"],
                condition=Q(state__in=["running", "blocked"]),
                name="workflow_steps_open",
            )
        ]

    def __str__(self) -> str:
        return f"{self.path} {self.label}: {self.state}"

    def keep(self, *fields: str) -> None:
        """Save these fields; a record that is new is saved whole."""
        if self._state.adding:
            self.save(force_insert=True)
        else:
            self.save(update_fields=fields)

    def as_dict(self) -> dict[str, Any]:
        """The run record of the workflow document, with what else is known."""
        return {
            "step": self.path,
            "name": self.label,
            "skill_name": self.skill_name or None,
            "status": self.state,
            "attempt": self.attempt,
            "output": self.output,
            "error": self.error["message"] if self.error else None,
            "error_code": self.error["code"] if self.error else None,
            "execution_id": self.execution_id,
            "approval_id": self.approval_id,
            "started_at": self.started_at,
            "completed_at": self.completed_at,
        }
