"""Search the configured sources for what bears on a question: findings, each with where it was found.

The sources are the trend and news resources of the MCP servers. Their connection is checked when a
call begins. A source that fails is named; when all of them fail, the call does.
"""

from typing import Literal

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field

from agents.roles import Role
from chimera.core.errors import ChimeraError
from content import relevance
from content.schemas import TrendData
from content.sources.reading import resource_read
from content.sources.trends import items_of, parse_window
from skills.contract import CostClass, RiskLevel, Skill, SkillContext, SkillMetadata, SkillResult
from skills.mcp import servers
from skills.trend_items import SOURCE_TIMEOUT, valid_trends

Source = Literal["twitter", "news", "market", "reddit", "tiktok"]


class Input(BaseModel):
    """What to look for, and where."""

    model_config = ConfigDict(extra="forbid")
    question: str = Field(min_length=3, max_length=500, description="What is to be found out")
    sources: list[Source] = Field(
        ["news", "twitter", "reddit", "market"],
        min_length=1,
        max_length=5,
        description="Where to look",
    )
    timeWindow: str = Field(
        "7d", pattern=r"^[0-9]+(h|d)$", max_length=6, description="How far back, e.g. 12h or 7d"
    )
    minRelevance: float = Field(0.3, ge=0, le=1, description="Below it nothing is a finding")
    limit: int = Field(20, ge=1, le=100, strict=True, description="Maximum findings")


class Finding(BaseModel):
    """Something a source says, and how it bears on the question."""

    statement: str
    source: Source
    source_urls: list[str] = Field(min_length=1)
    seen_at: AwareDatetime
    relevance: float = Field(ge=0, le=1)
    why: str = Field(description="The words that speak for it")


class Output(BaseModel):
    """Findings, the most relevant first."""

    question: str
    findings: list[Finding]
    asked: list[Source] = Field(description="Sources that answered")
    failed: dict[str, str] = Field(description="Source -> error code, for those that did not")
    searched: int = Field(description="Items that were looked at")


class DeepResearch(Skill):
    """Remote: constructed for a call, it checks that its servers can be reached."""

    input_model = Input
    output_model = Output
    metadata = SkillMetadata(
        risk_level=RiskLevel.LOW,
        cost_class=CostClass.EXPENSIVE,
        side_effects=False,
        idempotent=True,
        capabilities=frozenset({"NET", "MCP"}),
        timeout_sec=60,
    )
    roles = frozenset({Role.TREND_ANALYST, Role.CONTENT_CREATOR, Role.ORCHESTRATOR})
    error_codes = (
        "RESOURCE_UNAVAILABLE",
        "NETWORK_ERROR",
        "PLATFORM_UNAVAILABLE",
        "TIMEOUT",
        "RATE_LIMITED",
        "VALIDATION_FAILED",
    )

    def __init__(self) -> None:
        client = servers.client()
        if client is None:
            raise ChimeraError("RESOURCE_UNAVAILABLE", "MCP Client not configured")
        client.check("trends://")

    async def execute(self, ctx: SkillContext[Input]) -> SkillResult:
        wanted, failed = ctx.params, dict[str, ChimeraError]()
        found: list[TrendData] = []
        sources = list(dict.fromkeys(wanted.sources))
        for source in sources:
            try:
                found += await _ask(ctx, source)
            except ChimeraError as problem:
                failed[source] = problem
                ctx.warn(problem.code)
        if len(failed) == len(sources):
            raise next(iter(failed.values()))
        output = Output(
            question=wanted.question,
            findings=_findings(wanted, found, ctx),
            asked=[source for source in sources if source not in failed],
            failed={source: problem.code for source, problem in failed.items()},
            searched=len(found),
        )
        text = f"{len(output.findings)} findings in {output.searched} items"
        return SkillResult(output=output, output_text=text)


async def _ask(ctx: SkillContext[Input], source: Source) -> list[TrendData]:
    """What one source holds; malformed items are left out."""
    seconds = ctx.seconds_left(SOURCE_TIMEOUT)
    uri, missing = f"trends://{source}", "RESOURCE_UNAVAILABLE"
    answer = await resource_read(ctx.mcp, source, uri, seconds, missing)
    return valid_trends(ctx, items_of(answer), source)


def _findings(wanted: Input, found: list[TrendData], ctx: SkillContext[Input]) -> list[Finding]:
    """The relevant items with an address, the best first, each topic once."""
    since = ctx.now() - parse_window(wanted.timeWindow)
    recent = [trend for trend in found if trend.timestamp >= since and trend.metadata.source_urls]
    scored = zip(recent, relevance.score(recent, [wanted.question]), strict=True)
    best: dict[str, Finding] = {}
    for trend, judged in sorted(scored, key=lambda pair: -pair[1].score):
        if judged.score >= wanted.minRelevance:
            best.setdefault(trend.topic.casefold(), _finding(trend, judged))
    return list(best.values())[: wanted.limit]


def _finding(trend: TrendData, judged: relevance.Scored) -> Finding:
    return Finding(
        statement=trend.topic,
        source=trend.platform,
        source_urls=[str(url) for url in trend.metadata.source_urls],
        seen_at=trend.timestamp,
        relevance=round(judged.score, 4),
        why=judged.reasoning,
    )
