"""Write a content package (script, captions, hashtags, media) from a trend in a persona's voice.

The words are a language model's where one is configured (docs/models.md), else the offline writer's
(docs/offline_models.md). The package is stored as a draft with its trend; nothing is published.
"""

import asyncio
import time

from asgiref.sync import sync_to_async
from django.db.models import F
from pydantic import BaseModel, ConfigDict, Field

from agents.models import Agent
from agents.roles import Role
from agents.schemas import Persona
from chimera.core.errors import ChimeraError
from chimera.core.ids import new_id
from chimera.core.jsontext import plain
from content import services as content
from content.schemas import (
    REVIEW_BELOW,
    ContentPackage,
    ContentType,
    MediaMetadata,
    Platform,
    TrendData,
)
from skills.contract import (
    CostClass,
    Retry,
    RiskLevel,
    Skill,
    SkillContext,
    SkillMetadata,
    SkillResult,
)
from skills.skill_generate_content.media import media_for
from skills.skill_generate_content.text import Text, offline_text, text_for

TEXT_SECONDS, MEDIA_SECONDS = 15.0, 29.5
LATE_CONFIDENCE = 0.3


class Input(BaseModel):
    """What to write about, in whose voice, for which platform."""

    model_config = ConfigDict(extra="forbid")
    trend: TrendData = Field(description="The trend to write about")
    persona: Persona = Field(description="The voice to write in")
    platform: Platform = Field(description="Where it will be posted")
    content_type: ContentType = Field("video_script", description="Form of the content")
    media_generation: bool = Field(
        True, strict=True, description="Generate images or videos, or text only"
    )


class Output(BaseModel):
    """The draft."""

    content: ContentPackage
    generation_time_ms: int
    model_used: str
    confidence_score: float = Field(ge=0, le=1)


class GenerateContent(Skill):
    """Words the text, then asks the MCP tools for media; each part has its own share of the time."""

    input_model = Input
    output_model = Output
    metadata = SkillMetadata(
        risk_level=RiskLevel.MEDIUM,
        cost_class=CostClass.EXPENSIVE,
        side_effects=False,
        idempotent=True,
        capabilities=frozenset({"NET", "MCP", "LLM", "DB"}),
        timeout_sec=45,
    )
    roles = frozenset({Role.CONTENT_CREATOR, Role.ORCHESTRATOR})
    retry = Retry(2, frozenset({"LLM_ERROR"}))
    timeout_code = "GENERATION_TIMEOUT"
    error_codes = ("GENERATION_TIMEOUT", "INVALID_PERSONA", "SAFETY_VIOLATION", "LLM_ERROR")
    field_codes = {"persona": "INVALID_PERSONA"}

    async def execute(self, ctx: SkillContext[Input]) -> SkillResult:
        started = time.monotonic()
        text, media = await _text(ctx, started), list[MediaMetadata]()
        if ctx.params.media_generation:
            try:
                async with asyncio.timeout(ctx.seconds_left(MEDIA_SECONDS)):
                    media = await media_for(ctx, text.draft)
            except TimeoutError:
                raise await _out_of_time(ctx, text, "media", started) from None
        output = await _kept(ctx, text, media, started)
        return SkillResult(output=output, output_text=output.content.captions)


async def _text(ctx: SkillContext[Input], started: float) -> Text:
    """The words; a refusal for safety is counted on the agent."""
    try:
        try:
            async with asyncio.timeout(ctx.seconds_left(TEXT_SECONDS)):
                return await text_for(ctx)
        except TimeoutError:
            raise await _out_of_time(ctx, offline_text(ctx), "text", started) from None
    except ChimeraError as problem:
        if problem.code == "SAFETY_VIOLATION":
            await sync_to_async(_count_rejection)(ctx)
        raise


async def _out_of_time(
    ctx: SkillContext[Input], text: Text, missing: str, started: float
) -> ChimeraError:
    """The error that carries what there is: a text without media, kept as a draft nobody trusts."""
    output = await _kept(ctx, text, [], started, confidence=LATE_CONFIDENCE)
    return ChimeraError(
        "GENERATION_TIMEOUT",
        f"The {missing} took too long; the draft has the words of {text.model} and no media",
        details={"content_id": str(output.content.content_id), "missing": missing},
        output=output,
    )


def _count_rejection(ctx: SkillContext[Input]) -> None:
    Agent.objects.filter(id=ctx.caller.id).update(rejection_count=F("rejection_count") + 1)


async def _kept(
    ctx: SkillContext[Input],
    text: Text,
    media: list[MediaMetadata],
    started: float,
    confidence: float = 1,
) -> Output:
    """The package of the text, stored as a draft. confidence: at most this."""
    elapsed = int((time.monotonic() - started) * 1000)
    package = _package(ctx, text, media, elapsed, min(confidence, text.draft.confidence))
    await sync_to_async(_store)(ctx, package)
    return Output(
        content=package,
        generation_time_ms=elapsed,
        model_used=text.model,
        confidence_score=package.confidence_score,
    )


def _package(
    ctx: SkillContext[Input],
    text: Text,
    media: list[MediaMetadata],
    elapsed: int,
    confidence: float,
) -> ContentPackage:
    draft = text.draft
    return ContentPackage.model_validate(
        {
            "content_id": ctx.execution_id or new_id(),
            "task_id": new_id(),
            "trend_ref": ctx.params.trend.trend_id,
            "script": draft.script,
            "media_urls": [item.url for item in media],
            "captions": draft.captions,
            "hashtags": draft.hashtags,
            "confidence_score": confidence,
            "requires_review": confidence < REVIEW_BELOW,
            "media_metadata": media or None,
            "generation_metadata": {
                "generator_agent": ctx.caller.name,
                "model": text.model,
                "persona_applied": "strict",
                "safety_checks_passed": True,
                "generation_time_ms": elapsed,
            },
            "platform_variants": draft.platform_variants,
        }
    )


def _store(ctx: SkillContext[Input], package: ContentPackage) -> None:
    """Keep the draft once: the id is that of the execution, so a second attempt finds the first."""
    content.content_store(
        agent=ctx.caller,
        package=plain(package),
        trends=[plain(ctx.params.trend)],
        actor=ctx.caller.actor,
    )
