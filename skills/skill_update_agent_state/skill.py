"""Change an agent's state: status, pending tasks, last execution; all of it or nothing."""

from datetime import timedelta
from decimal import Decimal
from typing import Annotated, Any, Literal
from uuid import UUID

from asgiref.sync import sync_to_async
from django.db import IntegrityError, transaction
from pydantic import BaseModel, ConfigDict, Field, ValidationInfo, field_validator, model_validator

from agents.models import Agent, StateChange
from agents.roles import Role
from agents.schemas import AgentProfile
from agents.states import agent_state_update
from agents.wire import Count, Timestamp, Version, WireModel, optional
from chimera.core.clock import now
from chimera.core.errors import ChimeraError
from chimera.core.ids import new_id
from chimera.core.jsontext import plain
from chimera.core.money import Money
from skills.contract import (
    STORED,
    CostClass,
    RiskLevel,
    Skill,
    SkillContext,
    SkillMetadata,
    SkillResult,
)
from skills.profiles import profile_of

MOST_TASKS = 1_000_000
CLOCKS_DIFFER = timedelta(seconds=5)


class StateUpdates(WireModel):
    """What to change; what is left out stays."""

    status: Literal["active", "busy", "paused", "error"] | None = optional(
        "active <-> busy; active or busy -> paused; paused -> active; any -> error with a reason; "
        "out of error by a person only"
    )
    reason: str | None = optional(
        "Why; required with status error", min_length=1, max_length=500, pattern=r"\S"
    )
    pending_tasks: Annotated[Count, Field(le=MOST_TASKS)] | None = optional(
        "Tasks accepted and not finished"
    )
    last_execution: Timestamp | None = optional("When the agent last ran a skill; not ahead of now")
    wallet_balance: Annotated[Money, Field(ge=0)] | None = optional(
        "Kept by the ledger: only its own value is accepted"
    )

    @field_validator("last_execution")
    @classmethod
    def _not_ahead(cls, value: Any, info: ValidationInfo) -> Any:
        if value and value > now() + CLOCKS_DIFFER and info.context != STORED:
            raise ValueError("is in the future; give the time at which the skill ran")
        return value

    @model_validator(mode="after")
    def _says_something(self) -> "StateUpdates":
        if not self.model_dump(exclude={"reason"}):
            raise ValueError(
                "give at least one of status, pending_tasks, last_execution, wallet_balance"
            )
        return self


class Input(BaseModel):
    """Which agent, what to change, and on which version."""

    model_config = ConfigDict(extra="forbid")
    agent_id: UUID = Field(description="Id of the agent")
    state_updates: StateUpdates = Field(description="The new values, applied together")
    expected_version: Version | None = Field(
        None, description="For optimistic locking: refuse when the agent is at another version"
    )


class Output(BaseModel):
    """The agent after the change."""

    success: Literal[True]
    updated_profile: AgentProfile
    new_version: Version


class UpdateAgentState(Skill):
    """One conditional update with its audit entry; a repeated execution finds its own change."""

    input_model = Input
    output_model = Output
    metadata = SkillMetadata(
        risk_level=RiskLevel.MEDIUM,
        cost_class=CostClass.CHEAP,
        side_effects=True,
        idempotent=True,
        capabilities=frozenset({"DB"}),
        timeout_sec=5,
    )
    roles = frozenset({Role.ORCHESTRATOR})
    error_codes = ("CONCURRENCY_ERROR", "AGENT_NOT_FOUND", "INVALID_STATE_TRANSITION")

    async def execute(self, ctx: SkillContext[Input]) -> SkillResult:
        output = await sync_to_async(_update_once)(ctx)
        profile = output["updated_profile"]
        text = f"{profile['name']} is {profile['status']}, version {output['new_version']}"
        return SkillResult(output=output, output_text=text)


def _update_once(ctx: SkillContext[Input]) -> dict[str, Any]:
    """The row of the execution decides: who inserts it makes the change, others read its result."""
    execution_id = ctx.execution_id or new_id()
    agent_id = ctx.params.agent_id
    try:
        with transaction.atomic():
            mine = StateChange.objects.create(execution_id=execution_id, agent_id=agent_id)
            mine.output = plain(_update(ctx))
            mine.save(update_fields=["output"])
    except IntegrityError:
        mine = StateChange.objects.get(execution_id=execution_id)
    return dict(mine.output)


def _update(ctx: SkillContext[Input]) -> Output:
    updates = ctx.params.state_updates
    agent = agent_state_update(
        agent_id=ctx.params.agent_id,
        changes=updates.model_dump(exclude={"reason", "wallet_balance"}),
        actor=ctx.caller.actor,
        reason=updates.reason or "",
        expected_version=ctx.params.expected_version,
    )
    profile = profile_of(agent)
    _check_balance(agent, updates.wallet_balance, profile.get("wallet_balance"))
    return Output.model_validate(
        {"success": True, "updated_profile": profile, "new_version": agent.version}
    )


def _check_balance(agent: Agent, given: Decimal | None, known: Decimal | None) -> None:
    """The ledger alone sets balances; an outdated one rolls everything back."""
    if given is None or given == known:
        return
    stands = "the agent has no wallet" if known is None else f"the ledger says {known}"
    raise ChimeraError(
        "CONCURRENCY_ERROR",
        f"wallet_balance is kept by the ledger and {stands}; leave it out or read it again",
        details={"current_version": agent.version - 1, "wallet_balance": known},
    )
