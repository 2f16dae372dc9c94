"""Open an approval request from what an agent asks for: the one way in for REST and blocked executions."""

from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import transaction
from pydantic import TypeAdapter, ValidationError

from agents.models import Agent
from agents.roles import Role
from approvals import actions, payments, services
from approvals.models import ApprovalRequest, Lane
from approvals.publish_intents import open_intent
from approvals.schemas import ACTIONS, ApprovalBody, DebitBody, IntentBody, PublishBody
from chimera.core.errors import ChimeraError
from chimera.core.schema import field_errors

BODY: TypeAdapter[ApprovalBody] = TypeAdapter(ApprovalBody)


def parse_body(data: Any) -> ApprovalBody:
    """The typed body, or INVALID_INPUT naming each field."""
    try:
        return BODY.validate_python(data)
    except ValidationError as problem:
        raise ChimeraError(
            "INVALID_INPUT", errors=field_errors(problem, drop=set(ACTIONS))
        ) from None


def open_request(
    agent: Agent,
    body: ApprovalBody,
    execution_id: UUID | None = None,
    until: datetime | None = None,
) -> tuple[ApprovalRequest, bool]:
    """Open a request for what the agent asks; (request, whether it is new).

    until: of a post, as of `services.request_open`.
    """
    if isinstance(body, DebitBody):
        return _open_debit(agent, body, execution_id)
    if isinstance(body, IntentBody):
        return open_intent(agent, body.intent)
    return _open_publish(agent, body, until)


def _open_publish(
    agent: Agent, body: PublishBody, until: datetime | None
) -> tuple[ApprovalRequest, bool]:
    if agent.type not in (Role.DISTRIBUTION_MANAGER, Role.ORCHESTRATOR):
        raise ChimeraError("FORBIDDEN", f"An agent of the role {agent.type} may not publish")
    action, revision, account = actions.publish_request(
        caller=agent,
        content_id=body.content_id,
        platform=body.platform,
        account=body.account,
        schedule_time=body.schedule_time,
        fallback_platforms=list(body.fallback_platforms),
    )
    lane, confidence = actions.publish_lane(revision, action)
    return services.request_open(
        agent=agent,
        action=action,
        sentence=actions.publish_sentence(action),
        lane=lane,
        confidence=confidence,
        context=actions.publish_context(revision, account),
        until=until,
    )


def _open_debit(
    agent: Agent, body: DebitBody, execution_id: UUID | None
) -> tuple[ApprovalRequest, bool]:
    if agent.type != Role.CFO_JUDGE:
        raise ChimeraError("FORBIDDEN", f"An agent of the role {agent.type} may not pay")
    action, wallet = payments.debit_action(**body.model_dump(exclude={"action"}))
    with transaction.atomic():
        return services.request_open(
            agent=agent,
            action=action,
            sentence=payments.debit_sentence(action, wallet),
            lane=Lane.STANDARD,
            confidence=None,
            context=payments.debit_context(action, wallet),
            execution_id=execution_id,
        )
