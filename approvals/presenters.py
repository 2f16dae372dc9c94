"""What a page of the desk shows, computed from the frozen request alone."""

import json
from dataclasses import dataclass, replace
from datetime import datetime
from decimal import Decimal
from typing import Any

from approvals.actions import record_of
from approvals.cards import money, payment, previews
from approvals.checks import checks
from approvals.models import POSTS, ApprovalRequest, Kind
from approvals.previews import ICONS, LABELS
from approvals.question_cards import question

LANES = {"fast": "Fast", "standard": "Standard", "careful": "Careful"}


@dataclass(frozen=True)
class State:
    """How a status reads: `tone` ok, info, warn or bad; `note` says what it means."""

    word: str
    icon: str
    tone: str
    note: str


STATES = {
    "pending": State("Waiting", "hourglass", "info", "Nothing happens until a person decides."),
    "approved": State(
        "Signed", "signature", "ok", "The agent may carry it out now, once, exactly as shown."
    ),
    "consumed": State(
        "Used", "signature", "info", "The signature was used once and cannot be used again."
    ),
    "rejected": State(
        "Rejected", "circle-x", "bad", "Nothing was sent. The agent can read the reason."
    ),
    "changes_requested": State(
        "Changes requested",
        "edit",
        "warn",
        "Nothing was sent. The agent can come back with a new revision.",
    ),
    "expired": State(
        "Expired",
        "clock",
        "warn",
        "Nobody decided in time, or the signature was not used in time. Nothing was sent.",
    ),
    "revoked": State("Revoked", "ban", "bad", "The signature was taken back. Nothing was sent."),
}

QUESTION_NOTES = {
    "approved": "What asked goes on. The answer allows nothing else.",
    "consumed": "What asked has the answer. It allowed nothing else.",
    "rejected": "What asked stopped here. The agent can read the reason.",
    "changes_requested": "What asked stopped here. The agent can read what to change.",
    "expired": "Nobody answered in time. What asked stopped here.",
    "revoked": "The question was taken back. Nothing needs an answer any more.",
}


@dataclass(frozen=True)
class Row:
    """One line of the inbox."""

    id: str
    icon: str
    kind: str
    words: str
    about: str
    lane: str
    lane_word: str
    confidence: Decimal | None
    amount: str
    expires_at: datetime
    decided_at: datetime | None
    state: State
    is_pending: bool

    @property
    def percent(self) -> int:
        return int((self.confidence or 0) * 100)


def inbox_row(request: ApprovalRequest) -> Row:
    """The line of a request."""
    action, is_payment = request.action, request.kind == Kind.DEBIT
    return Row(
        id=str(request.id),
        icon=_icon(request),
        kind=_kind(request),
        words=_first_words(request),
        about=f"{request.agent.name} · {_about(request)}",
        lane=request.lane,
        lane_word=LANES.get(request.lane, request.lane),
        confidence=request.confidence,
        amount=f"{money(action['amount'])} {action['currency']}" if is_payment else "",
        expires_at=request.expires_at,
        decided_at=request.decided_at,
        state=STATES[request.status],
        is_pending=request.status == "pending",
    )


def _icon(request: ApprovalRequest) -> str:
    fixed = {Kind.DEBIT: "coin", Kind.QUESTION: "help-circle"}
    platform = str(request.action.get("platform", ""))
    return fixed.get(Kind(request.kind)) or ICONS.get(platform, "file-text")


def _kind(request: ApprovalRequest) -> str:
    if request.kind not in POSTS:
        return str(Kind(request.kind).label)
    platform = str(request.action.get("platform", ""))
    return f"Post on {LABELS.get(platform, platform)}"


def _first_words(request: ApprovalRequest) -> str:
    if request.kind not in POSTS:
        return request.sentence
    return str(request.action.get("text", "")).strip() or request.sentence


def _about(request: ApprovalRequest) -> str:
    if request.kind == Kind.DEBIT:
        return str(request.action.get("tx_description", ""))
    if request.kind == Kind.QUESTION:
        return str(request.context.get("workflow", ""))
    account = request.context.get("account") or {}
    return "@" + str(account.get("handle") or request.action.get("account", "")).removeprefix("@")


def why(request: ApprovalRequest) -> list[str]:
    """Why this request is here and in this lane."""
    noun = {Kind.DEBIT: "payment", Kind.QUESTION: "question"}.get(Kind(request.kind), "post")
    sensitive = request.context.get("sensitive") or []
    topics = (
        [f"It touches {', '.join(sensitive)}: careful lane."]
        if sensitive
        else _lane_reason(request)
    )
    return [f"Every {noun} needs a person's signature.", *topics]


def _lane_reason(request: ApprovalRequest) -> list[str]:
    if request.confidence is None:
        return []
    value = f"Confidence {request.confidence:.2f}"
    if request.lane == "fast":
        return [f"{value} is above 0.90: fast lane."]
    if request.lane == "standard":
        return [f"{value} is between 0.70 and 0.90: standard lane."]
    return [f"{value} after repeated attempts, or a sensitive topic: careful lane."]


def raw_action(request: ApprovalRequest) -> str:
    """The frozen action as indented JSON, for people."""
    return json.dumps(request.action, indent=2, ensure_ascii=False, default=str)


def shown_status(request: ApprovalRequest) -> str:
    """The status a page shows: a pending request whose time is over reads as expired at once."""
    return "expired" if request.status == "pending" and not request.is_open else request.status


def state_of(request: ApprovalRequest, status: str) -> State:
    """How a status reads on the page of this request."""
    state = STATES[status]
    note = QUESTION_NOTES.get(status) if request.kind == Kind.QUESTION else None
    return replace(state, note=note) if note else state


def page(request: ApprovalRequest) -> dict[str, Any]:
    """Everything the page of one request shows, except its neighbours and what became of it."""
    status, found = shown_status(request), checks(request)
    return {
        "item": request,
        "status": status,
        "state": state_of(request, status),
        "lane_word": LANES[request.lane],
        "percent": int((request.confidence or 0) * 100),
        "previews": previews(request),
        "payment": payment(request),
        "question": question(request),
        "checks": found,
        "problems": sum(check.tone == "bad" for check in found),
        "issues": request.context.get("issues") or [],
        "why": why(request),
        "record": record_of(request.agent),
        "raw": raw_action(request),
        "decisions": request.decisions.select_related("reviewer"),
    }
