"""Trends, content packages with their revisions, platform accounts and publications."""

from typing import Any

from django.db import models
from django.utils import timezone

from chimera.core.actors import history as history_of
from chimera.core.ids import new_id
from chimera.core.models import ExactJSONField
from content.mediatools.models import MediaOrder as MediaOrder


class Platform(models.TextChoices):
    TWITTER = "twitter", "X"
    TIKTOK = "tiktok", "TikTok"
    INSTAGRAM = "instagram", "Instagram"
    YOUTUBE = "youtube", "YouTube"


class Trend(models.Model):
    """A trend that content was made from, as it was seen then (TrendData)."""

    id = models.UUIDField(primary_key=True, editable=False)
    topic = models.CharField(max_length=500)
    platform = models.CharField(max_length=20)
    data = ExactJSONField()
    seen_at = models.DateTimeField(default=timezone.now)

    def __str__(self) -> str:
        return self.topic


class ContentPackage(models.Model):
    """What an agent made; its text lives in revisions that never change."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    task_id = models.UUIDField(default=new_id, db_index=True)
    agent = models.ForeignKey("agents.Agent", models.PROTECT, related_name="contents")
    trend_ref = models.UUIDField(null=True)
    trends = models.ManyToManyField(Trend, blank=True, related_name="contents")
    revision = models.PositiveIntegerField(default=1, help_text="Number of the current revision")
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    history = history_of()

    def __str__(self) -> str:
        return str(self.id)

    @property
    def current(self) -> "ContentRevision":
        """The revision in force."""
        return self.revisions.get(number=self.revision)


class ContentRevision(models.Model):
    """One state of a package: the ContentPackage schema and its hash. Append-only."""

    content = models.ForeignKey(ContentPackage, models.PROTECT, related_name="revisions")
    number = models.PositiveIntegerField()
    data = ExactJSONField()
    sha256 = models.CharField(max_length=64)
    created_by = models.CharField(max_length=200)
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["content", "number"], name="content_revision_once")
        ]

    def __str__(self) -> str:
        return f"{self.content_id} r{self.number}"


class Validation(models.Model):
    """The verdict of the rules on one revision, or on a package that is not stored. The newest counts.

    key: digest of everything the verdict depends on; empty where the rules did not end.
    """

    revision = models.ForeignKey(
        ContentRevision, models.CASCADE, null=True, related_name="validations"
    )
    key = models.CharField(max_length=64, blank=True, db_index=True)
    valid = models.BooleanField()
    confidence = models.DecimalField(max_digits=5, decimal_places=4)
    issues = models.JSONField(default=list)
    ruleset = models.CharField(max_length=40)
    persona_version = models.PositiveIntegerField(default=0)
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    def __str__(self) -> str:
        return f"{'valid' if self.valid else 'not valid'} ({self.ruleset})"


class PlatformAccount(models.Model):
    """An account on a platform that agents may post to, once a person has approved the post.

    sealed_credentials: see `content.connections`; empty where nothing is connected. refresh_until:
    until then one worker alone renews the access token.
    """

    class Mode(models.TextChoices):
        SANDBOX = "sandbox", "Sandbox world"
        LOCAL = "local", "Local servers"
        LIVE = "live", "The real network"

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    platform = models.CharField(max_length=20, choices=Platform)
    handle = models.CharField(max_length=100, help_text="Without a leading @")
    mode = models.CharField(max_length=10, choices=Mode, default=Mode.SANDBOX)
    agent = models.ForeignKey(
        "agents.Agent", models.PROTECT, null=True, blank=True, related_name="accounts"
    )
    base_url = models.URLField(blank=True, help_text="Empty: the network's own address")
    sealed_credentials = models.BinaryField(default=b"", editable=False)
    refresh_until = models.DateTimeField(null=True, editable=False)
    enabled = models.BooleanField(default=True)
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    history = history_of(excluded_fields=["sealed_credentials", "refresh_until"])

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["platform", "handle", "mode"], name="account_once")
        ]

    def __str__(self) -> str:
        return f"@{self.handle} on {self.get_platform_display()}"


class Publication(models.Model):
    """The intent to publish one revision on one platform, and what became of it.

    scheduled -> publishing -> published | publish_failed | outcome_unknown. `armed_at` is committed
    before the one call that changes the platform; a row that is armed is looked up, never sent blindly.
    begun_at: when it was armed for the first time. An approval has one row for its platform and one
    for each fallback that was needed; at most one of them is not failed.
    """

    class State(models.TextChoices):
        SCHEDULED = "scheduled"
        PUBLISHING = "publishing"
        PUBLISHED = "published"
        PUBLISH_FAILED = "publish_failed"
        OUTCOME_UNKNOWN = "outcome_unknown"
        WITHDRAWN = "withdrawn"

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    content = models.ForeignKey(ContentPackage, models.PROTECT, related_name="publications")
    revision = models.PositiveIntegerField()
    platform = models.CharField(max_length=20, choices=Platform)
    account = models.ForeignKey(PlatformAccount, models.PROTECT, related_name="publications")
    text = models.TextField()
    media = models.JSONField(default=list)
    action_digest = models.CharField(max_length=64)
    approval_id = models.UUIDField()
    execution_id = models.UUIDField(db_index=True)
    agent = models.ForeignKey("agents.Agent", models.PROTECT, related_name="publications")
    reviewer_id = models.CharField(max_length=64)
    state = models.CharField(max_length=20, choices=State, default=State.PUBLISHING)
    armed_at = models.DateTimeField(null=True)
    begun_at = models.DateTimeField(null=True)
    attempts = models.PositiveSmallIntegerField(default=0)
    handles = models.JSONField(
        default=dict, help_text="Remote ids of uploads, containers and sessions, by name"
    )
    post_id = models.CharField(max_length=200, blank=True)
    post_url = models.URLField(max_length=500, blank=True)
    scheduled_for = models.DateTimeField(null=True)
    published_at = models.DateTimeField(null=True)
    engagement = models.JSONField(default=dict)
    error = models.CharField(max_length=500, blank=True)
    failure_code = models.CharField(max_length=40, blank=True)
    fallbacks = models.JSONField(
        default=list, help_text="Platforms the approval names for when this one fails, in order"
    )
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["content", "platform"],
                condition=~models.Q(state="publish_failed"),
                name="content_published_once_per_platform",
            ),
            models.UniqueConstraint(
                fields=["approval_id"],
                condition=~models.Q(state="publish_failed"),
                name="approval_published_once",
            ),
            models.UniqueConstraint(
                fields=["approval_id", "platform"], name="approval_tried_once_per_platform"
            ),
            models.CheckConstraint(
                condition=~models.Q(state="published") | ~models.Q(post_id=""),
                name="published_has_a_post_id",
            ),
        ]
        indexes = [models.Index(fields=["state", "-created_at"], name="publication_state")]

    def __str__(self) -> str:
        return f"{self.content_id} on {self.platform}"

    def as_output(self) -> dict[str, Any]:
        """The output of publish_content."""
        counts = {"likes": 0, "comments": 0, "shares": 0} | self.engagement
        return {
            "success": self.state == self.State.PUBLISHED,
            "post_id": self.post_id,
            "post_url": self.post_url,
            "platform": self.platform,
            "published_at": self.published_at,
            "engagement_snapshot": counts,
        }
