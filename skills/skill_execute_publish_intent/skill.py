"""Carry out an approved ExecutionIntent once per key: post it, or say in `error` why it was not.

Outside production it goes to the sandbox whatever the caller says. A failed intent is a completed
execution with status failed; accepted is one whose outcome is still being looked up.
"""

from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from asgiref.sync import sync_to_async
from django.conf import settings
from pydantic import Field

from agents.roles import Role
from agents.wire import Number, WireModel
from approvals.models import ApprovalRequest
from approvals.publish_intents import intent_approval, prepared_action
from chimera.core.errors import ChimeraError
from chimera.core.grants import Grant
from content.execution_intents import ExecutionIntent
from content.ingest import Ident
from content.publishing import (
    publication_call_off,
    publication_carry_out,
    publication_under_way,
)
from content.starting import publication_begin
from skills.contract import (
    CostClass,
    GatedSkill,
    Retry,
    RiskLevel,
    SkillContext,
    SkillMetadata,
    SkillResult,
)

USUAL_BACKOFF = 30.0
"""Seconds to wait before an intent that may succeed is sent again, where nobody says how long."""


class Input(WireModel):
    """ExecutionIntentRequest."""

    intent: ExecutionIntent = Field(description="What was decided, and who has approved it")
    environment: Literal["sandbox", "staging", "production"] = Field(
        description="Where the caller means to act; only a production posts to the networks"
    )


class Failure(WireModel):
    """Why nothing was posted."""

    code: Annotated[str, Field(pattern=r"^[A-Z][A-Z0-9_]*$")]
    message: str
    details: dict[str, Any]
    retryable: bool = Field(description="The same intent may be sent again under the same key")
    backoffSec: Number = Field(description="Not before so many seconds; 0 where it is in vain")


class Output(WireModel):
    """ExecutionIntentResponse."""

    intentId: Ident
    status: Literal["accepted", "executed", "failed"]
    externalRef: str | None = Field(
        description="Id of the post on the platform; null until executed"
    )
    error: Failure | None = Field(description="Null unless failed")


class ExecutePublishIntent(GatedSkill):
    """The gate of approvals in front of the one publisher, in the words of the intent's contract."""

    input_model = Input
    output_model = Output
    metadata = SkillMetadata(
        risk_level=RiskLevel.HIGH,
        cost_class=CostClass.NORMAL,
        side_effects=True,
        idempotent=True,
        capabilities=frozenset({"NET", "DB"}),
        timeout_sec=15,
    )
    roles = frozenset({Role.ORCHESTRATOR, Role.DISTRIBUTION_MANAGER})
    retry = Retry(
        3,
        frozenset({"PUBLISH_FAILED", "PLATFORM_ERROR", "RATE_LIMITED", "NETWORK_ERROR", "TIMEOUT"}),
    )
    error_codes = (
        "UNSUPPORTED_ACTION",
        "BUDGET_EXCEEDED",
        "IDEMPOTENCY_CONFLICT",
        "FORBIDDEN",
        "NOT_FOUND",
        "INVALID_TOKEN",
        "TOKEN_EXPIRED",
        "INVALID_CONTENT",
        "DUPLICATE_CONTENT",
        "SAFETY_VIOLATION",
        "PUBLISH_FAILED",
        "PLATFORM_ERROR",
        "RATE_LIMITED",
        "OUTCOME_UNKNOWN",
    )

    def idempotency(self, params: Input) -> tuple[str, str]:
        return "intent", params.intent.idempotencyKey

    def told(self, given: dict[str, Any], error: ChimeraError) -> dict[str, Any]:
        unknown = error.code == "OUTCOME_UNKNOWN"
        return {
            "intentId": given["intent"]["intentId"],
            "status": "accepted" if unknown else "failed",
            "externalRef": None,
            "error": None if unknown else _failure(error),
        }

    async def prepare(self, ctx: SkillContext[Input]) -> dict[str, Any]:
        return await sync_to_async(_action)(ctx)

    def ask(self, ctx: SkillContext[Input]) -> ApprovalRequest:
        """The request that the intent names, or the judge's; one that waits for a person blocks."""
        action, revision = ctx.prepared
        return intent_approval(
            agent=ctx.caller,
            intent=ctx.params.intent,
            action=action,
            revision=revision,
            execution_id=ctx.execution_id,
        )

    def begin(self, ctx: SkillContext[Input], grant: Grant) -> datetime | None:
        publication_begin(grant=grant, schedule_time=None)
        return None

    def under_way(self, execution_id: UUID) -> bool:
        return publication_under_way(execution_id)

    def call_off(self, execution_id: UUID) -> None:
        publication_call_off(execution_id)

    async def execute(self, ctx: SkillContext[Input]) -> SkillResult:
        return await sync_to_async(_carry_out)(ctx)


def _action(ctx: SkillContext[Input]) -> dict[str, Any]:
    """What would be posted. A production acts for callers that mean production, and for no others."""
    env, meant = settings.CHIMERA.environment, ctx.params.environment
    if env == "production" != meant:
        why = f"This is the production; an intent meant for {meant} is not carried out here"
        raise ChimeraError("FORBIDDEN", why, errors={"environment": [why]})
    ctx.prepared = prepared_action(ctx.caller, ctx.params.intent)
    action: dict[str, Any] = ctx.prepared[0]
    return action


def _carry_out(ctx: SkillContext[Input]) -> SkillResult:
    assert ctx.grant  # the framework has redeemed the approval
    publication = publication_carry_out(ctx.grant.approval_id)
    output = Output(
        intentId=ctx.params.intent.intentId,
        status="executed",
        externalRef=publication.post_id,
        error=None,
    )
    return SkillResult(output=output, output_text=f"Published at {publication.post_url}")


def _failure(error: ChimeraError) -> dict[str, Any]:
    wait = (error.backoff_sec or USUAL_BACKOFF) if error.retryable else 0.0
    return {
        "code": error.code,
        "message": error.message,
        "details": error.details | ({"errors": error.errors} if error.errors else {}),
        "retryable": error.retryable,
        "backoffSec": wait,
    }
