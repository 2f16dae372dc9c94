"""Approval requests, the decisions on them, the tokens that carry a yes, and the keys that sign it."""

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils import timezone

from chimera.core.actors import history as history_of
from chimera.core.ids import new_id
from chimera.core.models import ExactJSONField


class Kind(models.TextChoices):
    PUBLISH = "publish_content", "Post"
    DEBIT = "debit_wallet", "Payment"
    INTENT = "execute_publish_intent", "Intent"
    QUESTION = "workflow_question", "Question"


POSTS = (Kind.PUBLISH, Kind.INTENT)


class Status(models.TextChoices):
    PENDING = "pending"
    APPROVED = "approved"
    REJECTED = "rejected"
    CHANGES_REQUESTED = "changes_requested"
    EXPIRED = "expired"
    REVOKED = "revoked"
    CONSUMED = "consumed"


class Lane(models.TextChoices):
    FAST = "fast"
    STANDARD = "standard"
    CAREFUL = "careful"


LANE_ORDER = models.Case(
    *(models.When(lane=lane, then=number) for number, lane in enumerate(Lane.values)),
    output_field=models.IntegerField(),
)


class RequestQuerySet(models.QuerySet["ApprovalRequest"]):
    """Sets of approval requests."""

    def waiting(self) -> "RequestQuerySet":
        """Waiting for a person, and still in time."""
        return self.filter(status=Status.PENDING, expires_at__gt=timezone.now())

    def out_of_time(self) -> "RequestQuerySet":
        """Open, but nobody decided in time, or nobody used the token."""
        moment = timezone.now()
        undecided = Q(status=Status.PENDING, expires_at__lte=moment)
        return self.filter(undecided | Q(status=Status.APPROVED, token_expires_at__lte=moment))

    def in_inbox_order(self) -> "RequestQuerySet":
        """By lane, then by time left."""
        return self.order_by(LANE_ORDER, "expires_at", "id")


