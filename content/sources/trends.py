"""Trend items as a source gives them, and the choice among them.

Used for every source alike, so a window, a threshold and an exclusion mean the same everywhere.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from pydantic import ValidationError

from chimera.core.errors import ChimeraError
from content.schemas import CLOCK_TOLERANCE, TrendData
from content.sources.clean import cut, plain_line

_WINDOW = re.compile(r"[0-9]+[hd]")
_COUNTS = ("likes", "comments", "shares", "impressions")
_LONGEST = timedelta(days=36_500)


@dataclass(frozen=True)
class Selection:
    """The best trends, and whether more matched than were asked for."""

    trends: list[TrendData]
    truncated: bool


def items_of(answer: Any) -> list[Any]:
    """The items in a source's answer: a list, or an object with a list `trends`.

    VALIDATION_FAILED for anything else.
    """
    found = answer.get("trends") if isinstance(answer, dict) else answer
    if isinstance(found, list):
        return found
    raise ChimeraError("VALIDATION_FAILED", "The answer is not a list of trends")


def parse_trends(items: list[Any]) -> tuple[list[TrendData], list[str]]:
    """The valid trends of a source and a note for each item that was dropped or mended.

    A negative count or velocity of a source is set to 0, and the score follows.
    """
    trends: list[TrendData] = []
    notes: list[str] = []
    for index, item in enumerate(items):
        mended, clamped = _clamp(item)
        notes += [f"{_name(index, item)}: {field} was negative, taken as 0" for field in clamped]
        try:
            trend = TrendData.model_validate(mended)
        except ValidationError as error:
            notes.append(f"{_name(index, item)} dropped: {_first(error)}")
            continue
        notes += [f"{_name(index, item)}: {text}" for text in trend.engagement.warnings()]
        trends.append(trend)
    return trends, notes


def _name(index: int, item: Any) -> str:
    topic = item.get("topic") if isinstance(item, dict) else None
    return f'item {index} ("{cut(topic, 60)}")' if isinstance(topic, str) else f"item {index}"


def _first(error: ValidationError) -> str:
    first = error.errors()[0]
    where = ".".join(map(str, first["loc"]))
    return f"{where}: {first['msg']}" if where else first["msg"]


def _negative(value: Any) -> bool:
    return isinstance(value, int | float | Decimal) and value < 0


def _clamp(item: Any) -> tuple[Any, list[str]]:
    """The item with negatives at 0 and a cleaned headline, and the names of what was negative."""
    if not isinstance(item, dict):
        return item, []
    mended = dict(item)
    if isinstance(item.get("topic"), str):
        mended["topic"] = plain_line(item["topic"], max(500, len(item["topic"])))
    clamped = []
    if _negative(item.get("trend_velocity")):
        mended["trend_velocity"] = 0
        clamped.append("trend_velocity")
    if isinstance(item.get("engagement"), dict):
        mended["engagement"], names = _clamp_counts(item["engagement"])
        clamped += names
    return mended, clamped


def _clamp_counts(engagement: dict[str, Any]) -> tuple[dict[str, Any], list[str]]:
    negative = [name for name in _COUNTS if _negative(engagement.get(name))]
    if not negative:
        return engagement, []
    mended = {**engagement, **dict.fromkeys(negative, 0)}
    counts = [count for name in _COUNTS[:3] if isinstance(count := mended.get(name), int)]
    if len(counts) == 3:
        likes, comments, shares = counts
        mended["engagement_score"] = likes + 2 * comments + 3 * shares
    return mended, negative


def parse_window(text: str) -> timedelta:
    """The length of a time window such as 4h or 7d; INVALID_INPUT for anything else."""
    if not _WINDOW.fullmatch(text):
        message = "give a whole number of hours or days, such as 4h or 7d"
        raise ChimeraError("INVALID_INPUT", message, errors={"timeWindow": [message]})
    hours = int(text[:-1][:9]) * (24 if text.endswith("d") else 1)
    return min(timedelta(hours=hours), _LONGEST)


def select(
    trends: Iterable[TrendData],
    *,
    limit: int,
    min_engagement: int,
    window: timedelta,
    exclude_topics: Iterable[str] = (),
    now: datetime,
) -> Selection:
    """The `limit` best trends: fresh engagement first, then the newest.

    A trend whose source counts no reactions passes `min_engagement`.
    """
    excluded = [pattern for topic in exclude_topics if (pattern := _whole_words(topic))]
    chosen = [
        trend
        for trend in trends
        if now - window <= trend.timestamp <= now + CLOCK_TOLERANCE
        and _engages(trend, min_engagement)
        and not any(pattern.search(_searchable(trend)) for pattern in excluded)
    ]
    chosen.sort(key=lambda trend: _rank(trend, now))
    return Selection(chosen[:limit], len(chosen) > limit)


def _engages(trend: TrendData, minimum: int) -> bool:
    return not trend.metadata.engagement_known or trend.engagement.engagement_score >= minimum


def _rank(trend: TrendData, now: datetime) -> tuple[float, float, str]:
    fresh = trend.engagement.engagement_score * trend.decay_at(now)
    return -fresh, -trend.timestamp.timestamp(), str(trend.trend_id)


def _whole_words(topic: str) -> re.Pattern[str] | None:
    """Matches the topic at the start of a word, so `election` also excludes `elections`."""
    words = topic.replace("#", " ").split()
    if not words:
        return None
    return re.compile(r"(?<!\w)" + r"\W+".join(map(re.escape, words)), re.IGNORECASE)


def _searchable(trend: TrendData) -> str:
    return " ".join([trend.topic, trend.metadata.category, *trend.metadata.hashtags])
