"""Redeem an approval: the one place where a yes becomes the permission to cause one effect."""

from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import connection

from approvals.models import ApprovalRequest, ApprovalToken, Decision, Status
from approvals.tokens import token_verify
from chimera.core import audit
from chimera.core.clock import now
from chimera.core.digest import digest
from chimera.core.errors import ChimeraError
from chimera.core.grants import Grant

JUDGE = "policy:judge_may_approve"
"""Who has signed what no person has."""


def approval_redeem(
    *, token: str, action: dict[str, Any], agent_id: UUID, execution_id: UUID
) -> Grant:
    """Use the approval up for exactly this action, in the transaction that starts the effect.

    action: recomputed from what is about to be sent. The same execution finds its own consumed
    approval again; everybody else gets INVALID_TOKEN, or TOKEN_EXPIRED.
    """
    if not connection.in_atomic_block:
        raise RuntimeError("an approval is redeemed in the transaction that starts its effect")
    claims = token_verify(token, kind=action["type"], may_be_expired=True)
    request = _request_of(claims)
    action_digest = digest(action)
    if request is None or claims["act"] != str(agent_id) or request.agent_id != agent_id:
        raise _refused("it was issued to another agent")
    if not action_digest == claims["action_digest"] == request.action_digest:
        raise _refused("it approves another action than this one")
    if request.status == Status.CONSUMED and request.consumed_by == execution_id:
        return _own_grant(request, claims)
    token_verify(token, kind=action["type"])
    _consume(request, claims, execution_id)
    return _grant(request, claims, execution_id)


def approved_action(token: str, *, kind: str) -> dict[str, Any]:
    """The action that a token of ours names, expired or not; INVALID_TOKEN. Redeeming checks the rest."""
    claims = token_verify(token, kind=kind, may_be_expired=True)
    request = _request_of(claims)
    if request is None:
        raise _refused("its approval is unknown")
    action: dict[str, Any] = request.action
    return action


def _request_of(claims: dict[str, Any]) -> ApprovalRequest | None:
    try:
        approval_id = UUID(str(claims["approval_id"]))
    except ValueError:
        return None
    return ApprovalRequest.objects.filter(id=approval_id).first()


def _refused(why: str) -> ChimeraError:
    message = f"The approval token is not valid here: {why}"
    return ChimeraError("INVALID_TOKEN", message, errors={"approval_token": [message]})


def _consume(request: ApprovalRequest, claims: dict[str, Any], execution_id: UUID) -> None:
    kept = ApprovalToken.objects.filter(request=request, jti=claims["jti"])
    # Only columns of the row itself decide: after waiting for its lock PostgreSQL looks at them
    # again, but not at the tables of a join or a subquery, so that two would win.
    usable = ApprovalRequest.objects.filter(
        id=request.id,
        status=Status.APPROVED,
        token_expires_at__gt=now(),
        revoked_at__isnull=True,
    )
    won = kept.exists() and usable.update(
        status=Status.CONSUMED, consumed_at=now(), consumed_by=execution_id
    )
    if won != 1:
        raise _refused("it has been used, revoked or replaced")
    kept.delete()
    audit.record(
        actor=f"agent:{request.agent_id}",
        action="approval.consumed",
        object_type="approval",
        object_id=request.id,
        data={
            "execution_id": str(execution_id),
            "jti": claims["jti"],
            "action_digest": request.action_digest,
        },
    )


def _own_grant(request: ApprovalRequest, claims: dict[str, Any]) -> Grant:
    if request.revoked_at:
        raise _refused("it has been revoked")
    assert request.consumed_by  # a consumed request names its execution (database constraint)
    return _grant(request, claims, request.consumed_by)


def _grant(request: ApprovalRequest, claims: dict[str, Any], execution_id: UUID) -> Grant:
    signed = request.decided_at
    assert signed  # a consumed request was decided
    return Grant(
        approval_id=request.id,
        action=request.action,
        action_digest=request.action_digest,
        agent_id=request.agent_id,
        execution_id=execution_id,
        reviewer_id=str(claims["sub"]),
        signed_at=signed,
    )


def grant_of_execution(execution_id: UUID, *, under_way: bool = False) -> Grant | None:
    """The grant an execution has already obtained; INVALID_TOKEN when it was revoked since.

    under_way: the effect may have happened; a revocation no longer stops it, so it is followed up.
    """
    request = ApprovalRequest.objects.filter(
        consumed_by=execution_id, status=Status.CONSUMED
    ).first()
    if request is None:
        return None
    decision = request.decisions.filter(verdict=Decision.Verdict.APPROVE).first()
    if decision is None and not under_way and not settings.CHIMERA.is_sandbox:
        raise _refused("a judge gave it, and outside a sandbox a person must")
    claims = {"sub": decision.reviewer_id if decision else JUDGE}
    return _grant(request, claims, execution_id) if under_way else _own_grant(request, claims)
