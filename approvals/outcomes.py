"""What became of a used approval: the post, the payment or the workflow that asked."""

from typing import Any

from approvals.models import POSTS, ApprovalRequest, Kind, Status
from content.models import Publication
from wallets.models import Debit

_POST_WORDS = {
    "scheduled": "Scheduled",
    "publishing": "Being published",
    "published": "Published",
    "publish_failed": "The platform refused it",
    "outcome_unknown": "The platform has not said whether it went out; it is being looked up",
    "withdrawn": "Withdrawn",
}
_PAYMENT_WORDS = {
    "held": "The amount is on hold; the transfer is being prepared",
    "signed": "The amount is on hold; the transfer is being sent",
    "sent": "Sent, waiting for the chain",
    "posted": "Paid",
    "failed": "Not paid; the hold was given back",
    "outcome_unknown": "The chain has not said whether it went through; it is being looked up",
}


def outcome(request: ApprovalRequest) -> dict[str, Any]:
    """`outcome_word` and `outcome_url` for the page of a consumed request; empty before."""
    if request.status != Status.CONSUMED:
        return {}
    if request.kind == Kind.QUESTION:
        return {"outcome_word": "The workflow has gone on"}
    return _post(request) if request.kind in POSTS else _payment(request)


def _post(request: ApprovalRequest) -> dict[str, Any]:
    publication = Publication.objects.filter(approval_id=request.id).order_by("-id").first()
    if publication is None:
        return {"outcome_word": "Being published"}
    if publication.post_url:
        return {"outcome_word": "Open the post", "outcome_url": publication.post_url}
    return {"outcome_word": _POST_WORDS[publication.state]}


def _payment(request: ApprovalRequest) -> dict[str, Any]:
    debit = Debit.objects.filter(approval_id=request.id).select_related("chain_transaction").first()
    if debit is None:
        return {"outcome_word": "Being paid"}
    trace = debit.chain_transaction.tx_hash
    return {
        "outcome_word": _PAYMENT_WORDS[debit.status] + (f" · transaction {trace}" if trace else "")
    }
