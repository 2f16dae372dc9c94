"""How posts are received: counts taken right after publishing and at certain ages, by reading alone.

`Publication.engagement` is `{likes, comments, shares, at, due}`: `at` when they were counted (ISO 8601),
`due` when they are wanted again (seconds since 1970; absent once the last age has passed). A reading is
claimed by moving `due` on before the network is asked, so two workers never ask for the same one, and a
reading that fails is left to the next age. Nothing here can change a post, or undo its publication.
"""

import logging
from datetime import datetime, timedelta
from time import monotonic
from typing import Any
from uuid import UUID

from django.conf import settings
from django.core.cache import cache
from django.db.models import Q, QuerySet

from chimera.core.clock import iso, now
from chimera.core.errors import ChimeraError
from content.connections import account_refusal, credentials_refresh
from content.intents import intent_of
from content.models import Publication
from content.platforms.base import (
    Engagement,
    OutcomeUnknown,
    PlatformFailure,
    Processing,
)
from content.platforms.registry import adapter_for

AGES = (
    timedelta(0),
    timedelta(minutes=5),
    timedelta(hours=1),
    timedelta(hours=6),
    timedelta(days=1),
    timedelta(days=3),
    timedelta(days=7),
)
"""After publishing, when the counts are taken."""
LONGEST = AGES[-1] + timedelta(days=1)
BATCH = 50
PER_ACCOUNT = 10
BUDGET_SEC = 20.0
PAUSE_SEC = 900.0
_PAUSING = ("rate_limited", "quota_exhausted", "auth_dead")

log = logging.getLogger("chimera.engagement")


def engagement_refresh_due() -> int:
    """Take the counts that are due, one call per post, within `BATCH` posts and `BUDGET_SEC`.

    An account that the platform holds back is left alone until the platform allows it. Returns how
    many counts were stored.
    """
    stored, asked, end = 0, 0, monotonic() + BUDGET_SEC
    for account_id in _due().order_by().values_list("account_id", flat=True).distinct():
        for publication in _due().filter(account_id=account_id)[:PER_ACCOUNT]:
            if asked >= BATCH or monotonic() > end:
                return stored
            if cache.get(_pause_key(account_id)):
                break
            asked += 1
            stored += engagement_take(publication)
    return stored


def _due() -> QuerySet[Publication]:
    """Posts whose counts are wanted now, of accounts that can be asked, oldest first."""
    moment = now()
    wanted = Q(engagement={}) | Q(engagement__due__lte=moment.timestamp())
    return (
        Publication.objects.filter(
            wanted,
            state=Publication.State.PUBLISHED,
            published_at__gt=moment - LONGEST,
            account__enabled=True,
            account__mode=settings.CHIMERA.chimera_platform,
        )
        .select_related("account", "content")
        .order_by("published_at")
    )


def engagement_take(publication: Publication) -> bool:
    """Ask for the counts of one published post and store them. False when nothing was stored.

    Never raises over what the platform says or fails to say.
    """
    before, following = publication.engagement, _next_age(publication.published_at)
    # Without counts an absent `due` means "at once", so a claim always has one.
    due = int((following or now() + LONGEST).timestamp())
    if not _swap(publication, before, before | {"due": due}):
        return False
    try:
        counts = _ask(publication)
    except (PlatformFailure, OutcomeUnknown, Processing, ChimeraError) as problem:
        _hold_back(publication, before, problem)
        return False
    except Exception:
        log.exception("no engagement of %s", publication.id)
        return False
    taken = {"likes": counts.likes, "comments": counts.comments, "shares": counts.shares}
    wanted_again = {"due": due} if following else {}
    return _swap(publication, publication.engagement, taken | {"at": iso(now())} | wanted_again)


def _next_age(published_at: datetime | None) -> datetime | None:
    """When the post reaches the next age; None once it has passed the last."""
    moment = now()
    ages = [(published_at or moment) + age for age in AGES]
    return next((reached for reached in ages if reached > moment), None)


def _swap(publication: Publication, old: dict[str, Any], new: dict[str, Any]) -> bool:
    """Put the new value in the place of exactly this old one: one conditional update."""
    unchanged = Publication.objects.filter(
        id=publication.id, state=Publication.State.PUBLISHED, engagement=old
    )
    if not unchanged.update(engagement=new):
        return False
    publication.engagement = new
    return True


def _ask(publication: Publication) -> Engagement:
    refusal = account_refusal(publication.account)
    if refusal:
        raise PlatformFailure("auth_dead", refusal)
    adapter = adapter_for(publication.platform, publication.account.mode)
    intent = intent_of(publication, adapter)
    try:
        return adapter.engagement(intent, publication.post_id)
    except PlatformFailure as problem:
        if problem.kind != "auth_refresh":
            raise
    renewed = credentials_refresh(publication.account, adapter, intent)
    return adapter.engagement(renewed, publication.post_id)


def _hold_back(publication: Publication, before: dict[str, Any], problem: Exception) -> None:
    """After a refusal that concerns the account, leave it alone for a while and take this post then."""
    log.info("no engagement of %s: %s", publication.id, problem)
    if not isinstance(problem, PlatformFailure) or problem.kind not in _PAUSING:
        return
    wait = problem.retry_after or PAUSE_SEC
    cache.set(_pause_key(publication.account_id), True, timeout=max(1, int(wait)))
    again = int(now().timestamp() + wait)
    due = min(again, publication.engagement["due"])
    _swap(publication, publication.engagement, before | {"due": due})


def _pause_key(account_id: UUID) -> str:
    return f"chimera.engagement.pause.{account_id}"
