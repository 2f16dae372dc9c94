"""Calls of skills driven to their end in one process, without waiting for the waits."""

from datetime import timedelta
from typing import Any
from uuid import uuid4

from django.contrib.auth.models import User

from agents.models import Agent
from approvals.models import ApprovalRequest
from approvals.requests import open_request, parse_body
from approvals.services import request_approve, token_of
from chimera.core.clock import iso, now
from chimera.core.jsontext import plain
from content.models import ContentPackage
from content.services import content_store, validation_record
from skills import runner
from skills.models import FINAL, SkillExecution, Status
from skills.services import submit
from wallets.models import Wallet

STOPS = (*FINAL, Status.BLOCKED, Status.OUTCOME_UNKNOWN)


def package(**changes: Any) -> dict[str, Any]:
    """A ContentPackage without media that passes every rule."""
    made = {
        "content_id": str(uuid4()),
        "task_id": str(uuid4()),
        "trend_ref": str(uuid4()),
        "script": "Three looks from Merkato that cost less than lunch, and why they work together.",
        "media_urls": [],
        "captions": "Merkato knew first. Three looks, one market, zero waste.",
        "hashtags": ["#AddisStyle", "#Merkato", "#SlowFashion"],
        "confidence_score": 0.86,
        "requires_review": False,
    }
    return made | changes


def trend(**changes: Any) -> dict[str, Any]:
    """A TrendData of an hour ago."""
    made = {
        "trend_id": str(uuid4()),
        "topic": "Addis street style is back",
        "platform": "twitter",
        "sentiment": "positive",
        "timestamp": iso(now() - timedelta(hours=1)),
        "engagement": {
            "likes": 5000,
            "comments": 1200,
            "shares": 800,
            "impressions": 90000,
            "engagement_score": 9800,
        },
        "trend_velocity": 2.4,
    }
    return made | changes


def stored(agent: Agent, **changes: Any) -> ContentPackage:
    """A stored package with a verdict that makes it requestable."""
    content = content_store(agent=agent, package=package(**changes), trends=[], actor=agent.actor)
    validation_record(
        revision=content.current,
        valid=True,
        confidence="0.86",
        issues=[],
        ruleset="test",
        persona_version=1,
    )
    return content


def asked(agent: Agent, content: ContentPackage, platform: str, **more: Any) -> ApprovalRequest:
    """An open approval request to publish the content."""
    body = {"action": "publish_content", "content_id": str(content.id), "platform": platform}
    return open_request(agent, parse_body(body | plain(more)))[0]


def sign(request: ApprovalRequest, reviewer: User) -> str:
    """The token of a request that a person has just signed."""
    request_approve(
        request_id=request.id,
        reviewer=reviewer,
        password_confirmed_at=now(),
        shown_digest=request.action_digest,
    )
    request.refresh_from_db()
    return token_of(request) or ""


def call(agent: Agent, skill: str, key: str | None = None, **data: Any) -> SkillExecution:
    """Submit and drive until it is final, blocked or of unknown outcome."""
    made = submit(agent=agent, skill_name=skill, data=plain(data), idempotency_key=key, wake=False)
    return drive(made.execution)


def drive(execution: SkillExecution) -> SkillExecution:
    """Run every attempt that is due, without its wait, until it stops. Scheduled ones stay queued."""
    for _ in range(12):
        SkillExecution.objects.filter(
            id=execution.id, scheduled_for__isnull=True, status__in=["queued", "retrying"]
        ).update(due_at=now())
        attempt(execution)
        if execution.status in STOPS or execution.scheduled_for:
            break
    return execution


def again(execution: SkillExecution) -> SkillExecution:
    """One more attempt now, whatever the wait."""
    SkillExecution.objects.filter(id=execution.id).update(due_at=now())
    attempt(execution)
    return execution


def attempt(execution: SkillExecution, task_id: str = "") -> bool:
    """What a wake-up does: one attempt, if it is due and free. True when it was made."""
    made = runner.run(execution.id, execution.skill, task_id=task_id)
    execution.refresh_from_db()
    return made is not None


def payment(wallet: Wallet, **changes: Any) -> dict[str, Any]:
    """The input of a debit of 2.50 USDC."""
    body = {
        "wallet_address": wallet.address,
        "amount": "2.50",
        "currency": "USDC",
        "tx_description": "OpenClaw RFP-123 payment",
        "idempotency_key": str(uuid4()),
    }
    return body | changes
