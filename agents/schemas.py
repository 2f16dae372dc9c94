"""The contracts of who acts: agent profiles and personas."""

from enum import StrEnum
from typing import Annotated, Literal
from uuid import UUID

from pydantic import BeforeValidator, Field, model_validator

from agents.roles import SILENCE, Role, Status
from agents.wire import (
    Count,
    Percent,
    Share,
    Timestamp,
    Version,
    WireModel,
    Word,
    optional,
    whole,
)
from chimera.core import clock
from chimera.core.money import Money

Region = Literal["global", "US", "EU", "LATAM", "APAC", "AFRICA", "MENA"]
VoiceTone = Literal["formal", "casual", "humorous", "technical", "inspirational", "edgy"]
EmojiUsage = Literal["none", "minimal", "moderate", "heavy"]


class Capability(StrEnum):
    """What an agent says it can do."""

    TREND_ANALYSIS = "trend_analysis"
    VIDEO_GENERATION = "video_generation"
    IMAGE_GENERATION = "image_generation"
    CONTENT_WRITING = "content_writing"
    SOCIAL_ENGAGEMENT = "social_engagement"
    BUDGET_MANAGEMENT = "budget_management"
    QUALITY_CONTROL = "quality_control"


class Availability(StrEnum):
    """What the world outside sees of an agent's state."""

    ACTIVE = "active"
    BUSY = "busy"
    UNAVAILABLE = "unavailable"
    MAINTENANCE = "maintenance"


class Pricing(WireModel):
    """What an agent asks for its work."""

    currency: Literal["USDC", "ETH", "BASE"] = Field(description="Currency of the rates")
    rate_per_task: Annotated[Money, Field(ge=0)] = Field(description="Price of one task")
    rate_per_hour: Annotated[Money, Field(ge=0)] | None = optional("Price of one hour")


class PublicAgentProfile(WireModel):
    """The part of a profile that is published to an agent directory."""

    agent_id: UUID = Field(description="Id of the agent")
    name: str = Field(min_length=3, max_length=100, description="Name shown to people")
    type: Role = Field(description="Role of the agent")
    capabilities: list[Capability] = Field(
        min_length=1, max_length=10, description="What the agent can do"
    )
    availability: Availability = Field(
        description="unavailable when the last heartbeat is older than 4 hours"
    )
    pending_tasks: Count = Field(description="Tasks accepted and not finished")
    max_concurrent_tasks: Annotated[int, Field(ge=1, le=100), BeforeValidator(whole)] = Field(
        default=5, description="Tasks the agent takes at once"
    )
    pricing: Pricing | None = optional("Prices, where the agent sells its work")
    reputation_score: Share = Field(
        description="Successes per completed task with Laplace smoothing"
    )
    uptime_24h: Percent = Field(description="Percent of the last 24 hours")
    last_heartbeat: Timestamp = Field(description="When the agent last reported, UTC")
    supported_platforms: (
        list[Literal["twitter", "tiktok", "instagram", "youtube", "news"]] | None
    ) = optional("Platforms the agent works on")

    @model_validator(mode="after")
    def _silent_is_unavailable(self) -> "PublicAgentProfile":
        if clock.now() - self.last_heartbeat > SILENCE:
            self.availability = Availability.UNAVAILABLE
        return self


class AgentProfile(PublicAgentProfile):
    """The whole profile, as the platform's own skills read and write it."""

    rejection_count: Count = Field(description="Contents refused for safety or by a reviewer")
    status: Status = Field(description="State of the agent")
    wallet_address: str | None = optional(
        "Address of the agent's wallet", pattern=r"^0x[0-9a-fA-F]{40}$"
    )
    wallet_balance: Annotated[Money, Field(ge=0)] | None = optional(
        "Available balance of the wallet, from the ledger"
    )
    last_execution: Timestamp | None = optional("When the agent last ran a skill, UTC")
    persona_version: Version | None = optional("Version of the agent's persona")
    version: Version = Field(description="Rises with each change; for optimistic locking")

    def public(self) -> PublicAgentProfile:
        """The profile without what stays inside the platform."""
        fields = set(PublicAgentProfile.model_fields)
        return PublicAgentProfile.model_validate(self.model_dump(include=fields))


class TargetAudience(WireModel):
    """Who the persona speaks to."""

    age_range: Literal["13-17", "18-24", "25-34", "35-44", "45-54", "55+", "all"] = Field(
        description="Age of the audience"
    )
    interests: list[Word] = Field(max_length=20, description="What the audience cares about")
    demographics: list[Word] | None = optional("Further traits of the audience", max_length=10)
    regions: list[Region] = Field(min_length=1, description="Where the audience lives")


