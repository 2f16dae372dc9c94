"""What the platform verified about a request, in the order a reviewer needs it."""

from dataclasses import dataclass

from approvals.cards import Payment, payment, previews
from approvals.models import ApprovalRequest, Kind
from approvals.previews import Preview, hidden_characters
from approvals.question_cards import texts
from chimera.core.digest import digest


@dataclass(frozen=True)
class Check:
    """One fact the platform verified; `tone` ok, warn or bad."""

    tone: str
    text: str
    detail: str = ""

    @property
    def icon(self) -> str:
        return {"ok": "circle-check", "warn": "alert-triangle", "bad": "circle-x"}[self.tone]

    @property
    def word(self) -> str:
        return {"ok": "Passed", "warn": "Look closely", "bad": "Problem"}[self.tone]


def short(value: str) -> str:
    """The first 16 digits of a digest in groups of four, for comparing by eye."""
    return " ".join(value[start : start + 4] for start in range(0, 16, 4))


def checks(request: ApprovalRequest) -> list[Check]:
    """What the platform verified, in the order a reviewer needs it."""
    card = payment(request)
    if request.kind == Kind.QUESTION:
        found = [
            Check("ok", "Allows nothing but going on", "Posts and payments are asked for apart.")
        ]
    else:
        found = _payment_checks(card) if card else _post_checks(request)
    return [*found, _hidden_check(request), _digest_check(request)]


def _payment_checks(card: Payment) -> list[Check]:
    funds = (
        Check("ok", "The wallet holds enough", f"{card.after} {card.currency} stay available")
        if card.enough
        else Check(
            "bad", "The wallet does not hold enough", f"{card.before} {card.currency} are available"
        )
    )
    payee = (
        Check("ok", "Known payee", card.to_label)
        if card.known
        else Check("warn", "New payee", "No payment to this address is on record.")
    )
    return [funds, payee]


def _post_checks(request: ApprovalRequest) -> list[Check]:
    return [
        _rules_check(request),
        *(_length_check(item) for item in previews(request)),
        _media_check(request),
    ]


def _rules_check(request: ApprovalRequest) -> Check:
    issues = request.context.get("issues") or []
    errors = sum(issue.get("severity") == "error" for issue in issues)
    if errors:
        return Check("bad", f"{_count(errors, 'rule')} broken", "Listed below the preview.")
    if issues:
        return Check(
            "warn",
            f"{_count(len(issues), 'warning')} from the content rules",
            "Listed below the preview.",
        )
    return Check(
        "ok", "Content rules passed", "Language, sources, copyright, platform and persona."
    )


def _length_check(item: Preview) -> Check:
    text = f"{item.used} of {item.limit} characters on {item.label}"
    if item.beyond:
        return Check("bad", text, f"{item.label} would refuse or cut it.")
    return Check("ok", text)


def _media_check(request: ApprovalRequest) -> Check:
    fingerprints = request.action.get("media") or []
    if fingerprints:
        return Check(
            "ok",
            f"{_count(len(fingerprints), 'media file')}, bytes fixed",
            "A changed file would void the signature.",
        )
    return Check("warn", "No media", "The post is text alone.")


def _hidden_check(request: ApprovalRequest) -> Check:
    named = ("text", "tx_description", "account", "question", "shown")
    found = hidden_characters(" ".join(texts([request.action.get(name) or "" for name in named])))
    if found:
        return Check(
            "bad",
            f"{_count(len(found), 'hidden character')} in the text",
            ", ".join(sorted(set(found))[:6]),
        )
    return Check("ok", "No hidden characters")


def _digest_check(request: ApprovalRequest) -> Check:
    if digest(request.action) == request.action_digest:
        return Check(
            "ok", "What you see is what is signed", f"Digest {short(request.action_digest)}"
        )
    return Check(
        "bad", "The stored action does not match its digest", "Do not sign; tell an administrator."
    )


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
