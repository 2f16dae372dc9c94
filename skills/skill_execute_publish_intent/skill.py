"""Carry out an approved ExecutionIntent once per key: post it, or say in `error` why it was not.

Outside production it goes to the sandbox whatever the caller says. A failed intent is a completed
execution with status failed; accepted is one whose outcome is still being looked up.
"""

from datetime import datetime
from typing import Annotated, Any, Literal

from django.conf import settings
from pydantic import Field

from agents.wire import Number, WireModel
from approvals.models import ApprovalRequest
from approvals.publish_intents import intent_approval, prepared_action
from chimera.core.errors import ChimeraError
from chimera.core.grants import Grant
from content.execution_intents import ExecutionIntent
from content.ingest import Ident
from content.models import Publication
from content.starting import publication_begin
from skills.contract import SkillContext
from skills.publishing import PublishingSkill

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


class ExecutePublishIntent(PublishingSkill):
    """Publishing in the words of the intent's contract."""

    input_model = Input
    output_model = Output
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

    def action(self, ctx: SkillContext[Input]) -> dict[str, Any]:
        """A production acts for callers that mean production, and for no others."""
        env, meant = settings.CHIMERA.environment, ctx.params.environment
        if env == "production" != meant:
            why = f"This is the production; an intent meant for {meant} is not carried out here"
            raise ChimeraError("FORBIDDEN", why, errors={"environment": [why]})
        ctx.prepared = prepared_action(ctx.caller, ctx.params.intent)
        action: dict[str, Any] = ctx.prepared[0]
        return action

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

    def output(self, ctx: SkillContext[Input], publication: Publication) -> Output:
        return Output(
            intentId=ctx.params.intent.intentId,
            status="executed",
            externalRef=publication.post_id,
            error=None,
        )


def _failure(error: ChimeraError) -> dict[str, Any]:
    wait = (error.backoff_sec or USUAL_BACKOFF) if error.retryable else 0.0
    return {
        "code": error.code,
        "message": error.message,
        "details": error.details | ({"errors": error.errors} if error.errors else {}),
        "retryable": error.retryable,
        "backoffSec": wait,
    }
