"""Inputs and outputs of the contract skills. The names are frozen; see docs/contract_rules.md."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

LEAST_FINDINGS = 3
LEAST_IDEAS = 5
Line = Annotated[str, Field(min_length=1, max_length=500)]
Script = Annotated[str, Field(min_length=1, max_length=20_000)]


class _Contract(BaseModel):
    """Explicit fields only: none is optional and no other is known."""

    model_config = ConfigDict(extra="forbid", strict=True)


class Research(_Contract):
    """What is known of an audience and a topic."""

    audience_pain: list[Line] = Field(max_length=50, description="What hurts the audience")
    curiosity_gaps: list[Line] = Field(max_length=50, description="What it would like to know")
    emotional_triggers: list[Line] = Field(max_length=50, description="What moves it")
    controversial_angles: list[Line] = Field(max_length=50, description="What it would argue about")


class ResearchInput(_Contract):
    """What the video is about."""

    topic: str = Field(min_length=1, max_length=300, description="Subject of the video")
    target_audience: str | None = Field(max_length=300, description="Who it is for; null: anybody")
    constraints: str | None = Field(
        max_length=1000,
        description="What to respect, such as `no fear, avoid medical claims`; or null",
    )


class ResearchOutput(Research):
    """At least three of each, none of them generic."""

    audience_pain: list[Line] = Field(min_length=LEAST_FINDINGS, max_length=50)
    curiosity_gaps: list[Line] = Field(min_length=LEAST_FINDINGS, max_length=50)
    emotional_triggers: list[Line] = Field(min_length=LEAST_FINDINGS, max_length=50)
    controversial_angles: list[Line] = Field(min_length=LEAST_FINDINGS, max_length=50)


class ThesisInput(_Contract):
    """What the thesis is drawn from; research is null where the framing is clear without."""

    topic: str = Field(min_length=1, max_length=300, description="Subject of the video")
    target_audience: str | None = Field(max_length=300, description="Who it is for; null: anybody")
    research: Research | None = Field(description="Output of research, or null")


class ThesisOutput(_Contract):
    """The ClickThesis: why this video must be clicked, in one sentence."""

    click_thesis: Line


class CtrInput(_Contract):
    """The thesis and the research behind it."""

    click_thesis: Line = Field(description="Why this video must be clicked, in one sentence")
    research: Research = Field(description="Output of research")


class CtrOutput(_Contract):
    """At least five of each; a thumbnail text has at most six words."""

    hooks: list[Line] = Field(min_length=LEAST_IDEAS, max_length=50)
    titles: list[Line] = Field(min_length=LEAST_IDEAS, max_length=50)
    thumbnail_texts: list[Line] = Field(min_length=LEAST_IDEAS, max_length=50)


class ScriptInput(_Contract):
    """What was selected."""

    selected_hook: Line = Field(description="The hook that was chosen")
    selected_title: Line = Field(description="The title that was chosen")
    click_thesis: Line = Field(description="Why this video must be clicked, in one sentence")


class ScriptOutput(_Contract):
    """The words that are spoken."""

    script: Script


class EvalInput(_Contract):
    """A whole video on paper."""

    click_thesis: Line = Field(description="Why this video must be clicked, in one sentence")
    hook: Line = Field(description="Its first words")
    title: Line = Field(description="Its title")
    thumbnail_text: Line = Field(description="The words on its thumbnail")
    script: Script = Field(description="The words that are spoken")


class EvalOutput(_Contract):
    """The verdict; failure_reason is `CODE: text`, null on PASS."""

    result: Literal["PASS", "FAIL"]
    failure_reason: str | None = Field(max_length=1000)
    confidence: float = Field(ge=0, le=1)
