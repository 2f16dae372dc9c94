"""Ask for an approval, decide, redeem: the three steps between an action and its effect.

Every step is one transaction with its audit entry; a conditional update decides who was first.
"""

import secrets
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from django.conf import settings
from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.db.models import F

from agents.models import Agent
from approvals.models import ApprovalRequest, ApprovalToken, Decision, Kind, Lane, Status
from approvals.tokens import token_sign
from chimera.core import audit, hints
from chimera.core.clock import iso, now
from chimera.core.digest import digest
from chimera.core.errors import ChimeraError
from chimera.core.secrets import decrypt, encrypt
from content.models import ContentPackage

RESUME_TASK = "skills.resume"
SIGN_IN_FRESH = timedelta(minutes=5)


def request_open(
    *,
    agent: Agent,
    action: dict[str, Any],
    sentence: str,
    lane: Lane,
    confidence: Any,
    context: dict[str, Any],
    execution_id: UUID | None = None,
    until: datetime | None = None,
) -> tuple[ApprovalRequest, bool]:
    """(request, whether it is new). A second request for an open action is the first one.

    until: when nobody waits for the answer any more, where that is before a request lapses.
    """
    action_digest = digest(action)
    open_ones = ApprovalRequest.objects.filter(
        agent=agent, action_digest=action_digest, status__in=[Status.PENDING, Status.APPROVED]
    )
    existing = open_ones.first()
    if existing and existing.is_out_of_time:
        request_expire(existing)
    elif existing:
        return _adopted(existing, execution_id), False
    try:
        with transaction.atomic():
            return _insert(
                agent,
                action,
                action_digest,
                sentence,
                lane,
                confidence,
                context,
                execution_id,
                until,
            ), True
    except IntegrityError:
        return _adopted(open_ones.get(), execution_id), False


def _adopted(request: ApprovalRequest, execution_id: UUID | None) -> ApprovalRequest:
    """Let an execution wait for a request that was opened before it."""
    if execution_id and request.execution_id is None:
        request.execution_id = execution_id
        with transaction.atomic():  # the row and its history
            request.save(update_fields=["execution_id"])
    return request


def _insert(
    agent: Agent,
    action: dict[str, Any],
    action_digest: str,
    sentence: str,
    lane: Lane,
    confidence: Any,
    context: dict[str, Any],
    execution_id: UUID | None,
    until: datetime | None,
) -> ApprovalRequest:
    lapses = now() + timedelta(seconds=settings.CHIMERA.chimera_approval_pending_ttl)
    request = ApprovalRequest.objects.create(
        kind=action["type"],
        action=action,
        action_digest=action_digest,
        sentence=sentence,
        lane=lane,
        confidence=confidence,
        context=context,
        agent=agent,
        execution_id=execution_id,
        expires_at=min(lapses, until or lapses),
    )
    audit.record(
        actor=agent.actor,
        action="approval.requested",
        object_type="approval",
        object_id=request.id,
        data={
            "kind": request.kind,
            "action_digest": action_digest,
            "sentence": sentence,
            "lane": lane,
        },
    )
    return request


# --- deciding -------------------------------------------------------------------------------------


def _locked(request_id: UUID, reviewer: User, shown_digest: str) -> ApprovalRequest:
    """The request under lock, if this person may decide it now. Call inside a transaction."""
    if not reviewer.is_active or not reviewer.has_perm("approvals.decide"):
        raise ChimeraError(
            "FORBIDDEN", "You may not decide requests; ask an admin for the reviewer role"
        )
    request = (
        ApprovalRequest.objects.select_for_update(of=("self",))
        .select_related("agent")
        .get(id=request_id)
    )
    if request.agent.owner_id == reviewer.pk:
        raise ChimeraError(
            "FORBIDDEN", "You are answerable for this agent; somebody else must decide its requests"
        )
    if request.status != Status.PENDING:
        raise ChimeraError(
            "CONCURRENCY_ERROR", f"This request is already {request.get_status_display().lower()}"
        )
    if request.expires_at <= now():
        raise ChimeraError("CONCURRENCY_ERROR", "This request has expired; nothing was decided")
    if superseded(request):
        raise ChimeraError(
            "CONCURRENCY_ERROR", "The content has been revised since; the agent must ask anew"
        )
    if shown_digest != request.action_digest:
        raise ChimeraError(
            "CONCURRENCY_ERROR", "What you were shown is not what would happen; load the page again"
        )
    return request


