"""Make a text, an image or a video from a task's brief, within its budget and time, as a candidate.

Nothing is published. What a tool or a model asks is known and within the budget before it is called;
the trends of the brief are kept with the asset.
"""

import asyncio
from decimal import Decimal
from typing import Any
from uuid import UUID

from asgiref.sync import sync_to_async
from django.conf import settings

from agents.roles import Role
from agents.schemas import Persona
from chimera.core.errors import ChimeraError
from chimera.core.ids import new_id
from chimera.core.jsontext import plain
from content import assets
from content.llm.briefs import Brief
from content.models import ContentPackage
from content.schemas import TrendData
from skills.contract import (
    CostClass,
    Retry,
    RiskLevel,
    Skill,
    SkillContext,
    SkillMetadata,
    SkillResult,
)
from skills.skill_generate_media_asset.contract import Input, Output
from skills.skill_generate_media_asset.making import Made, make
from skills.skill_generate_media_asset.purse import Purse


class GenerateMediaAsset(Skill):
    """Writes, or asks one MCP tool; its tries are its own, since time and money are for all of them."""

    input_model = Input
    output_model = Output
    metadata = SkillMetadata(
        risk_level=RiskLevel.MEDIUM,
        cost_class=CostClass.EXPENSIVE,
        side_effects=False,
        idempotent=True,
        capabilities=frozenset({"NET", "MCP", "LLM", "DB"}),
        timeout_sec=130,
    )
    roles = frozenset({Role.CONTENT_CREATOR, Role.TREND_ANALYST, Role.ORCHESTRATOR})
    retry = Retry(0)
    timeout_code = "GENERATION_TIMEOUT"
    error_codes = (
        "BUDGET_EXCEEDED",
        "GENERATION_TIMEOUT",
        "SAFETY_VIOLATION",
        "MEDIA_GENERATION_FAILED",
        "LLM_ERROR",
        "INVALID_PERSONA",
    )

    async def execute(self, ctx: SkillContext[Input]) -> SkillResult:
        kept = await sync_to_async(_kept)(ctx.execution_id)
        output = kept or await _made(ctx)
        return SkillResult(output=output, output_text=output.output.content)


async def _made(ctx: SkillContext[Input]) -> Output:
    limit = ctx.params.constraints.maxLatencySec
    purse = await Purse.open(ctx, _allowed(ctx.params.constraints.budgetUsd))
    brief = await sync_to_async(_brief)(ctx)
    try:
        async with asyncio.timeout(purse.seconds_left(limit)):
            made = await make(ctx, brief, purse)
    except TimeoutError:
        why = f"Nothing was ready within {limit:g} s"
        errors = {"constraints.maxLatencySec": [why]}
        spent = {"costUsd": purse.spent}
        raise ChimeraError("GENERATION_TIMEOUT", why, details=spent, errors=errors) from None
    except ChimeraError as problem:
        problem.details.setdefault("costUsd", purse.spent)
        raise
    return await sync_to_async(_store)(ctx, brief, made, purse)


def _allowed(budget: Decimal) -> Decimal:
    most = settings.CHIMERA.chimera_media_budget
    if budget > most:
        message = f"At most {most} USD a call here (CHIMERA_MEDIA_BUDGET); ask for less"
        errors = {"constraints.budgetUsd": [message]}
        raise ChimeraError("INVALID_INPUT", message, errors=errors)
    return budget


def _brief(ctx: SkillContext[Input]) -> Brief:
    persona = getattr(ctx.caller, "persona", None)
    if persona is None:
        message = "The agent has no persona to write as; an administrator gives it one"
        raise ChimeraError("INVALID_PERSONA", message)
    wanted = ctx.params.brief
    trends = assets.stored_trends(wanted.trendRefs)
    return Brief(
        prompt=wanted.prompt,
        tone=wanted.persona,
        persona=Persona.model_validate(plain(persona.as_dict())),
        trends=[TrendData.model_validate(trend) for trend in trends],
    )


def _kept(execution_id: UUID | None) -> Output | None:
    """What an attempt that was cut short at its end had already kept."""
    stored = ContentPackage.objects.filter(id=execution_id).first() if execution_id else None
    return Output.model_validate(stored.current.data["asset"]["output"]) if stored else None


def _store(ctx: SkillContext[Input], brief: Brief, made: Made, purse: Purse) -> Output:
    """Keep the asset as a candidate; its id is that of the execution."""
    wanted, asset_id = ctx.params, ctx.execution_id or new_id()
    output = _output(ctx, brief, made, purse, asset_id)
    assets.asset_store(
        agent=ctx.caller,
        asset_id=asset_id,
        task_id=assets.task_uuid(wanted.taskId),
        text=made.text or wanted.brief.prompt,
        files=[plain(made.file)] if made.file else [],
        trend_refs=wanted.brief.trendRefs,
        confidence=made.confidence,
        facts={
            "output": plain(output),
            "made_by": made.maker,
            "brief": plain(wanted.brief),
            "plan_id": wanted.planId,
            "task_id": wanted.taskId,
        },
    )
    return output


def _output(
    ctx: SkillContext[Input], brief: Brief, made: Made, purse: Purse, asset_id: UUID
) -> Output:
    wanted = ctx.params
    own = [assets.reference(wanted.type, asset_id)]
    about = [medium.mediaId for medium in wanted.brief.mediaContext]
    said: dict[str, Any] = {
        "taskId": wanted.taskId,
        "planId": wanted.planId,
        "output": {
            "type": wanted.type,
            "content": made.text if wanted.type == "text" else own[0],
            "mediaRefs": about if wanted.type == "text" else own,
        },
        "evidence": {
            "sources": _sources(wanted, brief, made),
            "safetyChecks": made.checks,
        },
        "confidence": made.confidence,
        "costUsd": purse.spent,
        "startedAt": purse.began,
        "endedAt": ctx.now(),
    }
    return Output.model_validate(said)


def _sources(wanted: Input, brief: Brief, made: Made) -> list[dict[str, str]]:
    """The file, what the trends name, and the media that the brief is about."""
    links = [url for trend in brief.trends for url in trend.metadata.source_urls]
    found = [{"url": made.file.url, "type": made.file.type}] if made.file else []
    found += [{"url": url, "type": "link"} for url in dict.fromkeys(links)]
    return found + [{"url": item.url, "type": "media"} for item in wanted.brief.mediaContext]
