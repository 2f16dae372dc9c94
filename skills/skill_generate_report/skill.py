"""Write a report of the caller's posts, reactions, decisions and payments as a web page and a table.

The page stands by itself: charts are drawn into it and nothing is loaded from outside.
"""

from datetime import datetime, timedelta
from decimal import Decimal
from uuid import UUID

from asgiref.sync import sync_to_async
from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, ValidationInfo, field_validator

from agents.wire import Timestamp
from skills.contract import CostClass, RiskLevel, Skill, SkillContext, SkillMetadata, SkillResult
from skills.skill_generate_report.figures import gather
from skills.skill_generate_report.pages import write_csv, write_html

USUAL = timedelta(days=30)


class Input(BaseModel):
    """What the report is about."""

    model_config = ConfigDict(extra="forbid")
    since: Timestamp | None = Field(None, description="From when; without it 30 days back")
    until: Timestamp | None = Field(None, description="Until when; without it now")
    campaign: UUID | None = Field(
        None, description="The task_id of one campaign; payments name none and are then left out"
    )
    title: str = Field("Report", min_length=1, max_length=120, description="What stands at the top")

    @field_validator("until")
    @classmethod
    def _after_since(cls, until: Timestamp | None, info: ValidationInfo) -> Timestamp | None:
        since = info.data.get("since")
        if since and until and since >= until:
            raise ValueError("must lie after since")
        return until


class Spent(BaseModel):
    """What was paid in one currency."""

    currency: str
    amount: Decimal


class Output(BaseModel):
    """The sums, and the names of the files."""

    since: AwareDatetime
    until: AwareDatetime
    campaign: UUID | None
    posts: int
    likes: int
    comments: int
    shares: int
    decisions: dict[str, int] = Field(description="Approval requests by what became of them")
    spend: list[Spent]
    files: list[str] = Field(description="Names of the files among the execution's artifacts")


class GenerateReport(Skill):
    """Artifact-producing: absolute paths of files that exist."""

    input_model = Input
    output_model = Output
    metadata = SkillMetadata(
        risk_level=RiskLevel.LOW,
        cost_class=CostClass.NORMAL,
        side_effects=False,
        idempotent=True,
        capabilities=frozenset({"DB", "IO"}),
        timeout_sec=60,
    )
    error_codes = ("INVALID_INPUT",)

    async def execute(self, ctx: SkillContext[Input]) -> SkillResult:
        wanted = ctx.params
        since, until = _span(wanted, ctx.now())
        figures = await sync_to_async(gather)(ctx.caller, since, until, wanted.campaign)
        page, table = ctx.folder() / "report.html", ctx.folder() / "posts.csv"
        write_html(page, wanted.title, figures)
        write_csv(table, figures)
        spend = [Spent(currency=name, amount=sum_) for name, sum_ in figures.spend.items()]
        output = Output(
            since=since,
            until=until,
            campaign=wanted.campaign,
            posts=len(figures.posts),
            decisions=figures.decisions,
            spend=spend,
            files=[page.name, table.name],
            **figures.reactions(),
        )
        text = f"{output.posts} posts from {since:%Y-%m-%d} to {until:%Y-%m-%d}"
        return SkillResult(output=output, output_text=text, artifacts=[str(page), str(table)])


def _span(wanted: Input, now: datetime) -> tuple[datetime, datetime]:
    until = wanted.until or now
    since = wanted.since or until - USUAL
    if since >= until:
        raise ValueError("since: must lie before until")
    return since, until