_DONE = {
    Decision.Verdict.APPROVE: "approved",
    Decision.Verdict.REJECT: "rejected",
    Decision.Verdict.REQUEST_CHANGES: "changes_requested",
    Decision.Verdict.REVOKE: "revoked",
}


def _decide(
    request: ApprovalRequest,
    reviewer: User,
    verdict: Decision.Verdict,
    status: Status,
    reason: str,
    auth_time: datetime | None,
) -> Decision:
    request.status, request.decided_at, request.reason = status, now(), reason
    request.save()
    decision = Decision.objects.create(
        request=request,
        reviewer=reviewer,
        verdict=verdict,
        reason=reason,
        action_digest=request.action_digest,
        auth_time=auth_time,
    )
    audit.record(
        actor=f"person:{reviewer.pk}",
        action=f"approval.{_DONE[verdict]}",
        object_type="approval",
        object_id=request.id,
        data={
            "action_digest": request.action_digest,
            "reason": reason,
            "auth_time": iso(auth_time),
            "execution_id": str(request.execution_id) if request.execution_id else None,
        },
    )
    hints.wake(RESUME_TASK, str(request.id))
    return decision


def request_approve(
    *, request_id: UUID, reviewer: User, password_confirmed_at: datetime, shown_digest: str
) -> Decision:
    """Sign the action. FORBIDDEN without a fresh sign-in, CONCURRENCY_ERROR when it is no longer open."""
    if not timedelta(0) <= now() - password_confirmed_at <= SIGN_IN_FRESH:
        raise ChimeraError(
            "FORBIDDEN", "Confirm who you are again; the last sign-in is too old to sign"
        )
    with transaction.atomic():
        request = _locked(request_id, reviewer, shown_digest)
        request.token_expires_at = now() + timedelta(seconds=settings.CHIMERA.chimera_approval_ttl)
        decision = _decide(
            request, reviewer, Decision.Verdict.APPROVE, Status.APPROVED, "", password_confirmed_at
        )
        if request.kind != Kind.QUESTION:  # its yes allows no effect: nobody would redeem a token
            token_mint(request, reviewer=str(reviewer.pk), auth_time=password_confirmed_at)
    return decision


def token_mint(
    request: ApprovalRequest,
    *,
    reviewer: str,
    auth_time: datetime,
    key: tuple[str, Ed25519PrivateKey] | None = None,
) -> str:
    """Sign and keep the token of an approved request; the kid. key: as of `token_sign`."""
    assert request.token_expires_at  # set with the yes
    jti = secrets.token_urlsafe(16)
    token, kid = token_sign(
        kind=request.kind,
        action=request.action,
        action_digest=request.action_digest,
        approval_id=str(request.id),
        reviewer=reviewer,
        agent=str(request.agent_id),
        jti=jti,
        auth_time=auth_time,
        expires_at=request.token_expires_at,
        key=key,
    )
    ApprovalToken.objects.create(request=request, jti=jti, kid=kid, sealed=encrypt(token.encode()))
    return kid


def _checked_reason(reason: str) -> str:
    reason = reason.strip()
    if not 1 <= len(reason) <= 1000:
        message = "Write a reason of 1 to 1000 characters; the agent reads it"
        raise ChimeraError("INVALID_INPUT", message, errors={"reason": [message]})
    return reason


def request_reject(*, request_id: UUID, reviewer: User, reason: str, shown_digest: str) -> Decision:
    """Say no, with a reason the agent reads. INVALID_INPUT without one."""
    return _refuse(
        request_id, reviewer, reason, shown_digest, Decision.Verdict.REJECT, Status.REJECTED
    )


def request_changes(
    *, request_id: UUID, reviewer: User, reason: str, shown_digest: str
) -> Decision:
    """Send it back: the agent makes a new revision and asks again."""
    return _refuse(
        request_id,
        reviewer,
        reason,
        shown_digest,
        Decision.Verdict.REQUEST_CHANGES,
        Status.CHANGES_REQUESTED,
    )


