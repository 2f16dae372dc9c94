"""What an escalation is about where an effect may have happened: a post, or a payment."""

from collections.abc import Iterable
from dataclasses import dataclass
from uuid import UUID

from approvals.models import Escalation
from content.models import Publication
from wallets.models import Debit

UNKNOWN = "OUTCOME_UNKNOWN"
_POST_ENDED = {
    "published": "The post is live.",
    "publish_failed": "It was not posted.",
    "withdrawn": "The post was taken down.",
    "publishing": "It is being sent again.",  # released, not armed yet
    "scheduled": "It waits for its time.",
}
_PAYMENT_ENDED = {
    "posted": "It was paid.",
    "failed": "It was not paid; the hold was given back.",
}


@dataclass(frozen=True)
class Subject:
    """The post or the payment of an item; both None where it is about neither."""

    publication: Publication | None = None
    debit: Debit | None = None

    @property
    def is_open(self) -> bool:
        """Nobody knows yet what becomes of it."""
        return bool(self.can_be_settled or self.at_work or (self.debit and self.debit.is_open))

    @property
    def can_be_settled(self) -> bool:
        """A person may say what became of the post. Of a payment only the chain may."""
        post = self.publication
        return bool(post and post.state == Publication.State.OUTCOME_UNKNOWN)

    @property
    def at_work(self) -> bool:
        """The platform has taken the post and is working on it, or it is being sent just now."""
        post = self.publication
        return bool(post and post.state == Publication.State.PUBLISHING and post.armed_at)

    @property
    def ended(self) -> str:
        """What became of it, as a sentence; empty while it is open or where there is nothing."""
        if self.is_open:
            return ""
        if self.publication:
            return _POST_ENDED.get(self.publication.state, "")
        return _PAYMENT_ENDED.get(self.debit.status, "") if self.debit else ""


def subject_of(item: Escalation) -> Subject:
    """What one item is about."""
    return subjects_of([item]).get(item.id, Subject())


def subjects_of(items: Iterable[Escalation]) -> dict[UUID, Subject]:
    """Item -> what it is about, in two queries; only unknown outcomes are about something."""
    unknown = [item for item in items if item.code == UNKNOWN]
    asked = [item.execution_id for item in unknown if item.execution_id]
    posts = Publication.objects.filter(execution_id__in=asked).select_related("account", "agent")
    debits = Debit.objects.filter(execution_id__in=asked).select_related(
        "chain_transaction", "wallet", "agent"
    )
    found = {post.execution_id: Subject(publication=post) for post in posts.order_by("id")}
    found |= {debit.execution_id: Subject(debit=debit) for debit in debits}
    return {item.id: found[item.execution_id] for item in unknown if item.execution_id in found}
