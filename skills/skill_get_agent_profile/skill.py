"""Fetch an agent's profile: status, capabilities, wallet."""

from uuid import UUID

from asgiref.sync import sync_to_async
from pydantic import BaseModel, ConfigDict, Field

from agents.models import Agent
from agents.reading import read_within
from agents.roles import Role
from agents.schemas import AgentProfile
from chimera.core.errors import ChimeraError
from skills.contract import CostClass, RiskLevel, Skill, SkillContext, SkillMetadata, SkillResult
from skills.profiles import profile_of

READ_SEC = 1.5
"""Less than the skill's limit, so that what cannot be read is known before that ends the attempt."""


class Input(BaseModel):
    """Which agent."""

    model_config = ConfigDict(extra="forbid")
    agent_id: UUID = Field(description="Id of the agent")


class GetAgentProfile(Skill):
    """Reads the profile; a copy of the last day when the database cannot be read."""

    input_model = Input
    output_model = AgentProfile
    metadata = SkillMetadata(
        risk_level=RiskLevel.LOW,
        cost_class=CostClass.CHEAP,
        side_effects=False,
        idempotent=True,
        capabilities=frozenset({"DB"}),
        timeout_sec=2,
    )
    roles = frozenset({Role.ORCHESTRATOR})
    cache_seconds = 10
    timeout_code = "UNAVAILABLE"
    stale_codes = frozenset({"UNAVAILABLE"})
    error_codes = ("AGENT_NOT_FOUND", "UNAVAILABLE")

    async def execute(self, ctx: SkillContext[Input]) -> SkillResult:
        profile = await sync_to_async(_profile)(ctx.params.agent_id)
        return SkillResult(output=profile, output_text=f"{profile.name} is {profile.status.value}")


def _profile(agent_id: UUID) -> AgentProfile:
    with read_within(READ_SEC):
        agent = Agent.objects.filter(id=agent_id).first()
        if agent is None:
            raise ChimeraError("AGENT_NOT_FOUND", f"No agent {agent_id}")
        return AgentProfile.model_validate(profile_of(agent))
