"""The gate's cast: stored content, requests, signatures, and tokens forged byte by byte."""

import base64
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from django.contrib.auth.models import Permission, User
from django.db import transaction

from agents.models import Agent
from approvals import services
from approvals.keys import signing_key
from approvals.models import ApprovalRequest, ApprovalToken, Decision, Lane
from approvals.redeeming import approval_redeem
from approvals.requests import open_request, parse_body
from approvals.services import request_open
from chimera.core.clock import now
from chimera.core.errors import ChimeraError
from chimera.core.grants import Grant
from chimera.core.jsontext import plain
from chimera.core.models import AuditHead
from content.models import ContentPackage, ContentRevision, PlatformAccount, Publication
from content.services import content_store, validation_record
from skills import runner
from skills.models import SkillExecution
from skills.services import submit
from tests.content.samples import package
from wallets.models import ChainTransaction, Debit, Transfer

TEXT = "Merkato knew first. Three looks, one market, zero waste. #AddisStyle #Merkato #SlowFashion"


# --- content ----------------------------------------------------------------------------------


def stored(agent: Agent, *, confidence: float = 0.86, valid: bool = True, **changes: Any) -> Any:
    """A package of the agent, validated; text only unless media_urls are given."""
    fields = {
        "content_id": str(uuid4()),
        "task_id": str(uuid4()),
        "media_urls": [],
        "media_metadata": None,
    }
    content = content_store(
        agent=agent,
        package=plain(package(**(fields | changes))),
        trends=[],
        actor=agent.actor,
    )
    judged(content.current, confidence=confidence, valid=valid)
    return content


def judged(revision: ContentRevision, *, confidence: float = 0.86, valid: bool = True) -> None:
    """The verdict of the rules on a revision."""
    validation_record(
        revision=revision,
        valid=valid,
        confidence=confidence,
        issues=[],
        ruleset="1.0",
        persona_version=1,
    )


def account(agent: Agent, handle: str, **fields: Any) -> PlatformAccount:
    """An account of the agent on X in the sandbox."""
    return PlatformAccount.objects.create(
        platform="twitter", handle=handle, agent=agent, mode="sandbox", **fields
    )


# --- requests and signatures ------------------------------------------------------------------


def ask_publish(agent: Agent, content: ContentPackage, **fields: Any) -> ApprovalRequest:
    """The request to publish it, as the API opens it."""
    body = {"action": "publish_content", "content_id": str(content.id), "platform": "twitter"}
    return open_request(agent, parse_body(body | fields))[0]


def ask_debit(agent: Agent, data: dict[str, Any]) -> ApprovalRequest:
    """The request for a payment with this input, as the API opens it."""
    return open_request(agent, parse_body({"action": "debit_wallet", **data}))[0]


def payment(wallet: str, **fields: Any) -> dict[str, Any]:
    """The input of debit_wallet."""
    return {
        "wallet_address": wallet,
        "amount": "10.5",
        "currency": "USDC",
        "tx_description": "October boost",
        "idempotency_key": str(uuid4()),
    } | fields


def frozen_payment(**changes: Any) -> dict[str, Any]:
    """The action of a payment, for tests of the gate alone."""
    return {
        "type": "debit_wallet",
        "wallet": "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed",
        "recipient": "0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359",
        "amount": "10.5",
        "currency": "USDC",
        "network": "devnet",
        "tx_description": "October boost",
        "idempotency_key": str(uuid4()),
    } | changes


def frozen_post(**changes: Any) -> dict[str, Any]:
    """The action of a post, for tests of the gate alone."""
    return {
        "type": "publish_content",
        "content_id": str(uuid4()),
        "content_sha256": "9f" * 32,
        "revision": 1,
        "platform": "twitter",
        "account": "aurora_style",
        "text": TEXT,
        "media": ["ab" * 32],
        "schedule_time": None,
        "fallback_platforms": [],
    } | changes


def opened(agent: Agent, action: dict[str, Any], lane: Lane = Lane.STANDARD) -> ApprovalRequest:
    """A request for a frozen action."""
    return request_open(
        agent=agent,
        action=action,
        sentence="What will happen",
        lane=lane,
        confidence=None,
        context={},
    )[0]


