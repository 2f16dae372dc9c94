"""Deciding: who may, with how fresh a sign-in, on what they were shown; and nothing else."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.contrib.auth.models import User
from django.db import DatabaseError, transaction

from agents.models import Agent
from approvals import services
from approvals.keys import key_create, signing_key, verifying_key
from approvals.models import ApprovalRequest, ApprovalToken, Decision, SigningKey, Status
from chimera.core.clock import now
from chimera.core.errors import ChimeraError
from chimera.core.models import AuditEntry
from tests.helpers import gate
from tests.helpers.gate import forger, refused

pytestmark = [pytest.mark.django_db, pytest.mark.req("C5")]
Decide = Callable[[ApprovalRequest, User], Decision]


@pytest.fixture
def request_(orchestrator: Agent, approval_key: Any) -> ApprovalRequest:
    return gate.opened(orchestrator, gate.frozen_post())


def approve(request: ApprovalRequest, person: User, **changes: Any) -> Decision:
    given = {
        "request_id": request.id,
        "reviewer": person,
        "password_confirmed_at": now(),
        "shown_digest": request.action_digest,
    }
    return services.request_approve(**(given | changes))


def reject(request: ApprovalRequest, person: User, **changes: Any) -> Decision:
    given = {
        "request_id": request.id,
        "reviewer": person,
        "reason": "The claim has no source",
        "shown_digest": request.action_digest,
    }
    return services.request_reject(**(given | changes))


def send_back(request: ApprovalRequest, person: User, **changes: Any) -> Decision:
    given = {
        "request_id": request.id,
        "reviewer": person,
        "reason": "Name the market",
        "shown_digest": request.action_digest,
    }
    return services.request_changes(**(given | changes))


EVERY: dict[str, Decide] = {"approve": approve, "reject": reject, "request changes": send_back}


# --- what a decision does ---------------------------------------------------------------------


def test_an_approval_mints_one_token_and_one_decision(
    request_: ApprovalRequest, reviewer: User
) -> None:
    confirmed = now() - timedelta(minutes=2)
    decision = approve(request_, reviewer, password_confirmed_at=confirmed)
    request_.refresh_from_db()
    assert (request_.status, decision.verdict) == (Status.APPROVED, "approve")
    assert decision.action_digest == request_.action_digest
    assert decision.auth_time == confirmed
    token = services.token_of(request_)
    assert token
    assert forger(token).claims["auth_time"] == int(confirmed.timestamp())
    assert ApprovalToken.objects.get().kid == forger(token).header["kid"]
    entry = AuditEntry.objects.get(action="approval.approved")
    assert (entry.actor, entry.object_id) == (f"person:{reviewer.pk}", str(request_.id))
    assert ApprovalRequest.history.filter(id=request_.id, status="approved").exists()


@pytest.mark.parametrize(
    ("decide", "status"), [(reject, "rejected"), (send_back, "changes_requested")]
)
def test_a_no_carries_its_reason_and_no_token(
    decide: Decide, status: str, request_: ApprovalRequest, reviewer: User, api: Any
) -> None:
    decision = decide(request_, reviewer)
    answer = api(request_.agent).get(f"/api/v1/approvals/{request_.id}/").json()
    assert (answer["status"], answer["reason"]) == (status, decision.reason)
    assert answer["approval_token"] is None
    assert not ApprovalToken.objects.exists()
    agent = Agent.objects.get(id=request_.agent_id)
    assert agent.rejection_count == (1 if status == "rejected" else 0)


# --- who may ----------------------------------------------------------------------------------


@pytest.mark.parametrize("how", EVERY)
def test_a_person_without_the_permission_may_not_decide(
    how: str, request_: ApprovalRequest, bystander: User
) -> None:
    with refused(request_, "FORBIDDEN"):
        EVERY[how](request_, bystander)


@pytest.mark.parametrize("how", EVERY)
def test_an_inactive_reviewer_may_not_decide(
    how: str, request_: ApprovalRequest, reviewer: User
) -> None:
    reviewer.is_active = False
    reviewer.save()
    with refused(request_, "FORBIDDEN"):
        EVERY[how](request_, reviewer)


@pytest.mark.parametrize("how", EVERY)
def test_who_answers_for_an_agent_may_not_decide_its_requests(
    how: str, request_: ApprovalRequest, reviewer: User
) -> None:
    Agent.objects.filter(id=request_.agent_id).update(owner=reviewer)
    with refused(request_, "FORBIDDEN"):
        EVERY[how](request_, reviewer)
    assert EVERY[how](request_, gate.decider("walt"))


def test_a_superuser_who_owns_the_agent_may_not_decide_either(request_: ApprovalRequest) -> None:
    admin = User.objects.create(username="ada", is_superuser=True)
    Agent.objects.filter(id=request_.agent_id).update(owner=admin)
    with refused(request_, "FORBIDDEN"):
        approve(request_, admin)


# --- with what --------------------------------------------------------------------------------


@pytest.mark.parametrize("seconds", [301, 86400, -1, -3600])
def test_a_stale_or_future_sign_in_signs_nothing(
    seconds: int, request_: ApprovalRequest, reviewer: User
) -> None:
    confirmed = now() - timedelta(seconds=seconds)
    with refused(request_, "FORBIDDEN"):
        approve(request_, reviewer, password_confirmed_at=confirmed)


@pytest.mark.parametrize("how", EVERY)
@pytest.mark.parametrize("shown", ["", "0" * 64, "upper", "short"])
def test_a_digest_other_than_the_shown_one_decides_nothing(
    how: str, shown: str, request_: ApprovalRequest, reviewer: User
) -> None:
    digest = request_.action_digest
    given = {"upper": digest.upper(), "short": digest[:12]}.get(shown, shown)
    decide: Any = EVERY[how]
    with refused(request_, "CONCURRENCY_ERROR"):
        decide(request_, reviewer, shown_digest=given)


@pytest.mark.parametrize("decide", [reject, send_back])
@pytest.mark.parametrize("reason", ["", "   ", "\n\t", "x" * 1001])
def test_a_no_without_a_usable_reason_is_refused(
    decide: Any, reason: str, request_: ApprovalRequest, reviewer: User
) -> None:
    with refused(request_, "INVALID_INPUT"):
        decide(request_, reviewer, reason=reason)


@pytest.mark.parametrize("reason", ["", " ", "x" * 1001])
def test_a_revocation_without_a_usable_reason_is_refused(
    reason: str, request_: ApprovalRequest, reviewer: User
) -> None:
    token = gate.signed(request_, reviewer)
    with pytest.raises(ChimeraError, match="INVALID_INPUT"):
        services.request_revoke(request_id=request_.id, reviewer=reviewer, reason=reason)
    assert gate.redeem(token, request_.action, request_.agent, uuid4())


def test_only_a_reviewer_revokes(
    request_: ApprovalRequest, reviewer: User, bystander: User
) -> None:
    token = gate.signed(request_, reviewer)
    with pytest.raises(ChimeraError, match="FORBIDDEN"):
        services.request_revoke(request_id=request_.id, reviewer=bystander, reason="Mine")
    assert gate.redeem(token, request_.action, request_.agent, uuid4())


# --- once, and in time ------------------------------------------------------------------------


@pytest.mark.parametrize("first", EVERY)
@pytest.mark.parametrize("second", EVERY)
def test_a_decided_request_is_not_decided_again(
    first: str, second: str, request_: ApprovalRequest, reviewer: User
) -> None:
    EVERY[first](request_, reviewer)
    before = gate.standing(request_)
    with pytest.raises(ChimeraError, match="CONCURRENCY_ERROR"):
        EVERY[second](request_, gate.decider("walt"))
    assert gate.standing(request_) == before
    assert Decision.objects.count() == 1


@pytest.mark.parametrize("how", EVERY)
def test_a_request_out_of_time_is_not_decided(
    how: str, request_: ApprovalRequest, reviewer: User
) -> None:
    ApprovalRequest.objects.filter(id=request_.id).update(expires_at=now())
    with refused(request_, "CONCURRENCY_ERROR"):
        EVERY[how](request_, reviewer)


@pytest.mark.req("C3")
def test_a_decision_is_neither_changed_nor_removed(
    request_: ApprovalRequest, reviewer: User
) -> None:
    decision = reject(request_, reviewer)
    decision.reason = "Never said"
    attempts: list[Callable[[], Any]] = [
        decision.save,
        decision.delete,
        lambda: Decision.objects.update(verdict="approve"),
        Decision.objects.all().delete,
    ]
    for attempt in attempts:
        with pytest.raises(DatabaseError, match="append-only"), transaction.atomic():
            attempt()
    assert Decision.objects.get().reason == "The claim has no source"


# --- the key ----------------------------------------------------------------------------------


@pytest.mark.parametrize("process", ["worker", "scheduler"])
def test_a_worker_cannot_sign_even_with_the_key_at_hand(
    process: str, request_: ApprovalRequest, reviewer: User, settings: Any
) -> None:
    settings.CHIMERA = settings.CHIMERA.model_copy(update={"chimera_process": process})
    with refused(request_, "SECURITY_VIOLATION"):
        approve(request_, reviewer)


def test_without_the_private_file_nothing_is_signed(
    request_: ApprovalRequest, reviewer: User, approval_key: SigningKey, settings: Any
) -> None:
    (settings.CHIMERA.keys_dir / f"{approval_key.kid}.pem").unlink()
    with refused(request_, "INTERNAL_ERROR"):
        approve(request_, reviewer)
    assert verifying_key(approval_key.kid, "publish_content")


def test_the_private_half_is_a_file_of_its_owner_alone(
    approval_key: SigningKey, settings: Any
) -> None:
    folder = settings.CHIMERA.keys_dir
    path = folder / f"{approval_key.kid}.pem"
    assert path.stat().st_mode & 0o777 == 0o600
    assert folder.stat().st_mode & 0o777 == 0o700
    assert set(approval_key.public_jwk) == {"kty", "crv", "x"}


def test_a_new_key_signs_and_the_old_one_still_verifies(approval_key: SigningKey) -> None:
    fresh = key_create(actor="person:7")
    approval_key.refresh_from_db()
    assert (approval_key.state, fresh.state) == ("retiring", "active")
    assert signing_key()[0] == fresh.kid
    assert verifying_key(approval_key.kid, "publish_content")
    entries = AuditEntry.objects.filter(action="key.created").order_by("sequence")
    assert [entry.actor for entry in entries] == ["system:test", "person:7"]


def test_a_revoked_key_is_no_longer_published(approval_key: SigningKey, client: Any) -> None:
    SigningKey.objects.filter(kid=approval_key.kid).update(state="revoked")
    assert client.get("/.well-known/jwks.json").json() == {"keys": []}
    assert verifying_key(approval_key.kid, "publish_content") is None
