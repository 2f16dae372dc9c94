"""What posts and payments show: posts as they will look, a payment with its balances."""

from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any

from approvals.models import POSTS, ApprovalRequest, Kind
from approvals.previews import LABELS, Preview, post_preview
from chimera.core.money import readable


@dataclass(frozen=True)
class Payment:
    """The card of a payment; amounts are exact decimal texts in `currency`."""

    amount: str
    currency: str
    network: str
    purpose: str
    from_label: str
    from_address: str
    to_label: str
    to_address: str
    known: bool
    before: str
    held: str
    after: str
    enough: bool
    fee: str
    recent: list[dict[str, Any]]


def money(value: Any) -> str:
    """An amount as people read it: every digit, at least two decimals, thousands apart."""
    try:
        return readable(str(value))
    except InvalidOperation:
        return str(value)


def previews(request: ApprovalRequest) -> list[Preview]:
    """One preview per platform the approval covers, the wanted one first; none for others."""
    if request.kind not in POSTS:
        return []
    wanted = [request.action.get("platform"), *(request.action.get("fallback_platforms") or [])]
    return [
        post_preview(name, action=request.action, context=request.context, name=_author(request))
        for name in wanted
        if name in LABELS
    ]


def _author(request: ApprovalRequest) -> str:
    return str((request.context.get("author") or {}).get("name") or request.agent.name)


def payment(request: ApprovalRequest) -> Payment | None:
    """The payment card; none for others."""
    if request.kind != Kind.DEBIT:
        return None
    action, context = request.action, request.context
    balance, recipient = context.get("balance") or {}, context.get("recipient") or {}
    available, amount = Decimal(str(balance.get("available", 0))), Decimal(str(action["amount"]))
    fee = context.get("fee") or {}
    return Payment(
        amount=money(amount),
        currency=str(action["currency"]),
        network=str(action["network"]),
        purpose=str(action.get("tx_description", "")),
        from_label=str((context.get("wallet") or {}).get("agent") or request.agent.name),
        from_address=str(action["wallet"]),
        to_label=str(recipient.get("label") or "No name on record"),
        to_address=str(action["recipient"]),
        known=bool(recipient.get("known")),
        before=money(available),
        held=money(balance.get("held", 0)),
        after=money(available - amount),
        enough=available >= amount,
        fee=f"{money(fee['amount'])} {fee.get('currency', '')}".strip()
        if fee.get("amount") is not None
        else "",
        recent=list(context.get("recent_payments") or [])[:5],
    )
