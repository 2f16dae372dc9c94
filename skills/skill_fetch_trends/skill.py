"""Fetch trending topics of one platform from MCP resources.

Malformed items are dropped and named as a warning. A resource that is down is asked three times, then
the platform's general feed once; each is given 10 s per attempt. Calls to a platform's resources are
limited per hour, over all callers and processes.
"""

from typing import Any, Literal

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field

from agents.roles import Role
from chimera.core.errors import ChimeraError
from content.schemas import TrendData
from content.sources.reading import resource_read
from content.sources.trends import items_of, parse_window, select
from skills.contract import CostClass, RiskLevel, Skill, SkillContext, SkillMetadata, SkillResult
from skills.trend_items import SOURCE_TIMEOUT, valid_trends

FALLBACK_AFTER = ("PLATFORM_UNAVAILABLE", "TIMEOUT", "NETWORK_ERROR")
TrendSource = Literal["twitter", "news", "market", "reddit", "tiktok"]


class Input(BaseModel):
    """What to look for."""

    model_config = ConfigDict(extra="forbid")
    platform: TrendSource = Field(description="Where to look")
    limit: int = Field(50, ge=1, le=500, strict=True, description="Maximum trends to return")
    timeWindow: str = Field(
        "24h", pattern=r"^[0-9]+(h|d)$", max_length=6, description="How far back, e.g. 4h or 1d"
    )
    minEngagement: int = Field(10000, ge=0, strict=True, description="Minimum engagement_score")
    excludeTopics: list[str] = Field([], max_length=50, description="Topics to leave out")


class Output(BaseModel):
    """Trends, the strongest first."""

    trends: list[TrendData]
    fetched_at: AwareDatetime
    platform: TrendSource
    count: int
    truncated: bool = Field(description="More trends matched than `limit`")


class FetchTrends(Skill):
    """Reads trends through the MCP client."""

    input_model = Input
    output_model = Output
    metadata = SkillMetadata(
        risk_level=RiskLevel.LOW,
        cost_class=CostClass.CHEAP,
        side_effects=False,
        idempotent=True,
        capabilities=frozenset({"NET", "MCP"}),
        timeout_sec=30,
    )
    roles = frozenset({Role.TREND_ANALYST, Role.ORCHESTRATOR})
    cache_seconds = 300
    error_codes = (
        "INVALID_PLATFORM",
        "PLATFORM_UNAVAILABLE",
        "RATE_LIMITED",
        "TIMEOUT",
        "NETWORK_ERROR",
    )
    escalate_codes = frozenset({"RATE_LIMITED"})
    field_codes = {"platform": "INVALID_PLATFORM"}

    async def execute(self, ctx: SkillContext[Input]) -> SkillResult:
        wanted = ctx.params
        chosen = select(
            await _trends(ctx),
            limit=wanted.limit,
            min_engagement=wanted.minEngagement,
            window=parse_window(wanted.timeWindow),
            exclude_topics=wanted.excludeTopics,
            now=ctx.now(),
        )
        output = Output(
            trends=chosen.trends,
            fetched_at=ctx.now(),
            platform=wanted.platform,
            count=len(chosen.trends),
            truncated=chosen.truncated,
        )
        return SkillResult(output=output, output_text=f"{output.count} trends on {wanted.platform}")


async def _trends(ctx: SkillContext[Input]) -> list[TrendData]:
    """The valid trends that the source gives; a malformed answer or item is a warning."""
    platform = ctx.params.platform
    try:
        items = items_of(await _read(ctx, platform))
    except ChimeraError as problem:
        if problem.code != "VALIDATION_FAILED":
            raise
        ctx.warn(problem.code)
        ctx.log.warning("the source of %s answered nonsense: %s", platform, problem.message)
        return []
    return valid_trends(ctx, items, platform)


async def _read(ctx: SkillContext[Input], platform: str) -> Any:
    """What the platform's resource holds; on the last attempt else what its general feed holds."""
    try:
        return await _ask(ctx, f"trends://{platform}")
    except ChimeraError as problem:
        if problem.code not in FALLBACK_AFTER or not ctx.last_attempt:
            raise
        found = await _fallback(ctx, platform, problem)
        ctx.warn(problem.code)
        return found


async def _fallback(ctx: SkillContext[Input], platform: str, first: ChimeraError) -> Any:
    """The general feed; where that fails as well, the failure of the platform's own resource."""
    try:
        return await _ask(ctx, f"trends://{platform}/feed/general")
    except ChimeraError as second:
        if second.code == "VALIDATION_FAILED":
            raise
        ctx.log.warning("the general feed of %s did not help: %s", platform, second)
        raise first from second


async def _ask(ctx: SkillContext[Input], uri: str) -> Any:
    seconds = ctx.seconds_left(SOURCE_TIMEOUT)
    return await resource_read(ctx.mcp, ctx.params.platform, uri, seconds)
