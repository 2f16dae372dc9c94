"""The wire contract of the skill: MediaGenerationRequest and MediaGenerationResponse."""

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, ValidationInfo, field_validator

from agents.wire import Number, Share, Timestamp, WireModel, optional, whole
from chimera.core.money import Money
from content.ingest import Ident

Kind = Literal["text", "image", "video"]
SHORTEST_VIDEO = 2
"""Seconds: no tool makes a shorter one."""


class MediaContext(WireModel):
    """A medium that the asset is about."""

    mediaId: Ident = Field(description="Its id, given back in mediaRefs of a text")
    url: str = Field(min_length=1, max_length=2048, description="Where it lies; it is not fetched")
    role: str = Field(default="source", min_length=1, max_length=50, description="What it is for")


class Brief(WireModel):
    """What is wanted."""

    prompt: str = Field(min_length=1, max_length=2000, pattern=r"\w", description="In words")
    persona: str = Field(
        max_length=300, description="The voice in words; the agent's own otherwise"
    )
    goalId: Ident = Field(description="Goal it serves")
    trendRefs: list[Ident] = Field(
        default=[], max_length=50, description="trendIds it is made from, kept as its provenance"
    )
    mediaContext: list[MediaContext] = Field(
        default=[], max_length=20, description="Media that it is about"
    )


class Length(WireModel):
    """How long the asset may be."""

    maxChars: Annotated[int, Field(ge=1, le=5000), BeforeValidator(whole)] = Field(
        default=2000, description="Characters of a text"
    )
    maxDurationSec: Annotated[int, Field(ge=1, le=600), BeforeValidator(whole)] = Field(
        default=10, description="Seconds of a video, at least 2 for one"
    )


class Constraints(WireModel):
    """What the asset may cost in money and time."""

    budgetUsd: Money = Field(ge=0, description="US dollars for everything that is bought")
    maxLatencySec: Annotated[Number, Field(gt=0, le=120)] = Field(
        description="Seconds until the answer is there"
    )
    length: Length = Field(default_factory=Length, description="How long it may be")


class Trace(WireModel):
    """Where the call comes from."""

    requestId: Ident = Field(description="The caller's id of this request")


class Input(WireModel):
    """MediaGenerationRequest."""

    taskId: Ident = Field(description="Task that it is made for")
    planId: Ident = Field(description="Plan of the task")
    type: Kind = Field(description="What is made")
    brief: Brief = Field(description="What is wanted")
    constraints: Constraints = Field(description="What it may cost")
    trace: Trace | None = optional("Where the call comes from")

    @field_validator("constraints")
    @classmethod
    def _long_enough(cls, value: Constraints, info: ValidationInfo) -> Constraints:
        if info.data.get("type") == "video" and value.length.maxDurationSec < SHORTEST_VIDEO:
            raise ValueError(f"length.maxDurationSec must be at least {SHORTEST_VIDEO} for a video")
        return value


class Asset(WireModel):
    """What was made."""

    type: Kind
    content: str = Field(description="The text, or the reference of the file")
    mediaRefs: list[Ident] = Field(description="The file made; for a text the media it is about")


class Source(WireModel):
    """Something the asset is made from, or the file itself."""

    url: str
    type: Literal["link", "media", "image", "video"]


class SafetyCheck(WireModel):
    """A rule that looked at it."""

    rule: str
    passed: bool


class Evidence(WireModel):
    """What a judge needs beside the asset."""

    sources: list[Source]
    safetyChecks: list[SafetyCheck]


class Output(WireModel):
    """MediaGenerationResponse."""

    taskId: Ident
    planId: Ident
    output: Asset
    evidence: Evidence
    confidence: Share
    costUsd: Money = Field(description="The most that was spent, in US dollars")
    startedAt: Timestamp
    endedAt: Timestamp
