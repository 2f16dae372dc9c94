"""How an escalation reads: one line of the inbox, and a page with everything a person needs."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from approvals.cards import money
from approvals.models import Escalation
from approvals.previews import LABELS
from approvals.subjects import UNKNOWN, Subject, subject_of, subjects_of
from chimera.core.money import from_units
from content.handles import handles_shown
from content.settling import account_page

SHOWN = 50
LONGEST = 400
MOST_FACTS = 30
_HIDDEN = {"approval_token", "media_metadata", "generation_metadata", "platform_variants"}
_ABOUT = {"publication_id", "tx_id", "platform", "processing"}
"""Details of an unknown outcome that the evidence shows already."""
_LONG_HEX = re.compile(r"\b0x([0-9a-fA-F]{4})[0-9a-fA-F]{8,}([0-9a-fA-F]{4})\b")


@dataclass(frozen=True)
class Kind:
    """How a code reads: `advice` says what a person can do."""

    word: str
    icon: str
    tone: str
    advice: str


_KINDS = {
    UNKNOWN: Kind("Outcome unknown", "help-circle", "warn", ""),
    "INSUFFICIENT_BALANCE": Kind(
        "Balance too low", "wallet", "warn",
        "Nothing was paid. Fund the wallet if the payment is wanted; the agent has to ask again.",
    ),
    "TX_FAILED": Kind(
        "Payment failed", "circle-x", "bad",
        "Nothing was paid. Look at the reason and at the wallet's gas before it is tried again.",
    ),
    "WALLET_ERROR": Kind(
        "Wallet not readable", "plug-connected-x", "bad",
        "The balance could not be read. Look at the chain's address in the settings and at its node.",
    ),
    "RATE_LIMITED": Kind(
        "Source keeps refusing", "clock", "warn",
        "The source has refused for longer than it is retried. Raise its quota, or wait.",
    ),
}  # fmt: skip
_OTHER = Kind(
    "Needs a person", "alert-triangle", "bad",
    "Look at what happened, put it right, and settle this with a note.",
)  # fmt: skip


@dataclass(frozen=True)
class Row:
    """One line: what happened, who, how often, since when. ended: what became of it meanwhile."""

    id: str
    kind: Kind
    sentence: str
    who: str
    count: int
    since: datetime
    ended: str


@dataclass(frozen=True)
class Fact:
    """A label and its value; `mono` for what machines call it, `moment` for a time."""

    label: str
    value: str = ""
    mono: bool = False
    moment: datetime | None = None


def open_items() -> Any:
    """The items that wait for a person, the newest trouble first."""
    return Escalation.objects.filter(state=Escalation.State.OPEN).order_by("-last_at", "-id")


def settled_items() -> Any:
    """The items that were settled, the newest first."""
    settled = Escalation.objects.filter(state=Escalation.State.SETTLED)
    return settled.order_by("-settled_at", "-id")


def rows(items: Any) -> list[Row]:
    """The first lines of a list of items."""
    listed = list(items.select_related("agent")[:SHOWN])
    about = subjects_of(listed)
    return [_row(item, about.get(item.id, Subject())) for item in listed]


def _row(item: Escalation, about: Subject) -> Row:
    return Row(
        id=str(item.id),
        kind=kind_of(item),
        sentence=headline(item, about),
        who=f"{item.agent.name} · {item.skill.replace('_', ' ')}",
        count=item.count,
        since=item.created_at,
        ended=about.ended,
    )


def headline(item: Escalation, about: Subject) -> str:
    """The first line: what it is about and how it stands, or what the error said."""
    if about.publication:
        post = about.publication
        place = f"Post on {LABELS.get(post.platform, post.platform)} as @{post.account.handle}"
        if about.at_work:
            return f"{place}: the platform is still working on it"
        return f"{place}: {about.ended or 'nobody knows yet whether it went out'}"
    if about.debit:
        debit = about.debit
        amount = f"{money(from_units(debit.amount, debit.currency))} {debit.currency}"
        paid = f"Payment of {amount} to {_short_hex(debit.recipient)}"
        return f"{paid}: {about.ended or 'nobody knows yet whether it went through'}"
    return _short_hex(item.sentence)


def _short_hex(text: str) -> str:
    """Addresses and hashes cut to both ends; the page shows them whole."""
    return _LONG_HEX.sub(r"0x\1…\2", text)


def kind_of(item: Escalation) -> Kind:
    """How the item's code reads."""
    return _KINDS.get(item.code, _OTHER)


