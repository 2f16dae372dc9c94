"""Requests as the desk shows them, made through the same service that agents reach."""

from datetime import timedelta
from decimal import Decimal
from typing import Any
from uuid import uuid4

from django.contrib.auth.models import Permission, User

from agents.models import Agent
from approvals.models import ApprovalRequest, Lane
from approvals.questions import question_open
from approvals.services import request_open
from chimera.core.clock import now

PASSWORD = "a-long-demo-password"
TEXT = "Merkato knew first. Three looks, one market, zero waste. #AddisStyle #Merkato #SlowFashion"
WALLET = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"
PAYEE = "0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359"


def person(name: str = "reviewer", *, may_decide: bool = True) -> User:
    """A person with PASSWORD, with or without the right to decide."""
    user = User.objects.create_user(name, password=PASSWORD)
    if may_decide:
        user.user_permissions.add(
            Permission.objects.get(content_type__app_label="approvals", codename="decide")
        )
    return user


def agent(name: str = "Aurora", role: str = "content_creator") -> Agent:
    """The agent of that name."""
    found = Agent.objects.filter(name=name).first()
    return found or Agent.objects.create(name=name, type=role, capabilities=["content_writing"])


def post_request(
    text: str = TEXT, *, platform: str = "twitter", lane: Lane = Lane.STANDARD, **changes: Any
) -> ApprovalRequest:
    """A post that waits; `media_urls`, `issues`, `fallback_platforms` and `script` may be given."""
    urls = changes.get("media_urls", [])
    action = {
        "type": "publish_content",
        "content_id": str(uuid4()),
        "content_sha256": "9f" * 32,
        "revision": 1,
        "platform": platform,
        "account": "aurora_style",
        "text": text,
        "media": ["ab" * 32] * len(urls),
        "schedule_time": None,
        "fallback_platforms": changes.get("fallback_platforms", []),
    }
    content = {
        "script": changes.get(
            "script",
            "Three looks from Merkato that cost less than lunch, and why they work together.",
        ),
        "captions": "Merkato knew first. More at https://aurora.example/looks",
        "hashtags": ["#AddisStyle", "#Merkato", "#SlowFashion"],
        "media_urls": urls,
    }
    trend = {
        "topic": "Addis street style is back",
        "platform": "news",
        "sentiment": "positive",
        "engagement": {"engagement_score": 9800},
        "metadata": {"source_urls": ["https://news.example/addis-style"]},
    }
    request, _ = request_open(
        agent=agent(),
        action=action,
        sentence="Publish to X as @aurora_style now",
        lane=lane,
        confidence=Decimal("0.83"),
        context={
            "content": content,
            "issues": changes.get("issues", []),
            "trend": trend,
            "account": {"handle": "aurora_style", "platform": platform},
        },
    )
    return request


def question_request(
    question: str = "Is this thesis clear enough to go on?", **shown: Any
) -> ApprovalRequest:
    """A workflow's question that waits, with what it shows."""
    given = {
        "thesis": "Second-hand markets set the looks that shops copy a season later.",
        "score": 0.83,
        "urgent": False,
        "hooks": ["Merkato knew first", "Zero waste, one market"],
        "options": [{"title": "Street first", "risk_level": "low"}, {"title": "Shop first"}],
        "nothing_yet": None,
    }
    return question_open(
        agent=agent(),
        run_id=uuid4(),
        workflow="click-loop v1",
        step="3",
        question=question,
        shown=given | shown,
    )


def payment_request(
    amount: str = "25", *, available: str = "112.5", known: bool = False
) -> ApprovalRequest:
    """A payment of USDC that waits; a known payee was paid once before."""
    paid = {
        "at": "2026-11-18T08:00:00Z",
        "amount": "22.5",
        "currency": "USDC",
        "tx_description": "Settlement of week 46",
    }
    action = {
        "type": "debit_wallet",
        "wallet": WALLET,
        "recipient": PAYEE,
        "amount": amount,
        "currency": "USDC",
        "network": "devnet",
        "tx_description": "Settlement of week 47",
        "idempotency_key": str(uuid4()),
    }
    request, _ = request_open(
        agent=agent("Cashier", "cfo_judge"),
        action=action,
        sentence=f"Pay {amount} USDC from Aurora's wallet to OpenClaw settlement 0xfB69…d359",
        lane=Lane.CAREFUL,
        confidence=None,
        context={
            "wallet": {"address": WALLET, "agent": "Aurora", "network": "devnet"},
            "balance": {
                "posted": available,
                "held": "0",
                "available": available,
                "currency": "USDC",
            },
            "recipient": {"address": PAYEE, "label": "OpenClaw settlement", "known": known},
            "recent_payments": [paid] if known else [],
        },
    )
    return request


def make_late(request: ApprovalRequest) -> None:
    """Let the time of a request run out without anybody deciding."""
    ApprovalRequest.objects.filter(id=request.id).update(expires_at=now() - timedelta(seconds=1))
