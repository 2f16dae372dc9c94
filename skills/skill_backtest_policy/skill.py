"""Replay a draft approval policy over the caller's past decisions and show what would have changed.

A job: it works in chunks, says how far it is, and goes on after a kill from the last chunk that was
counted. Nothing is changed; the policy in force stays as it is.
"""

import asyncio
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from asgiref.sync import sync_to_async
from django.db.models import QuerySet
from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, ValidationInfo, field_validator

from agents.roles import Role
from agents.wire import Timestamp
from approvals.models import ApprovalRequest
from chimera.core.killpoints import reach
from skills.charts import bars
from skills.contract import CostClass, RiskLevel, Skill, SkillContext, SkillMetadata, SkillResult
from skills.skill_backtest_policy.replay import LANES, Policy, Tally

CHUNK = 200
USUAL = timedelta(days=30)


class Input(BaseModel):
    """The draft, and which decisions it is tried on."""

    model_config = ConfigDict(extra="forbid")
    policy: Policy = Field(description="The draft: thresholds for posts and payments")
    since: Timestamp | None = Field(None, description="From when; without it 30 days back")
    until: Timestamp | None = Field(None, description="Until when; without it now")

    @field_validator("until")
    @classmethod
    def _after_since(cls, until: Timestamp | None, info: ValidationInfo) -> Timestamp | None:
        since = info.data.get("since")
        if since and until and since >= until:
            raise ValueError("must lie after since")
        return until


class Change(BaseModel):
    """One request that the draft would have treated otherwise."""

    request_id: UUID
    sentence: str
    was: str
    would_be: str
    decision: str = Field(description="What became of it in fact")


class Output(BaseModel):
    """What the draft would have changed."""

    since: AwareDatetime
    until: AwareDatetime
    requests: int = Field(description="Decided requests in the time span")
    moved: int = Field(description="Those that the draft puts into another lane or refuses")
    lanes_before: dict[str, int]
    lanes_after: dict[str, int]
    refused_but_approved: int = Field(description="The draft refuses what a person approved")
    fast_but_rejected: int = Field(description="The fast lane would have held what was rejected")
    examples: list[Change] = Field(description="The first 50 of those that moved")


class BacktestPolicy(Skill):
    """Job-based: queued, running with progress, done."""

    input_model = Input
    output_model = Output
    metadata = SkillMetadata(
        risk_level=RiskLevel.LOW,
        cost_class=CostClass.NORMAL,
        side_effects=False,
        idempotent=True,
        capabilities=frozenset({"DB", "IO"}),
        timeout_sec=300,
    )
    roles = frozenset({Role.ORCHESTRATOR, Role.JUDGE, Role.CFO_JUDGE})
    error_codes = ("INVALID_INPUT",)

    async def execute(self, ctx: SkillContext[Input]) -> SkillResult:
        since, until, tally = _start(ctx)
        decided = _decided(ctx, since, until)
        total = await decided.acount()
        while True:
            chunk = await sync_to_async(_chunk)(decided, tally.last_id)
            if not chunk:
                break
            tally.add(ctx.params.policy, chunk)
            await ctx.progress(
                tally.requests / max(total, tally.requests),
                f"{tally.requests} of {total} decisions",
                _state(since, until, tally),
            )
            reach("backtest_policy.chunk")
            await asyncio.sleep(0)  # others of this loop have their turn between two chunks
        await ctx.progress(1.0, f"{tally.requests} decisions", _state(since, until, tally))
        output = Output(since=since, until=until, **tally.model_dump(exclude={"last_id"}))
        return SkillResult(
            output=output,
            output_text=f"{tally.moved} of {tally.requests} decisions would have gone another way",
            artifacts=[_chart(ctx, tally)],
        )


def _start(ctx: SkillContext[Input]) -> tuple[datetime, datetime, Tally]:
    """(since, until, what is counted): as a cut attempt left them, else from the input."""
    if ctx.resumed:
        since, until = (datetime.fromisoformat(ctx.resumed[key]) for key in ("since", "until"))
        return since, until, Tally.model_validate(ctx.resumed["tally"])
    until = min(ctx.params.until or ctx.now(), ctx.now())
    since = ctx.params.since or until - USUAL
    if since >= until:
        raise ValueError("since: must lie before until, and in the past")
    return since, until, Tally()


def _state(since: datetime, until: datetime, tally: Tally) -> dict[str, Any]:
    return {
        "since": since.isoformat(),
        "until": until.isoformat(),
        "tally": tally.model_dump(mode="json"),
    }


def _decided(
    ctx: SkillContext[Input], since: datetime, until: datetime
) -> QuerySet[ApprovalRequest]:
    mine = ApprovalRequest.objects.filter(
        agent=ctx.caller,
        decided_at__gte=since,
        decided_at__lt=until,
        kind__in=["publish_content", "debit_wallet"],
    )
    return mine.defer("context").order_by("id")


def _chunk(decided: QuerySet[ApprovalRequest], last_id: str) -> list[ApprovalRequest]:
    return list((decided.filter(id__gt=UUID(last_id)) if last_id else decided)[:CHUNK])


def _chart(ctx: SkillContext[Input], tally: Tally) -> str:
    rows = [
        (lane, (tally.lanes_before.get(lane, 0), tally.lanes_after.get(lane, 0))) for lane in LANES
    ]
    path = ctx.folder() / "lanes.svg"
    path.write_text(bars("Requests by lane", rows, ("in force", "draft")), encoding="utf-8")
    return str(path)
