"""Give the input back as it came: a checkpoint between the steps of a workflow, and a first call to try."""

from typing import Any

from pydantic import BaseModel, ConfigDict

from skills.contract import CostClass, RiskLevel, Skill, SkillContext, SkillMetadata, SkillResult


class Input(BaseModel):
    """Any JSON object."""

    model_config = ConfigDict(extra="allow")


class Output(BaseModel):
    """The same object."""

    model_config = ConfigDict(extra="allow")


class Echo(Skill):
    """Version 2.0 takes any object; 1.0 took a `message` alone and promised one in its output."""

    input_model = Input
    output_model = Output
    metadata = SkillMetadata(
        version="2.0",
        risk_level=RiskLevel.LOW,
        cost_class=CostClass.CHEAP,
        side_effects=False,
        idempotent=True,
        timeout_sec=2,
    )

    async def execute(self, ctx: SkillContext[Input]) -> SkillResult:
        given: dict[str, Any] = ctx.params.model_dump()
        return SkillResult(output=given, output_text=f"{len(given)} fields")
