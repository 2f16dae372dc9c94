"""ExecutionIntents for tests, and who has said yes to them."""

from typing import Any
from uuid import uuid4

from django.contrib.auth.models import User

from agents.models import Agent
from approvals.models import ApprovalRequest
from approvals.requests import open_request, parse_body
from chimera.core.jsontext import plain
from content.models import PlatformAccount
from skills.models import SkillExecution, Status
from tests.helpers.calls import call, sign

NAME = "skill_execute_publish_intent"
TEXT = "Merkato knew first. Three looks, one market, zero waste."


def intent(account: PlatformAccount, **changes: Any) -> dict[str, Any]:
    """A post of one sentence that the judge has approved, under a key of its own."""
    made = {
        "intentId": "exec-uuid",
        "taskId": "task-uuid",
        "action": "post",
        "target": {"platform": account.platform, "channelId": account.handle},
        "payload": {"content": TEXT, "mediaRefs": []},
        "budgetUsd": 20,
        "approvedBy": "judge",
        "idempotencyKey": f"exec-{uuid4()}",
        "trace": {"planId": "plan-uuid"},
    }
    return made | changes


def review(agent: Agent, wanted: dict[str, Any]) -> ApprovalRequest:
    """The open request for a person's yes to the intent."""
    body = {"action": "execute_publish_intent", "intent": plain(wanted)}
    return open_request(agent, parse_body(body))[0]


def reviewed(agent: Agent, wanted: dict[str, Any], reviewer: User) -> dict[str, Any]:
    """The intent once a person has signed it."""
    request = review(agent, wanted)
    sign(request, reviewer)
    return named(wanted, str(request.id))


def named(wanted: dict[str, Any], review_id: str) -> dict[str, Any]:
    """The intent with a person's request as its approval."""
    return wanted | {"approvedBy": "human", "trace": {"planId": "plan-uuid", "reviewId": review_id}}


def execute(agent: Agent, wanted: dict[str, Any], environment: str = "sandbox") -> SkillExecution:
    """Call the skill and drive it until it stops."""
    return call(agent, NAME, intent=wanted, environment=environment)


def failure(execution: SkillExecution) -> dict[str, Any]:
    """The error of an intent that has failed, in the words of the document."""
    assert execution.status == Status.COMPLETED and execution.error is None
    output: dict[str, Any] = execution.output
    assert (output["status"], output["externalRef"]) == ("failed", None)
    assert set(output["error"]) == {"code", "message", "details", "retryable", "backoffSec"}
    error: dict[str, Any] = output["error"]
    return error
