"""Score the relevance of trends to campaign goals and keep the relevant ones.

The score is a language model's where one is configured (docs/models.md), else a text similarity
(docs/offline_models.md).
"""

import time
from collections.abc import Sequence
from typing import Literal

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, field_validator

from agents.roles import Role
from chimera.core.errors import ChimeraError
from content.llm.budget import budget_of
from content.llm.models import LanguageModel, connected, in_order
from content.llm.scoring import Scorer
from content.relevance import Scored, score
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

SECONDS = 9.5
"""Of the ten seconds: what the models get, so that a partial result still gets out in time."""


class Input(BaseModel):
    """Trends and what they should be relevant to."""

    model_config = ConfigDict(extra="forbid")
    trends: list[TrendData] = Field(min_length=1, max_length=1000, description="Trends to score")
    campaign_goals: list[str] = Field(
        min_length=1, max_length=10, description="Campaign objectives"
    )
    relevance_threshold: float = Field(
        0.75, ge=0, le=1, description="Keep trends with at least this score"
    )
    model: Literal["gemini-3-flash", "gpt-4o-mini"] = Field(
        "gemini-3-flash", description="Language model to prefer where several are configured"
    )

    @field_validator("campaign_goals")
    @classmethod
    def _not_empty(cls, goals: list[str]) -> list[str]:
        if any(not goal.strip() for goal in goals):
            raise ValueError("goals must be non-empty strings")
        return goals


class Relevant(BaseModel):
    """A trend that is relevant, and why."""

    trend: TrendData
    relevance_score: float = Field(ge=0, le=1)
    reasoning: str = Field(max_length=500)


class Output(BaseModel):
    """The relevant trends, the best first."""

    filtered_trends: list[Relevant]
    total_input: int
    total_output: int
    filtered_at: AwareDatetime


class SemanticFilter(Skill):
    """Scores in batches of 100 with the preferred model; when it fails, with the other one."""

    input_model = Input
    output_model = Output
    metadata = SkillMetadata(
        risk_level=RiskLevel.LOW,
        cost_class=CostClass.NORMAL,
        side_effects=False,
        idempotent=True,
        capabilities=frozenset({"LLM"}),
        timeout_sec=10,
    )
    roles = frozenset({Role.TREND_ANALYST, Role.ORCHESTRATOR})
    retry = Retry(2, frozenset({"LLM_ERROR"}))
    cache_seconds = 1800
    timeout_code = "FILTER_TIMEOUT"
    error_codes = ("FILTER_TIMEOUT", "INVALID_GOALS", "LLM_ERROR")
    field_codes = {"campaign_goals": "INVALID_GOALS"}

    async def execute(self, ctx: SkillContext[Input]) -> SkillResult:
        models, exact = in_order(ctx.params.model)
        if not exact:
            ctx.warn("MODEL_IGNORED")
        trends, goals = ctx.params.trends, ctx.params.campaign_goals
        marks = await _asked(ctx, models) if models else score(trends, goals)
        output = _output(ctx, marks)
        unscored = sum(mark is None for mark in marks)
        if unscored:
            raise ChimeraError(
                "FILTER_TIMEOUT",
                f"{unscored} of {len(trends)} trends could not be scored in time",
                details={"scored": len(trends) - unscored, "total": len(trends)},
                output=output,
            )
        return SkillResult(
            output=output,
            output_text=f"{output.total_output} of {output.total_input} trends are relevant",
        )


async def _asked(ctx: SkillContext[Input], models: list[LanguageModel]) -> Sequence[Scored | None]:
    """The scores of the models, None where the time was over."""
    started = time.monotonic()
    async with connected(models) as connection:
        scorer = Scorer(connection, models, ctx.params.campaign_goals, budget_of(ctx.token_budget))
        left = ctx.seconds_left(SECONDS) - (time.monotonic() - started)
        marks = await scorer.score(ctx.params.trends, left)
    ctx.cached = not scorer.asked
    return marks


def _output(ctx: SkillContext[Input], marks: Sequence[Scored | None]) -> Output:
    """The relevant ones among the scored trends, the best first."""
    found = [
        Relevant(trend=trend, relevance_score=mark.score, reasoning=mark.reasoning)
        for trend, mark in zip(ctx.params.trends, marks, strict=True)
        if mark and mark.score >= ctx.params.relevance_threshold
    ]
    found.sort(key=lambda item: (-item.relevance_score, str(item.trend.trend_id)))
    return Output(
        filtered_trends=found,
        total_input=len(marks),
        total_output=len(found),
        filtered_at=ctx.now(),
    )
