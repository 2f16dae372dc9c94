"""The judge of a sandbox: the policy rule that says yes where no person was asked.

Its yes is a row, a token and an audit entry like a person's, signed with a key of its own kind that
staging and production refuse (`approvals.keys`). There is no decision: only persons make those.
"""

from datetime import timedelta
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import transaction

from agents.models import Agent
from approvals.keys import judge_key
from approvals.models import ApprovalRequest, Lane, Status
from approvals.redeeming import JUDGE
from approvals.services import request_open, token_mint
from chimera.core import audit
from chimera.core.clock import iso, now


def judge_may_approve(mode: str, issues: list[dict[str, Any]]) -> str:
    """Why the judge must not say yes, as a sentence with the remedy; empty where it may.

    mode: of the account that the effect goes to. issues: what the content rules have found.
    """
    ask = (
        "have a person sign (POST /api/v1/approvals/), then send approvedBy human and the reviewId"
    )
    if not settings.CHIMERA.is_sandbox or mode != "sandbox":
        return f"A judge approves in a sandbox only; {ask}"
    errors = [issue["message"] for issue in issues if issue["severity"] == "error"]
    return f"The judge approves nothing that breaks a rule ({errors[0]}); {ask}" if errors else ""


def judge_approve(
    *,
    agent: Agent,
    action: dict[str, Any],
    sentence: str,
    context: dict[str, Any],
    execution_id: UUID | None,
) -> ApprovalRequest:
    """The approved request of this action, made where there is none; asked again it is the same."""
    with transaction.atomic():
        request, _ = request_open(
            agent=agent,
            action=action,
            sentence=sentence,
            lane=Lane.STANDARD,
            confidence=None,
            context=context,
            execution_id=execution_id,
        )
        request = ApprovalRequest.objects.select_for_update(of=("self",)).get(id=request.id)
        if request.status == Status.PENDING:
            _sign(request)
    return request


def _sign(request: ApprovalRequest) -> None:
    moment = now()
    request.status, request.decided_at = Status.APPROVED, moment
    request.token_expires_at = moment + timedelta(seconds=settings.CHIMERA.chimera_approval_ttl)
    request.save()
    kid = token_mint(request, reviewer=JUDGE, auth_time=moment, key=judge_key(actor=JUDGE))
    audit.record(
        actor=JUDGE,
        action="approval.approved",
        object_type="approval",
        object_id=request.id,
        data={
            "action_digest": request.action_digest,
            "kid": kid,
            "auth_time": iso(moment),
            "execution_id": str(request.execution_id) if request.execution_id else None,
        },
    )
