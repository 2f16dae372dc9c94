"""The contracts of what agents make: trends and content packages."""

from datetime import timedelta
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import (
    BeforeValidator,
    ConfigDict,
    Field,
    WithJsonSchema,
    computed_field,
    field_validator,
    model_validator,
)

from agents.schemas import Region
from agents.wire import Count, Number, Share, Timestamp, Uri, WireModel, Word, number, optional
from chimera.core import clock
from content.tweets import tweet_weight

HALF_LIFE = timedelta(hours=6)
HISTORICAL_AGE = timedelta(days=30)
CLOCK_TOLERANCE = timedelta(minutes=5)
SCORE_TOLERANCE = 0.01
REVIEW_BELOW = 0.8
TWEET_WEIGHT = 280

Platform = Literal["twitter", "tiktok", "instagram", "youtube"]
TrendSource = Literal["twitter", "news", "market", "reddit", "tiktok"]
ContentType = Literal["video_script", "carousel", "single_post", "thread"]
Sentiment = Literal["positive", "neutral", "negative", "mixed", "unknown"]
Category = Literal["technology", "fashion", "finance", "entertainment", "news", "crypto", "other"]
_COMPUTED = ("decay_score", "historical")
HASHTAG = r"^#\w{1,30}$"
SHA256 = r"^[0-9a-f]{64}$"


class Engagement(WireModel):
    """How many people reacted; engagement_score = likes + 2 comments + 3 shares."""

    likes: Count = Field(description="Likes")
    comments: Count = Field(description="Comments")
    shares: Count = Field(description="Shares")
    impressions: Count = Field(description="Views")
    engagement_score: Annotated[int, WithJsonSchema({"type": "number", "minimum": 0})] = Field(
        description="likes + 2 * comments + 3 * shares, checked to 0.01"
    )

    @field_validator("engagement_score", mode="wrap")
    @classmethod
    def _formula(cls, value: Any, _handler: Any, info: Any) -> int:
        data = info.data
        if not {"likes", "comments", "shares"} <= data.keys():
            return 0  # the counts have errors of their own
        expected: int = data["likes"] + 2 * data["comments"] + 3 * data["shares"]
        if abs(number(value) - expected) > SCORE_TOLERANCE:
            raise ValueError(f"must be likes + 2 * comments + 3 * shares = {expected}")
        return expected

    def warnings(self) -> list[str]:
        """What is odd about the numbers though not wrong."""
        reactions = self.likes + self.comments + self.shares
        if self.impressions < reactions:
            return [f"impressions {self.impressions} are fewer than the reactions {reactions}"]
        return []


class TrendMetadata(WireModel):
    """Where a trend comes from and what it is about."""

    hashtags: list[Word] = Field(default=[], max_length=50, description="Hashtags of the trend")
    mentions: list[Word] = Field(default=[], max_length=50, description="Accounts named")
    source_urls: list[Uri] = Field(default=[], max_length=10, description="Where it was found")
    category: Category = Field(default="other", description="Subject; other when unclassifiable")
    engagement_known: bool = Field(
        default=True, strict=True, description="False where the source counts no reactions"
    )


def _accept_computed(schema: dict[str, Any]) -> None:
    """A trend that was read may be given back as it is."""
    for name in _COMPUTED:
        schema["properties"].setdefault(name, {"description": "Computed; ignored on input"})


class TrendData(WireModel):
    """One trend. `decay_score` is computed when the model is written and ignored when read."""

    trend_id: UUID = Field(description="Id of the trend")
    topic: str = Field(min_length=1, max_length=500, description="What the trend is about")
    platform: TrendSource = Field(description="Where the trend was seen")
    sentiment: Sentiment = Field(description="unknown below a classifier confidence of 0.7")
    timestamp: Timestamp = Field(description="When the trend was seen, UTC; not in the future")
    engagement: Engagement = Field(description="Reactions")
    trend_velocity: Number = Field(description="24 h score divided by 7 d score")
    geographic_origin: Region | None = optional("Where the trend started")
    metadata: TrendMetadata = Field(
        default_factory=TrendMetadata, description="Hashtags, sources, category"
    )

    model_config = ConfigDict(json_schema_extra=_accept_computed)

    @model_validator(mode="before")
    @classmethod
    def _drop_computed(cls, data: Any) -> Any:
        if isinstance(data, dict):
            return {k: v for k, v in data.items() if k not in _COMPUTED}
        return data

    @field_validator("timestamp")
    @classmethod
    def _not_in_the_future(cls, value: Timestamp) -> Timestamp:
        if value > clock.now() + CLOCK_TOLERANCE:
            raise ValueError("is in the future; give the time the trend was seen")
        return value

    @computed_field(description="Freshness 0..1, half-life 6 hours")  # type: ignore[prop-decorator]
    @property
    def decay_score(self) -> float:
        return self.decay_at(clock.now())

    @computed_field(  # type: ignore[prop-decorator]
        description="Present and true when the trend is older than 30 days",
        exclude_if=lambda value: not value,
    )
    @property
    def historical(self) -> bool:
        return clock.now() - self.timestamp > HISTORICAL_AGE

    def decay_at(self, now: Timestamp) -> float:
        """Freshness at a moment: 1 when seen, halved every 6 hours."""
        age = max(timedelta(0), now - self.timestamp)
        return round(float(0.5 ** (age / HALF_LIFE)), 6)

    def stable(self) -> dict[str, Any]:
        """The trend without what changes as time passes: for digests and cache keys."""
        return self.model_dump(mode="json", exclude_computed_fields=True)

    def source_text(self) -> str:
        """Everything the trend says, as one text."""
        meta = self.metadata
        counts = " ".join(map(str, self.engagement.model_dump().values()))
        return "\n".join([self.topic, *meta.hashtags, *meta.mentions, *meta.source_urls, counts])


