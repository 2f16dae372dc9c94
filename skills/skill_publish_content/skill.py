"""Publish a content package on a platform, with a person's signed approval of exactly these bytes."""

from datetime import datetime
from typing import Any

from django.conf import settings
from pydantic import (
    AwareDatetime,
    BaseModel,
    ConfigDict,
    Field,
    ValidationInfo,
    field_validator,
)

from approvals.schemas import PlatformName
from chimera.core.clock import Moment, now
from chimera.core.errors import ChimeraError
from chimera.core.grants import Grant
from chimera.core.jsontext import plain
from content import services as content
from content.engagement import engagement_take
from content.models import Publication
from content.schemas import ContentPackage
from content.starting import publication_begin
from skills.contract import STORED, SkillContext
from skills.publishing import PublishingSkill

SNAPSHOT_SEC = 11.0
"""What the first reading of the counts may take; with less time left the scheduled one does it."""


class Input(BaseModel):
    """What to publish where."""

    model_config = ConfigDict(extra="forbid")
    content: ContentPackage = Field(description="The package, exactly as it was approved")
    approval_token: str = Field(
        min_length=1,
        description="Signed approval from a human reviewer (JWT); request_approval over MCP or "
        "POST /api/v1/approvals/ asks for one",
    )
    platform: PlatformName = Field(description="Where to post")
    schedule_time: Moment | None = Field(None, description="When to post; default: at once")

    @field_validator("schedule_time")
    @classmethod
    def _ahead(cls, value: Moment | None, info: ValidationInfo) -> Moment | None:
        if value and value <= now() and info.context != STORED:
            raise ValueError("is in the past; leave it out to publish at once")
        return value


class Counts(BaseModel):
    """Reactions as the platform reports them."""

    likes: int
    comments: int
    shares: int


class Output(BaseModel):
    """The published post."""

    success: bool
    post_id: str
    post_url: str
    platform: PlatformName
    published_at: AwareDatetime
    engagement_snapshot: Counts


class PublishContent(PublishingSkill):
    """Publishes at most once per content and platform."""

    input_model = Input
    output_model = Output
    error_codes = (
        "PUBLISH_FAILED",
        "INVALID_TOKEN",
        "TOKEN_EXPIRED",
        "PLATFORM_ERROR",
        "DUPLICATE_CONTENT",
        "INVALID_CONTENT",
        "SAFETY_VIOLATION",
        "OUTCOME_UNKNOWN",
        "NOT_FOUND",
    )
    field_codes = {"approval_token": "INVALID_TOKEN", "content": "INVALID_CONTENT"}
    secret_field = "approval_token"  # noqa: S105  the name of a field

    def action(self, ctx: SkillContext[Input]) -> dict[str, Any]:
        """What would be sent: the text given, the media as they are now, the account that was approved."""
        package = plain(ctx.params.content)
        stored = content.content_get(package["content_id"])
        standing = content.publication_of(stored.id, ctx.params.platform)
        if standing:
            raise content.duplicate_error(standing)
        revision = stored.current
        if (
            ctx.approved is None
            or content.content_sha256(package, content.stated_hashes(package)) != revision.sha256
        ):
            raise ChimeraError(
                "INVALID_TOKEN", "The content is not the approved revision; ask for a new approval"
            )
        account = content.account_for(
            content=stored,
            caller=ctx.caller,
            platform=ctx.params.platform,
            handle=ctx.approved.get("account"),
            mode=settings.CHIMERA.chimera_platform,
        )
        try:
            return content.publish_action(
                revision=revision,
                platform=ctx.params.platform,
                account=account,
                schedule_time=ctx.params.schedule_time,
                fallback_platforms=ctx.approved.get("fallback_platforms"),
            )
        except ChimeraError as problem:
            if problem.code != "INVALID_CONTENT":
                raise
            raise ChimeraError(
                "INVALID_TOKEN", f"{problem.message}; ask for a new approval"
            ) from None

    def begin(self, ctx: SkillContext[Input], grant: Grant) -> datetime | None:
        publication_begin(grant=grant, schedule_time=ctx.params.schedule_time)
        return ctx.params.schedule_time

    def output(self, ctx: SkillContext[Input], publication: Publication) -> Any:
        if not publication.engagement and ctx.seconds_left(60) > SNAPSHOT_SEC:
            engagement_take(publication)
        return plain(publication.as_output())