def page(item: Escalation) -> dict[str, Any]:
    """Everything the page of one item shows."""
    about = subject_of(item)
    return {
        "item": item,
        "headline": headline(item, about),
        "kind": kind_of(item),
        "about": about,
        "state": state_of(item, about),
        "asked": list(_facts(item.context.get("input") or {}))[:MOST_FACTS],
        "answered": _answer(item, about),
        "evidence": _evidence(about),
        "account_url": account_page(about.publication.account) if about.publication else "",
        "approval_id": getattr(about.publication or about.debit, "approval_id", None),
    }


def _answer(item: Escalation, about: Subject) -> list[Fact]:
    """The error in words: its message, and the details that nothing else on the page shows."""
    error = item.context.get("error") or {}
    details = error.get("details") or {}
    shown = _ABOUT if about.publication or about.debit else set()
    left = {name: value for name, value in details.items() if name not in shown}
    message = Fact("Message", str(error.get("message") or item.sentence))
    return [message, *list(_facts(left))[:MOST_FACTS]]


def state_of(item: Escalation, about: Subject) -> str:
    """`settled`, `open` (an outcome that is unknown), `ended` (it is known by now) or `waiting`."""
    if item.state == Escalation.State.SETTLED:
        return "settled"
    if about.is_open:
        return "open"
    return "ended" if about.ended else "waiting"


def _evidence(about: Subject) -> list[Fact]:
    if about.publication:
        return list(_post_evidence(about))
    return list(_payment_evidence(about)) if about.debit else []


def _post_evidence(about: Subject) -> Iterator[Fact]:
    post = about.publication
    assert post
    yield Fact("Account", f"@{post.account.handle} on {LABELS.get(post.platform, post.platform)}")
    yield Fact("First sent", moment=post.begun_at or post.armed_at)
    if post.attempts > 1:
        yield Fact("Last sent", moment=post.armed_at)
    yield Fact("Times sent", str(post.attempts))
    yield Fact("Media", f"{len(post.media)} files" if post.media else "none")
    yield Fact("Last answer", post.error or "none")
    for name, value in handles_shown(post.handles).items():
        yield Fact(f"Remote id ({name})", str(value)[:LONGEST], mono=True)
    yield Fact("Reference", str(post.id), mono=True)


def _payment_evidence(about: Subject) -> Iterator[Fact]:
    debit = about.debit
    assert debit
    sent = debit.chain_transaction
    amount = money(from_units(debit.amount, debit.currency))
    yield Fact("Amount", f"{amount} {debit.currency} on {debit.network}")
    yield Fact("For", debit.tx_description)
    yield Fact("From", sent.sender, mono=True)
    yield Fact("To", debit.recipient, mono=True)
    yield Fact("Transaction", sent.tx_hash or "not signed yet", mono=True)
    yield Fact("Nonce", str(sent.nonce))
    yield Fact("Last sent", moment=sent.broadcast_at)
    yield Fact("Times sent", str(sent.attempts))
    yield Fact("On the chain", f"in block {sent.block_number}" if sent.block_number else "not seen")
    yield Fact("Last answer", sent.last_error or "no error")


def _facts(data: Any, prefix: str = "") -> Iterator[Fact]:
    """Nested data as labels and values, long texts cut; lists of plain values on one line."""
    for name, value in data.items() if isinstance(data, dict) else ():
        label = f"{prefix} · {_label(name)}" if prefix else _label(name)
        if name in _HIDDEN or value in (None, "", [], {}):
            continue
        if isinstance(value, dict):
            yield from _facts(value, label)
        elif isinstance(value, list) and any(isinstance(one, dict) for one in value):
            yield Fact(label, f"{len(value)} entries")
        else:
            yield Fact(label, _text(value), mono=isinstance(value, str) and _is_code(value))


def _label(name: Any) -> str:
    return str(name).replace("_", " ").capitalize()


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    text = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"


def _is_code(text: str) -> bool:
    """Ids, hashes and addresses: long and without a space."""
    return len(text) > 24 and " " not in text and not text.startswith("http")


def waiting_count() -> int:
    """How many items wait, capped."""
    return int(open_items()[:1000].count())


def arrived_since(moment: datetime) -> int:
    """How many open items are newer than the moment, capped."""
    return int(open_items().filter(created_at__gt=moment)[:1000].count())
