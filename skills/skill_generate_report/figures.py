"""The figures of a report: posts, reactions, decisions and payments of one agent."""

from collections import Counter
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from uuid import UUID

from agents.models import Agent
from approvals.models import ApprovalRequest
from chimera.core.money import from_units
from content.models import ContentPackage, Publication
from wallets.models import Debit

MOST_POSTS = 2000
REACTIONS = ("likes", "comments", "shares")


@dataclass(frozen=True)
class Post:
    """One post as a line of the report. Times UTC."""

    platform: str
    account: str
    state: str
    published_at: datetime | None
    url: str
    text: str
    likes: int
    comments: int
    shares: int


@dataclass(frozen=True)
class Figures:
    """Everything a report shows. spend: currency -> posted amount."""

    posts: list[Post]
    decisions: dict[str, int]
    spend: dict[str, Decimal]

    def reactions(self) -> dict[str, int]:
        """Likes, comments and shares over all posts."""
        return {name: sum(getattr(post, name) for post in self.posts) for name in REACTIONS}


def gather(agent: Agent, since: datetime, until: datetime, campaign: UUID | None) -> Figures:
    """The figures of an agent's time span, of one campaign where one is named."""
    span = {"agent": agent, "created_at__gte": since, "created_at__lt": until}
    posts = Publication.objects.filter(**span).select_related("account").order_by("id")
    requests = ApprovalRequest.objects.filter(**span)
    if campaign:
        posts = posts.filter(content__task_id=campaign)
        contents = ContentPackage.objects.filter(task_id=campaign).values_list("id", flat=True)
        requests = requests.filter(action__content_id__in=[str(each) for each in contents])
    return Figures(
        posts=[_post(publication) for publication in posts[:MOST_POSTS]],
        decisions=dict(Counter(requests.values_list("status", flat=True))),
        spend={} if campaign else _spend(agent, since, until),
    )


def _post(publication: Publication) -> Post:
    counts = {name: int(publication.engagement.get(name) or 0) for name in REACTIONS}
    return Post(
        platform=publication.platform,
        account=publication.account.handle,
        state=publication.state,
        published_at=publication.published_at,
        url=publication.post_url,
        text=publication.text,
        **counts,
    )


def _spend(agent: Agent, since: datetime, until: datetime) -> dict[str, Decimal]:
    posted = Debit.objects.filter(
        agent=agent, status=Debit.Status.POSTED, finished_at__gte=since, finished_at__lt=until
    )
    spent: dict[str, Decimal] = {}
    for units, currency in posted.values_list("amount", "currency"):
        spent[currency] = spent.get(currency, Decimal(0)) + from_units(int(units), currency)
    return spent
