"""Agents, their personas, campaigns and credentials."""

from datetime import timedelta
from typing import Any

from django.conf import settings
from django.db import models
from django.utils import timezone

from agents.roles import AVAILABILITY, SILENCE, Role, Status
from chimera.core.actors import history as history_of
from chimera.core.ids import new_id
from chimera.core.models import ExactJSONField


class Agent(models.Model):
    """A program that acts for the company, under one role."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    name = models.CharField(max_length=100)
    type = models.CharField(max_length=30, choices=Role)
    capabilities = models.JSONField(default=list)
    status = models.CharField(max_length=10, choices=Status, default=Status.ACTIVE)
    status_reason = models.CharField(max_length=500, blank=True)
    enabled = models.BooleanField(
        default=True, help_text="Off: all its tokens and jobs stop at once"
    )
    pending_tasks = models.PositiveIntegerField(default=0)
    max_concurrent_tasks = models.PositiveSmallIntegerField(default=5)
    pricing = ExactJSONField(null=True, blank=True)
    supported_platforms = models.JSONField(default=list, blank=True)
    tasks_succeeded = models.PositiveIntegerField(default=0)
    tasks_failed = models.PositiveIntegerField(default=0)
    rejection_count = models.PositiveIntegerField(default=0)
    last_heartbeat = models.DateTimeField(default=timezone.now)
    last_execution = models.DateTimeField(null=True, blank=True)
    version = models.PositiveIntegerField(default=1)
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        models.SET_NULL,
        null=True,
        blank=True,
        help_text="The person answerable for it",
    )
    history = history_of(excluded_fields=["last_heartbeat", "last_execution"])

    class Meta:
        ordering = ["name"]
        constraints = [
            models.CheckConstraint(
                condition=models.Q(type__in=Role.values), name="agent_type_known"
            ),
            models.CheckConstraint(
                condition=models.Q(status__in=Status.values), name="agent_status_known"
            ),
            models.CheckConstraint(
                condition=models.Q(max_concurrent_tasks__range=(1, 100)),
                name="agent_concurrency_1_to_100",
            ),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def actor(self) -> str:
        """How the audit log names this agent."""
        return f"agent:{self.id}"

    @property
    def availability(self) -> str:
        """active, busy, unavailable or maintenance; silent for four hours is unavailable."""
        if timezone.now() - self.last_heartbeat > SILENCE or not self.enabled:
            return "unavailable"
        return AVAILABILITY[Status(self.status)]

    @property
    def reputation_score(self) -> float:
        """Share of verified successes with Laplace smoothing, 0..1."""
        return (self.tasks_succeeded + 1) / (self.tasks_succeeded + self.tasks_failed + 2)

    @property
    def uptime_24h(self) -> float:
        """Share of the last 24 hours (or of its life) in which it was heard, 0..100."""
        start = max(timezone.now() - timedelta(hours=24), self.created_at)
        hours = max(1, -(-(timezone.now() - start) // timedelta(hours=1)))
        heard = self.heard.filter(
            hour__gte=start.replace(minute=0, second=0, microsecond=0)
        ).count()
        return round(min(100.0, 100.0 * heard / hours), 1)


class StateChange(models.Model):
    """What an execution did to an agent's state: the same execution finds here that it was done."""

    execution_id = models.UUIDField(primary_key=True)
    agent = models.ForeignKey(Agent, models.CASCADE, related_name="state_changes")
    output = ExactJSONField(default=dict)
    at = models.DateTimeField(default=timezone.now, editable=False)

    def __str__(self) -> str:
        return f"{self.agent_id} at {self.at:%Y-%m-%d %H:%M}"


class AgentKey(models.Model):
    """The Ed25519 key that an agent signs with, and the number of its newest signed statement."""

    agent = models.OneToOneField(
        Agent, models.CASCADE, related_name="signing_key", primary_key=True
    )
    kid = models.CharField(max_length=64, unique=True, help_text="RFC 7638 thumbprint")
    public_jwk = models.JSONField()
    sealed_private = models.BinaryField(editable=False)
    sequence = models.PositiveBigIntegerField(default=0)
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    def __str__(self) -> str:
        return self.kid


class Registration(models.Model):
    """A signed profile on its way into the agent directory; kept before it is sent."""

    execution_id = models.UUIDField(primary_key=True)
    agent = models.ForeignKey(Agent, models.CASCADE, related_name="registrations")
    sequence = models.PositiveBigIntegerField()
    digest = models.CharField(max_length=64, help_text="Of the agent's own profile at that time")
    profile = models.JSONField(help_text="As signed")
    signature = models.TextField()
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    entry = models.JSONField(null=True, help_text="What the directory answered")
    confirmed_at = models.DateTimeField(
        null=True, help_text="When the directory was seen to hold it"
    )

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["agent", "sequence"], name="registration_once_per_sequence"
            )
        ]

    def __str__(self) -> str:
        return f"{self.agent_id} #{self.sequence}"


class HeardHour(models.Model):
    """An hour in which an agent called."""

    agent = models.ForeignKey(Agent, models.CASCADE, related_name="heard")
    hour = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["agent", "hour"], name="heard_hour_once")]

    def __str__(self) -> str:
        return f"{self.agent} at {self.hour:%Y-%m-%d %H}h"


class Persona(models.Model):
    """The voice an agent speaks in: the Persona schema, one per agent, every version kept."""

    agent = models.OneToOneField(Agent, models.CASCADE, related_name="persona", primary_key=True)
    data = ExactJSONField(help_text="Persona schema without agent_id, version and times")
    version = models.PositiveIntegerField(default=1)
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    updated_at = models.DateTimeField(auto_now=True)
    history = history_of()

    def __str__(self) -> str:
        return f"{self.data.get('name', self.agent.name)} v{self.version}"

    def as_dict(self) -> dict[str, Any]:
        """The Persona as the schemas define it."""
        return {
            "agent_id": self.agent_id,
            **self.data,
            "created_at": self.created_at,
            "updated_at": self.updated_at,
            "version": self.version,
        }


class Campaign(models.Model):
    """What an agent works towards, with its budget, trend filters and content guidelines."""

    class State(models.TextChoices):
        ACTIVE = "active"
        PAUSED = "paused"
        COMPLETED = "completed"
        ARCHIVED = "archived"

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    agent = models.ForeignKey(Agent, models.PROTECT, related_name="campaigns")
    name = models.CharField(max_length=200)
    goal = models.TextField(max_length=1000)
    status = models.CharField(max_length=10, choices=State, default=State.ACTIVE)
    start_date = models.DateField()
    end_date = models.DateField(null=True, blank=True)
    budget = ExactJSONField(help_text="total_amount, cost_per_post?, currency")
    trend_filters = ExactJSONField(default=dict)
    content_guidelines = ExactJSONField(default=dict)
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    history = history_of()

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=models.Q(end_date__isnull=True)
                | models.Q(end_date__gte=models.F("start_date")),
                name="campaign_ends_after_start",
            )
        ]

    def __str__(self) -> str:
        return self.name


class Credential(models.Model):
    """An OAuth2 client of an agent and the scopes it may ask for. The secret is kept as a hash only."""

    application = models.OneToOneField(
        "oauth2_provider.Application", models.CASCADE, related_name="credential", primary_key=True
    )
    agent = models.ForeignKey(Agent, models.CASCADE, related_name="credentials")
    scopes = models.JSONField(default=list)
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    history = history_of()

    def __str__(self) -> str:
        return f"credential of {self.agent}"