class Vocabulary(WireModel):
    """Words the persona likes, words it never uses, and how technical it is."""

    preferred_words: list[Word] = Field(max_length=100, description="Words to use where they fit")
    forbidden_words: list[Word] = Field(
        max_length=100, description="Words never to use, whole words in any case"
    )
    jargon_level: Literal["beginner", "intermediate", "advanced", "expert"] = Field(
        description="How much technical language the audience follows"
    )


class ContentStyle(WireModel):
    """How the persona's posts are built."""

    post_length_preference: Literal["concise", "medium", "detailed"] = Field(
        description="How long posts are"
    )
    emoji_usage: EmojiUsage = Field(default="moderate", description="How many emoji a post has")
    hashtag_strategy: Literal["none", "trending_only", "mix_popular_niche", "comprehensive"] = (
        Field(default="mix_popular_niche", description="Which hashtags a post carries")
    )
    media_preference: Literal["text_only", "text_images", "videos", "mixed"] = Field(
        description="Which media go with a post"
    )
    storytelling_style: Literal[
        "narrative", "listicle", "question_answer", "data_driven", "inspirational"
    ] = Field(description="How a script tells its story")


class EngagementStrategy(WireModel):
    """What the persona wants from its audience."""

    goal: Literal["viral", "authentic", "educational", "commerce", "community_building"] = Field(
        description="What posts are for"
    )
    call_to_action: Literal["none", "like_comment_share", "link_click", "purchase", "follow"] = (
        Field(description="What a post asks its reader to do")
    )
    controversy_level: Literal["safe", "moderate", "edgy"] = Field(
        default="moderate", description="How far a post may provoke"
    )
    authenticity_weight: Share = Field(default=0.7, description="Personal voice against reach")


class PlatformPreferences(WireModel):
    """How well the persona fits each platform, 0..1."""

    twitter: Share = Field(description="Fit with X")
    tiktok: Share = Field(description="Fit with TikTok")
    instagram: Share = Field(description="Fit with Instagram")
    youtube: Share = Field(description="Fit with YouTube")
    linkedin: Share = Field(description="Fit with LinkedIn")


class BrandGuidelines(WireModel):
    """What the brand demands of every post."""

    colors: list[Annotated[str, Field(pattern=r"^#[0-9A-Fa-f]{6}$")]] | None = optional(
        "Brand colours as #RRGGBB", max_length=5
    )
    forbidden_associations: list[Word] | None = optional(
        "Names and themes a post never touches", max_length=50
    )
    required_disclaimers: list[Word] | None = optional(
        "Sentences every post carries, word for word", max_length=5
    )


class Values(WireModel):
    """What the persona stands for."""

    core_values: list[Word] = Field(max_length=5, description="Values of the persona")
    causes_supported: list[Word] | None = optional("Causes the persona supports", max_length=10)


class PerformanceTargets(WireModel):
    """What the persona's posts should reach."""

    target_engagement_rate: Percent = Field(description="Percent of viewers who react")
    target_reach_per_post: Annotated[Count, Field(ge=100)] = Field(description="People per post")


class Persona(WireModel):
    """The voice of an agent."""

    agent_id: UUID = Field(description="Agent the persona belongs to")
    name: str = Field(min_length=3, max_length=100, description="Name the persona writes under")
    bio: str = Field(min_length=10, max_length=500, description="Who the persona is")
    voice_tone: VoiceTone = Field(description="Tone of voice")
    target_audience: TargetAudience = Field(description="Who the persona speaks to")
    vocabulary: Vocabulary = Field(description="Words used and avoided")
    content_style: ContentStyle = Field(description="How posts are built")
    engagement_strategy: EngagementStrategy = Field(description="What posts are for")
    platform_preferences: PlatformPreferences = Field(description="Fit with each platform, 0..1")
    brand_guidelines: BrandGuidelines | None = optional("Demands of the brand")
    values: Values = Field(description="What the persona stands for")
    content_performance_targets: PerformanceTargets | None = optional("What posts should reach")
    created_at: Timestamp = Field(description="When the persona was made, UTC")
    updated_at: Timestamp = Field(description="When the persona last changed, UTC")
    version: Version = Field(description="Rises with each change")

    @property
    def disclaimers(self) -> list[str]:
        """Sentences that every post of the persona carries."""
        return (self.brand_guidelines and self.brand_guidelines.required_disclaimers) or []

    @property
    def forbidden_associations(self) -> list[str]:
        """Names and themes that no post of the persona touches."""
        return (self.brand_guidelines and self.brand_guidelines.forbidden_associations) or []
