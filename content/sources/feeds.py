"""Feeds into trends: RSS 2.0, RSS 1.0, Atom, or a JSON list of TrendData.

Nothing of a feed is trusted: entity declarations are refused before a parser sees them, headlines
lose markup and hidden characters, and addresses other than http and https are dropped.
"""

import io
from calendar import timegm
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from uuid import NAMESPACE_URL, uuid5

import feedparser
from pydantic import ValidationError

from chimera.core import clock, jsontext
from chimera.core.errors import ChimeraError
from content.schemas import CLOCK_TOLERANCE, TrendData
from content.sources.classify import category, sentiment
from content.sources.clean import cut, plain_line
from content.sources.trends import parse_trends

MAX_BYTES = 5_000_000
_REMEDY = "give an RSS or Atom feed or a JSON list of TrendData"


@dataclass(frozen=True)
class FeedResult:
    """What a document gave: trends, and one line for every item that was left out or mended."""

    trends: list[TrendData]
    problems: list[str]


def parse_feed(data: bytes, *, source: str, now: datetime) -> FeedResult:
    """The trends of a document; INVALID_INPUT, naming the source, when it is unusable.

    now: taken as the time of an item that has none or claims to be from the future.
    """
    _refuse_unusable(data, source)
    if data.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] in (b"[", b"{"):
        return _json_trends(data, source)
    parsed = feedparser.parse(io.BytesIO(data), sanitize_html=False)
    if not parsed.version:
        raise _unusable(source, "is neither a feed nor JSON")
    if not parsed.entries:
        raise _unusable(source, "has no items")
    return _feed_trends(parsed.entries, now)


def _unusable(source: str, why: str) -> ChimeraError:
    return ChimeraError("INVALID_INPUT", f"{cut(source, 200)} {why}; {_REMEDY}")


def _refuse_unusable(data: bytes, source: str) -> None:
    if len(data) > MAX_BYTES:
        raise _unusable(source, f"is larger than {MAX_BYTES // 1_000_000} MB")
    if not data.strip():
        raise _unusable(source, "is empty")
    if b"<!entity" in data.replace(b"\0", b"").lower():
        raise _unusable(source, "declares XML entities, which is refused as unsafe")


def _json_trends(data: bytes, source: str) -> FeedResult:
    try:
        items = jsontext.loads(data.decode("utf-8-sig"))
    except (ValueError, RecursionError):
        raise _unusable(source, "is not valid JSON") from None
    if isinstance(items, dict) and isinstance(items.get("trends"), list):
        items = items["trends"]
    if not isinstance(items, list):
        raise _unusable(source, "is JSON but not a list")
    if not items:
        raise _unusable(source, "has no items")
    return FeedResult(*parse_trends(items))


def _feed_trends(entries: list[Any], now: datetime) -> FeedResult:
    trends: dict[str, TrendData] = {}
    problems: list[str] = []
    for index, entry in enumerate(entries):
        title = plain_line(_text(entry, "title"))
        try:
            trend = _trend(entry, title, now)
        except ValueError as error:
            problems.append(f'item {index} ("{cut(title, 60)}"): {_why(error)}')
            continue
        if str(trend.trend_id) in trends:
            problems.append(f'item {index} ("{cut(title, 60)}"): the same as an earlier item')
            continue
        trends[str(trend.trend_id)] = trend
    return FeedResult(list(trends.values()), problems)


def _why(error: ValueError) -> str:
    if isinstance(error, ValidationError):
        first = error.errors()[0]
        return f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
    return str(error)


def _text(entry: Any, name: str) -> str:
    value = entry.get(name)
    return value if isinstance(value, str) else ""


def _trend(entry: Any, title: str, now: datetime) -> TrendData:
    if not title:
        raise ValueError("has no headline")
    link = _text(entry, "link").strip()
    link = link if link.startswith(("http://", "https://")) and len(link) <= 2048 else ""
    identity = link or _text(entry, "id") or title
    about = f"{title} {plain_line(_text(entry, 'summary'), 1000)}"
    reactions = dict.fromkeys(("likes", "comments", "shares", "impressions", "engagement_score"), 0)
    return TrendData.model_validate(
        {
            "trend_id": uuid5(NAMESPACE_URL, identity),
            "topic": title,
            "platform": "news",
            "sentiment": sentiment(title),
            "timestamp": _moment(entry, now),
            "engagement": reactions,
            "trend_velocity": 0,
            "metadata": {
                "source_urls": [link] if link else [],
                "category": _category(title, about),
                "engagement_known": False,
            },
        }
    )


def _category(title: str, about: str) -> str:
    by_title = category(title)
    return by_title if by_title != "other" else category(about)


def _moment(entry: Any, now: datetime) -> str:
    parsed = entry.get("published_parsed") or entry.get("updated_parsed")
    if not parsed:
        return str(clock.iso(now))
    moment = datetime.fromtimestamp(timegm(parsed), UTC)
    if moment > now + CLOCK_TOLERANCE:
        raise ValueError(f"is dated {clock.iso(moment)}, in the future")
    return str(clock.iso(moment))