def _refuse(
    request_id: UUID,
    reviewer: User,
    reason: str,
    shown_digest: str,
    verdict: Decision.Verdict,
    status: Status,
) -> Decision:
    reason = _checked_reason(reason)
    with transaction.atomic():
        request = _locked(request_id, reviewer, shown_digest)
        decision = _decide(request, reviewer, verdict, status, reason, None)
        if verdict is Decision.Verdict.REJECT:
            Agent.objects.filter(pk=request.agent_id).update(
                rejection_count=F("rejection_count") + 1
            )
    return decision


def request_revoke(*, request_id: UUID, reviewer: User, reason: str) -> ApprovalRequest:
    """Take an approval back. A scheduled post that has used it up is stopped when it is due."""
    reason = _checked_reason(reason)
    if not reviewer.has_perm("approvals.decide"):
        raise ChimeraError(
            "FORBIDDEN", "You may not decide requests; ask an admin for the reviewer role"
        )
    with transaction.atomic():
        request = ApprovalRequest.objects.select_for_update(of=("self",)).get(id=request_id)
        if request.status not in (Status.APPROVED, Status.CONSUMED) or request.revoked_at:
            raise ChimeraError(
                "CONCURRENCY_ERROR", f"This request is {request.get_status_display().lower()}"
            )
        request.revoked_at = now()
        status = Status.REVOKED if request.status == Status.APPROVED else Status.CONSUMED
        _decide(request, reviewer, Decision.Verdict.REVOKE, status, reason, None)
    return request


def request_expire(request: ApprovalRequest) -> bool:
    """Mark one request expired if nobody decided it, or its token if nobody used it."""
    with transaction.atomic():
        changed = ApprovalRequest.objects.filter(id=request.id, status=request.status).update(
            status=Status.EXPIRED
        )
        if changed:
            audit.record(
                actor="system:approvals",
                action="approval.expired",
                object_type="approval",
                object_id=request.id,
                data={"was": request.status},
            )
            ApprovalToken.objects.filter(request=request).delete()
            hints.wake(RESUME_TASK, str(request.id))
    return bool(changed)


def requests_expire() -> int:
    """Expire what is out of time; how many."""
    return sum(request_expire(request) for request in ApprovalRequest.objects.out_of_time()[:400])


def superseded(request: ApprovalRequest) -> bool:
    """True for a post whose content has a newer revision: what would be signed can never be sent."""
    if request.kind != Kind.PUBLISH:
        return False
    newer = ContentPackage.objects.filter(
        id=request.action["content_id"], revision__gt=request.action["revision"]
    )
    return newer.exists()


def request_void(*, request_id: UUID, actor: str, reason: str) -> bool:
    """Close an open request that can lead to nothing any more; True if it was open."""
    open_ones = [Status.PENDING, Status.APPROVED]
    with transaction.atomic():
        changed = ApprovalRequest.objects.filter(id=request_id, status__in=open_ones).update(
            status=Status.REVOKED, revoked_at=now(), reason=reason
        )
        if changed:
            audit.record(
                actor=actor,
                action="approval.revoked",
                object_type="approval",
                object_id=request_id,
                data={"reason": reason},
            )
            ApprovalToken.objects.filter(request=request_id).delete()
            hints.wake(RESUME_TASK, str(request_id))
    return bool(changed)


def requests_void_superseded() -> int:
    """Close the open requests whose content was revised since; how many."""
    waiting = ApprovalRequest.objects.filter(
        kind=Kind.PUBLISH, status__in=[Status.PENDING, Status.APPROVED]
    )
    why = "The content was revised after the request"
    return sum(
        request_void(request_id=request.id, actor="system:approvals", reason=why)
        for request in waiting.order_by("created_at")[:500]
        if superseded(request)
    )


def request_of(agent: Agent, request_id: UUID) -> ApprovalRequest:
    """The agent's own request. NOT_FOUND."""
    found = ApprovalRequest.objects.filter(id=request_id, agent=agent).first()
    if found is None:
        raise ChimeraError("NOT_FOUND", "No such approval request of yours")
    return found


def token_of(request: ApprovalRequest) -> str | None:
    """The token of an approved request, for the requesting agent alone."""
    held = (
        ApprovalToken.objects.filter(request=request).first()
        if request.status == Status.APPROVED
        else None
    )
    return decrypt(held.sealed).decode() if held else None