class ApprovalRequest(models.Model):
    """One frozen action and what a person said of it. The row is the authority, the token evidence."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    kind = models.CharField(max_length=30, choices=Kind)
    action = ExactJSONField()
    action_digest = models.CharField(max_length=64)
    sentence = models.CharField(
        max_length=400, help_text="What will happen, in one line made by the server"
    )
    lane = models.CharField(max_length=10, choices=Lane)
    confidence = models.DecimalField(max_digits=5, decimal_places=4, null=True)
    context = ExactJSONField(
        default=dict, help_text="What the reviewer is shown, as it was when the request was made"
    )
    agent = models.ForeignKey("agents.Agent", models.PROTECT, related_name="approval_requests")
    execution_id = models.UUIDField(
        null=True, help_text="The execution that waits for the decision"
    )
    status = models.CharField(max_length=20, choices=Status, default=Status.PENDING)
    reason = models.CharField(max_length=1000, blank=True)
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    expires_at = models.DateTimeField()
    decided_at = models.DateTimeField(null=True)
    token_expires_at = models.DateTimeField(null=True)
    consumed_at = models.DateTimeField(null=True)
    consumed_by = models.UUIDField(null=True, help_text="The execution that used the approval up")
    revoked_at = models.DateTimeField(null=True)
    history = history_of(excluded_fields=["context"])
    objects = RequestQuerySet.as_manager()

    class Meta:
        permissions = [("decide", "Can approve and reject requests")]
        constraints = [
            models.UniqueConstraint(
                fields=["agent", "action_digest"],
                condition=Q(status__in=["pending", "approved"]),
                name="one_open_request_per_action",
            ),
            models.CheckConstraint(
                condition=~Q(status="consumed") | Q(consumed_by__isnull=False),
                name="consumed_by_an_execution",
            ),
        ]
        indexes = [models.Index(fields=["status", "lane", "expires_at"], name="inbox")]

    def __str__(self) -> str:
        return self.sentence

    @property
    def short_digest(self) -> str:
        """The first twelve digits of the digest, for people to compare."""
        return self.action_digest[:12]

    @property
    def is_out_of_time(self) -> bool:
        """As `RequestQuerySet.out_of_time` of an open one."""
        until = self.expires_at if self.status == Status.PENDING else self.token_expires_at
        return until is not None and until <= timezone.now()

    @property
    def is_open(self) -> bool:
        """A person may still decide."""
        return self.status == Status.PENDING and self.expires_at > timezone.now()


class Decision(models.Model):
    """What a person said, of which digest, with how fresh a sign-in. Append-only."""

    class Verdict(models.TextChoices):
        APPROVE = "approve"
        REJECT = "reject"
        REQUEST_CHANGES = "request_changes"
        REVOKE = "revoke"

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    request = models.ForeignKey(ApprovalRequest, models.PROTECT, related_name="decisions")
    reviewer = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, related_name="decisions")
    verdict = models.CharField(max_length=20, choices=Verdict)
    reason = models.CharField(max_length=1000, blank=True)
    action_digest = models.CharField(max_length=64)
    auth_time = models.DateTimeField(
        null=True, help_text="When the reviewer last proved who they are"
    )
    signed_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        ordering = ["signed_at"]

    def __str__(self) -> str:
        return f"{self.verdict} by {self.reviewer}"


class ApprovalToken(models.Model):
    """The signed token of an approved request, encrypted, until it is used or has expired."""

    request = models.OneToOneField(
        ApprovalRequest, models.CASCADE, primary_key=True, related_name="token"
    )
    jti = models.CharField(max_length=64, unique=True)
    kid = models.CharField(max_length=64)
    sealed = models.BinaryField()

    def __str__(self) -> str:
        return f"token {self.jti}"


class SigningKey(models.Model):
    """The public half of an approval key.

    kind: person, what a signed-in person has set in motion; its private half is a file that only the
    web process opens. judge, what the sandbox's judge may say yes to; its private half stays in the
    memory of one process, and no deployment but a sandbox takes its signature.
    """

    class Kind(models.TextChoices):
        PERSON = "person"
        JUDGE = "judge"

    class State(models.TextChoices):
        ACTIVE = "active"
        RETIRING = "retiring"
        REVOKED = "revoked"

    kid = models.CharField(max_length=64, primary_key=True, help_text="RFC 7638 thumbprint")
    public_jwk = models.JSONField()
    kind = models.CharField(max_length=10, choices=Kind, default=Kind.PERSON)
    state = models.CharField(max_length=10, choices=State, default=State.ACTIVE)
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    history = history_of()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["state"],
                condition=Q(state="active", kind="person"),
                name="one_active_signing_key",
            )
        ]

    def __str__(self) -> str:
        return f"{self.kid} ({self.state})"


class LowConfidenceAttempt(models.Model):
    """A request that was refused for its low confidence; the fourth of a task is taken."""

    task_id = models.UUIDField(db_index=True)
    content_id = models.UUIDField()
    confidence = models.DecimalField(max_digits=5, decimal_places=4)
    at = models.DateTimeField(default=timezone.now)

    def __str__(self) -> str:
        return f"{self.task_id}: {self.confidence}"


class Escalation(models.Model):
    """Something that only a person can put right, with what the person needs to know. No approval:
    it allows nothing. The same trouble of the same agent is one item that counts.
    """

    class State(models.TextChoices):
        OPEN = "open"
        SETTLED = "settled"

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    agent = models.ForeignKey("agents.Agent", models.PROTECT, related_name="escalations")
    execution_id = models.UUIDField(null=True, db_index=True, help_text="The newest execution")
    skill = models.CharField(max_length=70)
    code = models.CharField(max_length=40)
    subject = models.CharField(
        max_length=200, blank=True, help_text="What it is about, where one item each is wanted"
    )
    sentence = models.CharField(max_length=400)
    context = ExactJSONField(default=dict)
    count = models.PositiveIntegerField(default=1)
    state = models.CharField(max_length=10, choices=State, default=State.OPEN)
    note = models.CharField(max_length=1000, blank=True)
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    last_at = models.DateTimeField(default=timezone.now)
    settled_at = models.DateTimeField(null=True)
    settled_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.PROTECT, null=True, related_name="settled_escalations"
    )

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["agent", "skill", "code", "subject"],
                condition=Q(state="open"),
                name="one_open_escalation_per_trouble",
            )
        ]
        indexes = [models.Index(fields=["state", "-last_at"], name="escalations_open")]

    def __str__(self) -> str:
        return f"{self.code}: {self.sentence}"
