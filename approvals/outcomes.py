"""What became of a used approval: the post, the payment or the workflow that asked."""

from typing import Any

from approvals.models import POSTS, ApprovalRequest, Kind, Status
from approvals.presenters import State
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


_DONE = {"published", "posted"}
_UNDONE = {"publish_failed", "failed", "withdrawn"}
_STATES = {
    "done": State("Done", "circle-check", "ok", "The signature was used once, for exactly this."),
    "undone": State(
        "Not done", "circle-x", "bad", "The signature was used and cannot be used again."
    ),
    "unknown": State(
        "Not known yet",
        "help-circle",
        "warn",
        "It was sent, but no answer came. Nothing is sent again before that is known.",
    ),
    "under way": State(
        "Under way", "hourglass", "info", "The signature was used and cannot be used again."
    ),
}


def outcome(request: ApprovalRequest) -> dict[str, Any]:
    """`state`, `outcome_word` and `outcome_url` for the page of a consumed request; empty before."""
    if request.status != Status.CONSUMED:
        return {}
    if request.kind == Kind.QUESTION:
        return {"outcome_word": "What asked has gone on"}
    return _post(request) if request.kind in POSTS else _payment(request)


def _post(request: ApprovalRequest) -> dict[str, Any]:
    publication = Publication.objects.filter(approval_id=request.id).order_by("-id").first()
    if publication is None:
        return {"outcome_word": "Being published", "state": _STATES["under way"]}
    state = {"state": _state(publication.state)}
    if publication.post_url:
        return {"outcome_word": "Open the post", "outcome_url": publication.post_url} | state
    return {"outcome_word": _POST_WORDS[publication.state]} | state


def _payment(request: ApprovalRequest) -> dict[str, Any]:
    debit = Debit.objects.filter(approval_id=request.id).select_related("chain_transaction").first()
    if debit is None:
        return {"outcome_word": "Being paid", "state": _STATES["under way"]}
    trace = debit.chain_transaction.tx_hash
    words = _PAYMENT_WORDS[debit.status] + (f" · transaction {trace}" if trace else "")
    return {"outcome_word": words, "state": _state(debit.status)}


def _state(effect: str) -> State:
    """How the state of a publication or a debit reads."""
    if effect in _DONE | _UNDONE:
        return _STATES["done" if effect in _DONE else "undone"]
    return _STATES["unknown" if effect == "outcome_unknown" else "under way"]
