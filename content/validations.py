"""What a package is held against, and whether an earlier verdict on it still counts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any
from uuid import UUID

from django.db.models import Q

from agents.models import Campaign
from agents.schemas import Persona
from chimera.core.clock import now
from chimera.core.digest import digest
from chimera.core.jsontext import plain
from content import schemas
from content.models import ContentPackage, ContentRevision, Publication, Validation
from content.services import revision_matching
from content.validation.duplicates import Earlier
from content.validation.rules import RULESET_VERSION, Case, Checks

SERVED_FOR = timedelta(hours=6)
PUBLISHED_SINCE = timedelta(days=90)
MOST_EARLIER = 500


@dataclass(frozen=True)
class Subject:
    """A package with everything its verdict depends on.

    revision: the stored revision that holds exactly this package, None where there is none; then
    the verdict makes nothing requestable. persona_version: 0 without a persona.
    """

    case: Case
    revision: ContentRevision | None
    persona_version: int
    newest_post: UUID | None
    content_id: UUID = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "content_id", self.case.package.content_id)

    @property
    def key(self) -> str:
        """Digest of package, rule families, persona version, rules and what was published since."""
        return digest(
            {
                "package": plain(self.case.package),
                "checks": vars(self.case.checks),
                "persona": self.persona_version,
                "ruleset": RULESET_VERSION,
                "allowed": self.case.allowed,
                "newest_post": str(self.newest_post),
            }
        )


def subject_of(package: schemas.ContentPackage, checks: Checks) -> Subject:
    """The package with its author's persona, trends and earlier posts, as far as they are stored."""
    stored = ContentPackage.objects.select_related("agent").filter(id=package.content_id).first()
    if stored is None:
        return Subject(Case(package, checks=checks), None, 0, None)
    persona = getattr(stored.agent, "persona", None)
    earlier = _published_before(stored)
    case = Case(
        package,
        persona=Persona.model_validate(plain(persona.as_dict())) if persona else None,
        checks=checks,
        source_text=_source(stored),
        allowed=_allowed(stored),
        earlier=[Earlier(row["platform"], row["text"], row["post_url"]) for row in earlier],
    )
    return Subject(
        case,
        revision_matching(plain(package)),
        persona.version if persona else 0,
        earlier[0]["id"] if earlier else None,
    )


def _source(content: ContentPackage) -> str | None:
    """What the trends behind the content say, to check numbers and names against."""
    texts = [
        schemas.TrendData.model_validate(trend.data).source_text() for trend in content.trends.all()
    ]
    return "\n".join(texts) or None


def _allowed(content: ContentPackage) -> str:
    """What the author's campaigns and accounts name: mentions of these need no other source."""
    campaigns = Campaign.objects.filter(agent=content.agent_id, status=Campaign.State.ACTIVE)
    named = [
        str(mention)
        for guidelines in campaigns.order_by("id").values_list("content_guidelines", flat=True)
        for mention in guidelines.get("required_mentions") or []
    ]
    named += content.agent.accounts.order_by("id").values_list("handle", flat=True)
    return "\n".join(name if "://" in name else f"@{name.lstrip('@')}" for name in named)


def _published_before(content: ContentPackage) -> Sequence[Mapping[str, Any]]:
    """The newest other posts of the author or of the author's accounts, newest first."""
    author = content.agent_id
    rows = (
        Publication.objects.filter(
            Q(content__agent=author) | Q(account__agent=author),
            state=Publication.State.PUBLISHED,
            created_at__gte=now() - PUBLISHED_SINCE,
        )
        .exclude(content=content)
        .order_by("-created_at", "-id")
        .values("id", "platform", "text", "post_url")
    )
    return list(rows[:MOST_EARLIER])


def verdict_kept(subject: Subject) -> Validation | None:
    """The newest verdict, if it is of exactly this subject and not older than six hours."""
    if subject.revision:
        newest = subject.revision.validations.order_by("-id").first()
    else:
        newest = Validation.objects.filter(revision=None, key=subject.key).order_by("-id").first()
    fresh = newest and newest.key == subject.key and newest.created_at > now() - SERVED_FOR
    return newest if fresh else None
