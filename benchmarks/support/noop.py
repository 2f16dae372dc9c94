"""A skill that does nothing."""

from typing import Any

from pydantic import BaseModel

from skills.contract import CostClass, RiskLevel, Skill, SkillMetadata, SkillResult


class Nothing(BaseModel):
    """No fields."""


class BenchNoop(Skill):
    """Does nothing."""

    name = "bench_noop"
    input_model = Nothing
    output_model = Nothing
    metadata = SkillMetadata(
        risk_level=RiskLevel.LOW,
        cost_class=CostClass.CHEAP,
        side_effects=False,
        idempotent=True,
        timeout_sec=10,
    )

    async def execute(self, ctx: Any) -> SkillResult:
        return SkillResult(output=Nothing())
