"""Trends of several feeds as the items of one campaign: which feed, which tag, how relevant.

A mention is an item of a social feed that names a tag literally, as a word, a hashtag or an account;
without tags, one that names any account. A tag otherwise takes what the scorer relates to it.
"""

from collections.abc import Collection, Iterable, Sequence
from datetime import datetime, timedelta
from typing import Annotated, Literal

from pydantic import Field

from agents.wire import Share, Timestamp, WireModel
from content.relevance import score
from content.schemas import TrendData
from content.sources.trends import select
from content.validation.match import has_word

FeedSource = Literal["news", "social", "mentions"]
Ident = Annotated[str, Field(min_length=1, max_length=128)]
"""An id of a runtime skill's caller: any text of 1 to 128 characters."""
PLATFORMS: dict[FeedSource, tuple[str, ...]] = {
    "news": ("news",),
    "social": ("twitter", "reddit", "tiktok"),
    "mentions": ("twitter", "reddit", "tiktok"),
}
MOST_ITEMS = 100
_LEAST_RELEVANT = 0.3
"""Below it the scorer calls a trend and a tag unrelated."""


class TrendFeedItem(WireModel):
    """One trend as a planner keeps it."""

    trendId: Ident = Field(description="Id of the trend, for trendRefs")
    source: FeedSource = Field(description="Kind of feed it came from")
    tag: str = Field(description="The tag it fits best; its category where no tag was asked for")
    score: Share = Field(description="Relevance to the goal and the tags, 0..1")
    capturedAt: Timestamp = Field(description="When the trend was seen, UTC")
    payload: TrendData = Field(description="The trend")


def platforms_of(sources: Iterable[FeedSource]) -> list[str]:
    """The platforms whose feeds hold these kinds of items, each once."""
    return list(dict.fromkeys(name for source in sources for name in PLATFORMS[source]))


def feed_items(
    trends: Iterable[TrendData],
    *,
    goal: str,
    tags: Sequence[str],
    sources: Collection[FeedSource],
    lookback: timedelta,
    now: datetime,
) -> list[TrendFeedItem]:
    """The fitting items of the last `lookback`, the most relevant first, at most 100."""
    once = {trend.trend_id: trend for trend in trends}.values()
    fresh = select(once, limit=len(once), min_engagement=0, window=lookback, now=now).trends
    worth = [score(fresh, [tag]) for tag in tags]
    found = []
    for at, (trend, mark) in enumerate(zip(fresh, score(fresh, [goal, *tags]), strict=True)):
        source = _source(trend, tags, sources)
        tag = _tag(trend, {name: worth[n][at].score for n, name in enumerate(tags)})
        if source and tag:
            found.append(_item(trend, source, tag, mark.score))
    found.sort(key=lambda item: (-item.score, -item.capturedAt.timestamp(), item.trendId))
    return found[:MOST_ITEMS]


def _item(trend: TrendData, source: FeedSource, tag: str, relevance: float) -> TrendFeedItem:
    return TrendFeedItem(
        trendId=str(trend.trend_id),
        source=source,
        tag=tag,
        score=relevance,
        capturedAt=trend.timestamp,
        payload=trend,
    )


def _source(
    trend: TrendData, tags: Sequence[str], sources: Collection[FeedSource]
) -> FeedSource | None:
    """The most telling kind that was asked for; None: it is of none of them."""
    if trend.platform == "news":
        return "news" if "news" in sources else None
    if "mentions" in sources and _mentions(trend, tags):
        return "mentions"
    return "social" if "social" in sources else None


def _mentions(trend: TrendData, tags: Sequence[str]) -> bool:
    return _names(trend, tags) if tags else bool(trend.metadata.mentions)


def _names(trend: TrendData, tags: Sequence[str]) -> bool:
    meta = trend.metadata
    return has_word(" ".join([trend.topic, *meta.hashtags, *meta.mentions]), tags)


def _tag(trend: TrendData, worth: dict[str, float]) -> str | None:
    """The tag that the trend names or else fits best; None: it fits none of them."""
    if not worth:
        return trend.metadata.category
    named = [tag for tag in worth if _names(trend, [tag])]
    best = max(named or worth, key=lambda tag: worth[tag])
    return best if named or worth[best] >= _LEAST_RELEVANT else None