def signed(request: ApprovalRequest, reviewer: User) -> str:
    """The token, after the reviewer has signed what the request shows."""
    services.request_approve(
        request_id=request.id,
        reviewer=reviewer,
        password_confirmed_at=now(),
        shown_digest=request.action_digest,
    )
    request.refresh_from_db()
    token = services.token_of(request)
    assert token
    return token


def redeem(token: str, action: dict[str, Any], agent: Agent, execution_id: UUID) -> Grant:
    """Redeem in a transaction of its own."""
    with transaction.atomic():
        return approval_redeem(
            token=token, action=action, agent_id=agent.id, execution_id=execution_id
        )


def call(agent: Agent, skill: str, data: dict[str, Any]) -> SkillExecution:
    """One call through the pipeline, run here until it ends, waits or blocks."""
    execution = submit(agent=agent, skill_name=skill, data=data, wake=False).execution
    runner.run(execution.id, execution.skill)
    execution.refresh_from_db()
    return execution


def standing(request: ApprovalRequest) -> dict[str, Any]:
    """Everything a refused attempt must leave as it was."""
    row = ApprovalRequest.objects.filter(id=request.id).values().get()
    return {
        "request": row,
        "decisions": Decision.objects.filter(request_id=request.id).count(),
        "token kept": ApprovalToken.objects.filter(request_id=request.id).count(),
        "publications": Publication.objects.count(),
        "debits": Debit.objects.count(),
        "transfers": Transfer.objects.count(),
        "transactions": ChainTransaction.objects.count(),
        "audit": AuditHead.objects.values_list("sequence", "entry_hash").get(),
    }


@contextmanager
def refused(request: ApprovalRequest, code: str) -> Iterator[pytest.ExceptionInfo[ChimeraError]]:
    """What is tried in the block is refused with this code, and everything is as it was."""
    before = standing(request)
    with pytest.raises(ChimeraError) as refusal:
        yield refusal
    assert refusal.value.code == code, refusal.value
    assert standing(request) == before


# --- forging ----------------------------------------------------------------------------------


def b64(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def part(value: Any) -> str:
    """One part of a token: an object, or JSON text as it stands."""
    return b64(value.encode() if isinstance(value, str) else json.dumps(value).encode())


def jws(header: Any, claims: Any, sign: Callable[[bytes], bytes]) -> str:
    """A compact JWS of anything, signed by anything."""
    signing_input = f"{part(header)}.{part(claims)}"
    return f"{signing_input}.{b64(sign(signing_input.encode()))}"


@dataclass(frozen=True)
class Forger:
    """A good token in pieces, and the very key that signed it."""

    token: str
    header: dict[str, Any]
    claims: dict[str, Any]
    key: Ed25519PrivateKey

    def with_header(self, **changes: Any) -> str:
        """The token with another header, signed by the right key."""
        return jws(self.header | changes, self.claims, self.key.sign)

    def with_claims(self, **changes: Any) -> str:
        """The token with other claims, signed by the right key."""
        return jws(self.header, self.claims | changes, self.key.sign)

    def without(self, claim: str) -> str:
        """The token without a claim, signed by the right key."""
        kept = {name: value for name, value in self.claims.items() if name != claim}
        return jws(self.header, kept, self.key.sign)

    def shifted(self, **seconds: float) -> str:
        """The token with times moved by seconds, signed by the right key."""
        return self.with_claims(**{name: self.claims[name] + by for name, by in seconds.items()})


def forger(token: str) -> Forger:
    """Take a good token apart."""
    header, claims = (
        json.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
        for text in token.split(".")[:2]
    )
    return Forger(token, header, claims, signing_key()[1])


def let_expire(request: ApprovalRequest, seconds: float = 1) -> None:
    """Let the row's own time run out, as the clock would."""
    ApprovalRequest.objects.filter(id=request.id).update(
        token_expires_at=now() - timedelta(seconds=seconds)
    )


def decider(name: str) -> User:
    """A person who may decide, without a password: hashing one takes longer than the test."""
    user = User.objects.create(username=name)
    user.set_unusable_password()
    user.save()
    user.user_permissions.add(
        Permission.objects.get(codename="decide", content_type__app_label="approvals")
    )
    return user
