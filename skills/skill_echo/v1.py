"""Give a message back as it came."""

from datetime import date

from pydantic import BaseModel, ConfigDict, Field

from skills.contract import CostClass, RiskLevel, Skill, SkillContext, SkillMetadata, SkillResult


class Message(BaseModel):
    """A message, in and out."""

    model_config = ConfigDict(extra="forbid")
    message: str = Field(min_length=1, max_length=10_000, description="What comes back")


class EchoV1(Skill):
    """Replaced by 2.0, whose output need not hold a `message`."""

    input_model = Message
    output_model = Message
    metadata = SkillMetadata(
        version="1.0",
        risk_level=RiskLevel.LOW,
        cost_class=CostClass.CHEAP,
        side_effects=False,
        idempotent=True,
        timeout_sec=2,
    )
    deprecated_since = date(2026, 11, 21)
    sunset = date(2027, 12, 31)

    async def execute(self, ctx: SkillContext[Message]) -> SkillResult:
        return SkillResult(output=ctx.params, output_text=ctx.params.message)
