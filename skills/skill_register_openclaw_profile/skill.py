"""Register an agent's profile, signed with its own key, in the OpenClaw directory."""

from typing import Any
from uuid import UUID

from asgiref.sync import sync_to_async
from pydantic import AwareDatetime, BaseModel, ConfigDict, Field

from agents.directory import base_url, register
from agents.models import Agent, Registration
from agents.registering import (
    registration_begin,
    registration_confirm,
    registration_find,
    statement_of,
)
from agents.roles import Role
from agents.schemas import AgentProfile, PublicAgentProfile
from agents.wire import Uri, optional
from chimera.core.errors import ChimeraError
from chimera.core.ids import new_id
from chimera.core.killpoints import reach
from skills.contract import (
    CostClass,
    Retry,
    RiskLevel,
    Skill,
    SkillContext,
    SkillMetadata,
    SkillResult,
)
from skills.profiles import profile_of

MEASURED = {"reputation_score", "uptime_24h", "last_heartbeat"}


class Input(BaseModel):
    """Whose profile."""

    model_config = ConfigDict(extra="forbid")
    agent_profile: AgentProfile = Field(
        description="Profile of an agent of this deployment; reputation, uptime and heartbeat are "
        "published as the platform measured them, state and wallet are not published"
    )


class Output(BaseModel):
    """Where the profile stands; only `registered` where the directory did not take it."""

    registered: bool
    profile_url: Uri | None = optional("Page of the profile")
    directory_id: str | None = optional("Id in the directory; stays when registered again")
    registered_at: AwareDatetime | None = optional("When the agent was first registered, UTC")


class RegisterOpenclawProfile(Skill):
    """Signs once, sends the same statement as often as needed, looks up what it cannot know."""

    input_model = Input
    output_model = Output
    metadata = SkillMetadata(
        risk_level=RiskLevel.MEDIUM,
        cost_class=CostClass.CHEAP,
        side_effects=True,
        idempotent=True,
        capabilities=frozenset({"NET", "DB"}),
        timeout_sec=10,
    )
    roles = frozenset({Role.ORCHESTRATOR})
    retry = Retry(3, frozenset({"REGISTRATION_FAILED", "NETWORK_ERROR"}))
    timeout_code = "NETWORK_ERROR"
    error_codes = (
        "REGISTRATION_FAILED",
        "INVALID_PROFILE",
        "NETWORK_ERROR",
        "RESOURCE_UNAVAILABLE",
    )
    field_codes = {"agent_profile": "INVALID_PROFILE"}

    async def execute(self, ctx: SkillContext[Input]) -> SkillResult:
        base_url()  # a deployment without a directory signs nothing
        registration, made_now = await sync_to_async(_begin)(ctx)
        if not registration.confirmed_at:
            try:
                entry, sequence = await register(
                    statement_of(registration), sent_before=not made_now
                )
            except ChimeraError as problem:
                return _go_on(ctx, problem)
            reach("register_openclaw_profile.sent")
            await sync_to_async(registration_confirm)(
                registration=registration, entry=entry, sequence=sequence
            )
            if sequence != registration.sequence:
                ctx.warn("SUPERSEDED")
        output = Output.model_validate({"registered": True} | dict(registration.entry or {}))
        return SkillResult(output=output, output_text=f"Registered at {output.profile_url}")


def _go_on(ctx: SkillContext[Input], problem: ChimeraError) -> SkillResult:
    """A directory that will not have the profile stops nobody: a warning, once retries are over."""
    if problem.code != "REGISTRATION_FAILED" or not (ctx.last_attempt or problem.final):
        raise problem
    ctx.warn("REGISTRATION_FAILED")
    return SkillResult(output=Output(registered=False), output_text=problem.message)


def _begin(ctx: SkillContext[Input]) -> tuple[Registration, bool]:
    execution_id: UUID = ctx.execution_id or new_id()
    earlier = registration_find(execution_id)
    if earlier:
        return earlier, False
    given = ctx.params.agent_profile
    known = _known(given)
    measured = known.model_dump(include=MEASURED)
    profile = PublicAgentProfile.model_validate(given.public().model_dump() | measured)
    begun = registration_begin(execution_id=execution_id, profile=profile, known=known)
    reach("register_openclaw_profile.signed")
    return begun


def _known(given: AgentProfile) -> PublicAgentProfile:
    """The platform's own profile of the agent. INVALID_PROFILE unless it is one of this deployment."""
    agent = Agent.objects.filter(id=given.agent_id).first()
    if agent is None:
        raise _invalid("agent_id", f"No agent {given.agent_id} in this deployment")
    if agent.type != given.type:
        raise _invalid("type", f"This agent is a {agent.type}; its type cannot be changed")
    return AgentProfile.model_validate(profile_of(agent)).public()


def _invalid(field: str, message: str) -> ChimeraError:
    errors: dict[str, Any] = {f"agent_profile.{field}": [message]}
    return ChimeraError("INVALID_PROFILE", message, errors=errors)