class MediaMetadata(WireModel):
    """One image or video of a package."""

    url: Uri = Field(description="Where the file lies")
    type: Literal["image", "video"] = Field(description="Kind of file")
    duration_sec: Annotated[float, Field(ge=0, le=600), BeforeValidator(number)] | None = optional(
        "Length of a video in seconds"
    )
    size_bytes: Count | None = optional("Size of the file in bytes")
    generated_by: Literal["ideogram", "runwayml", "sandbox"] | None = optional("Tool that made it")
    sha256: str | None = optional("SHA-256 of the bytes, lower-case hex", pattern=SHA256)


class GenerationMetadata(WireModel):
    """How a package was made."""

    generator_agent: str = Field(description="Agent that made it")
    model: str = Field(description="Model that wrote it")
    persona_applied: Literal["strict", "flexible", "experimental"] = Field(
        description="How closely the persona was followed"
    )
    safety_checks_passed: bool = Field(strict=True, description="No offensive language found")
    generation_time_ms: Count = Field(description="Time taken in milliseconds")


class TwitterVariant(WireModel):
    """A post on X."""

    text: str = Field(min_length=1, description="Post, at most 280 weighted characters")
    media_ids: list[Word] = Field(default=[], description="Media uploaded before")

    @field_validator("text")
    @classmethod
    def _fits(cls, value: str) -> str:
        weight = tweet_weight(value)
        if weight > TWEET_WEIGHT:
            raise ValueError(f"has {weight} weighted characters; shorten it to {TWEET_WEIGHT}")
        return value


class TikTokVariant(WireModel):
    """A video on TikTok."""

    video_url: Uri | None = optional("The video")
    description: str = Field(max_length=2200, description="Text under the video")
    sound_id: str | None = optional("Sound to use")


class InstagramVariant(WireModel):
    """A post on Instagram."""

    carousel_items: list[Word] = Field(default=[], max_length=10, description="Slides in order")
    caption: str = Field(max_length=2200, description="Text under the post")


class YouTubeVariant(WireModel):
    """A video on YouTube."""

    title: str = Field(min_length=1, max_length=100, description="Title of the video")
    description: str = Field(max_length=5000, description="Text under the video")


class PlatformVariants(WireModel):
    """What is posted on each platform, where it differs from captions and hashtags."""

    twitter: TwitterVariant | None = optional("Post on X")
    tiktok: TikTokVariant | None = optional("Video on TikTok")
    instagram: InstagramVariant | None = optional("Post on Instagram")
    youtube: YouTubeVariant | None = optional("Video on YouTube")


class ContentPackage(WireModel):
    """A post in the making: text, media and where it comes from."""

    content_id: UUID = Field(description="Id of the package")
    task_id: UUID = Field(description="Task it was made for")
    trend_ref: UUID = Field(description="Trend it was made from")
    script: str = Field(min_length=50, max_length=5000, description="The full script")
    media_urls: list[Uri] = Field(
        max_length=10, description="Images and videos; empty only where media are switched off"
    )
    captions: str = Field(min_length=20, max_length=2000, description="Text of the post")
    hashtags: list[Annotated[str, Field(pattern=HASHTAG)]] = Field(
        min_length=3, max_length=30, description="Hashtags, each with its #"
    )
    confidence_score: Share = Field(description="How sure the writer is, 0..1")
    requires_review: bool = Field(
        strict=True, description="True whenever confidence_score is below 0.8"
    )
    media_metadata: list[MediaMetadata] | None = optional("One entry per file")
    generation_metadata: GenerationMetadata | None = optional("How it was made")
    platform_variants: PlatformVariants | None = optional("Texts per platform")

    @field_validator("requires_review")
    @classmethod
    def _low_confidence_is_reviewed(cls, value: bool, info: Any) -> bool:
        if not value and info.data.get("confidence_score", 1) < REVIEW_BELOW:
            raise ValueError(f"must be true when confidence_score is below {REVIEW_BELOW}")
        return value
