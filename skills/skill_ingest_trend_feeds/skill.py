"""Read the news, social and mention feeds that fit a campaign goal, as scored trend items.

Nothing is written. Feeds are MCP resources, read together under the hourly limit of fetch_trends. A feed
that fails while another answers is a warning; the call fails where none answers.
"""

import asyncio
from datetime import timedelta
from typing import Annotated

from pydantic import BeforeValidator, Field

from agents.roles import Role
from agents.wire import Timestamp, WireModel, optional, whole
from chimera.core.errors import ChimeraError
from content.ingest import FeedSource, Ident, TrendFeedItem, feed_items, platforms_of
from content.schemas import TrendData
from content.sources.reading import resource_read
from content.sources.trends import items_of
from skills.contract import CostClass, RiskLevel, Skill, SkillContext, SkillMetadata, SkillResult
from skills.trend_items import SOURCE_TIMEOUT, valid_trends

EVERY_SOURCE: list[FeedSource] = ["news", "social", "mentions"]


class Goal(WireModel):
    """What the campaign wants."""

    id: Ident = Field(description="Id of the goal")
    title: str = Field(min_length=1, max_length=300, pattern=r"\S", description="The goal in words")


class Filters(WireModel):
    """Which items are wanted."""

    tags: list[Annotated[str, Field(min_length=1, max_length=100, pattern=r"\w")]] = Field(
        default=[], max_length=20, description="An item must fit one of them; empty: any item"
    )
    sources: list[FeedSource] = Field(
        default=EVERY_SOURCE, min_length=1, max_length=10, description="Kinds of feeds to read"
    )
    lookbackHours: Annotated[int, Field(ge=1, le=720), BeforeValidator(whole)] = Field(
        default=24, description="How old an item may be, in hours"
    )


class Trace(WireModel):
    """Where the call belongs; kept with the execution."""

    planId: Ident | None = optional("Plan")
    taskId: Ident | None = optional("Task")


class Input(WireModel):
    """TrendIngestRequest."""

    requestId: Ident = Field(description="The caller's id of this request, given back")
    goal: Goal = Field(description="What the items should be relevant to")
    filters: Filters = Field(default_factory=Filters, description="Which items are wanted")
    trace: Trace | None = optional("Plan and task of the call")


class Output(WireModel):
    """TrendIngestResponse."""

    requestId: Ident
    goalId: Ident
    items: list[TrendFeedItem] = Field(description="The most relevant first, at most 100")
    capturedAt: Timestamp = Field(description="When the feeds were read, UTC")


class IngestTrendFeeds(Skill):
    """Reads the feeds through the MCP client and scores what they hold."""

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
    roles = frozenset({Role.ORCHESTRATOR, Role.TREND_ANALYST, Role.CONTENT_CREATOR})
    error_codes = (
        "PLATFORM_UNAVAILABLE",
        "RATE_LIMITED",
        "VALIDATION_FAILED",
        "TIMEOUT",
        "NETWORK_ERROR",
    )

    async def execute(self, ctx: SkillContext[Input]) -> SkillResult:
        wanted = ctx.params
        items = feed_items(
            await _trends(ctx),
            goal=wanted.goal.title,
            tags=list(dict.fromkeys(wanted.filters.tags)),
            sources=wanted.filters.sources,
            lookback=timedelta(hours=wanted.filters.lookbackHours),
            now=ctx.now(),
        )
        output = Output(
            requestId=wanted.requestId,
            goalId=wanted.goal.id,
            items=items,
            capturedAt=ctx.now(),
        )
        return SkillResult(output=output, output_text=f"{len(items)} items for the goal")


async def _trends(ctx: SkillContext[Input]) -> list[TrendData]:
    """What the feeds hold together; one that fails is a warning as long as another answers."""
    platforms = platforms_of(ctx.params.filters.sources)
    answers = await asyncio.gather(*(_tried(ctx, name) for name in platforms))
    failures = [answer for answer in answers if isinstance(answer, ChimeraError)]
    if len(failures) == len(answers):
        raise next((one for one in failures if one.retryable), failures[0])
    for failure in failures:
        ctx.warn(failure.code)
        ctx.log.warning("a feed is missing: %s", failure)
    return [trend for answer in answers if isinstance(answer, list) for trend in answer]


async def _tried(ctx: SkillContext[Input], platform: str) -> list[TrendData] | ChimeraError:
    try:
        return await _read(ctx, platform)
    except ChimeraError as problem:
        return problem


async def _read(ctx: SkillContext[Input], platform: str) -> list[TrendData]:
    """The valid trends of one resource, one counted call; a dropped item is a warning."""
    seconds = ctx.seconds_left(SOURCE_TIMEOUT)
    items = items_of(await resource_read(ctx.mcp, platform, f"trends://{platform}", seconds))
    return valid_trends(ctx, items, platform)
