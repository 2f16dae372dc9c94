"""Trend resources: sample topics that look alive, and news from real feeds if there are any.

A sample topic comes round once a day at a minute of its own, so that at any moment the topics
of a platform are spread over the last 24 hours. Its id, its time and its numbers stay the same
until it comes round again.
"""

import asyncio
import json
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any
from uuid import NAMESPACE_URL, uuid5

import httpx

from chimera.core.clock import iso
from chimera.core.errors import ChimeraError
from chimera.sandbox.chance import seeded
from content.sources.feeds import FeedResult, parse_feed

PLATFORMS = ("twitter", "news", "market", "reddit", "tiktok")
HALF_LIFE_HOURS = 6
MAX_FEED_BYTES = 5_000_000
_SAMPLES: dict[str, list[dict[str, Any]]] = json.loads(
    (Path(__file__).parent / "samples" / "trends.json").read_text(encoding="utf-8")
)
_LEVELS = {
    1: (1_200, 9_000),
    2: (11_000, 26_000),
    3: (28_000, 80_000),
    4: (85_000, 260_000),
    5: (300_000, 950_000),
}
_DAY = timedelta(days=1)
_log = logging.getLogger(__name__)

Trend = dict[str, Any]


class FeedsUnavailable(Exception):
    """None of the configured feeds gave a trend."""


@dataclass(frozen=True)
class TrendSource:
    """What the trend resources serve. feeds: URLs of RSS or Atom feeds for the news."""

    feeds: tuple[str, ...] = ()

    async def read(self, platform: str, now: datetime) -> list[Trend]:
        """Trends of the platform in the TrendData wire shape, newest first."""
        if platform == "news" and self.feeds:
            trends = await _from_feeds(self.feeds, now)
        else:
            trends = [_sample(platform, topic, now) for topic in _SAMPLES[platform]]
        return sorted(trends, key=lambda trend: str(trend["timestamp"]), reverse=True)


def resource_uris() -> dict[str, str]:
    """URI -> platform: one resource per platform and its fallback `/feed/general`."""
    return {
        f"trends://{platform}{suffix}": platform
        for suffix in ("", "/feed/general")
        for platform in PLATFORMS
    }


def _sample(platform: str, topic: dict[str, Any], now: datetime) -> Trend:
    name = topic["topic"]
    moment = _last_round(seeded(platform, name).randrange(86_400), now)
    day = moment.date().isoformat()
    chance = seeded(platform, name, day)
    hours = (now - moment) / timedelta(hours=1)
    return {
        "trend_id": str(uuid5(NAMESPACE_URL, f"trends://{platform}/{name}/{day}")),
        "topic": name,
        "platform": platform,
        "sentiment": topic["sentiment"],
        "timestamp": iso(moment),
        "engagement": _engagement(topic["level"], chance),
        "trend_velocity": round(chance.uniform(0.4, 1.2) * (0.6 + topic["level"] / 2), 2),
        "decay_score": round(0.5 ** (hours / HALF_LIFE_HOURS), 4),
        "geographic_origin": topic["region"],
        "metadata": {
            "hashtags": topic["hashtags"],
            "mentions": [],
            "source_urls": [f"https://{platform}.example/{_slug(name)}"],
            "category": topic["category"],
            "engagement_known": True,
        },
    }


def _last_round(second_of_day: int, now: datetime) -> datetime:
    """The latest moment not after now at this second of a UTC day."""
    midnight = now.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    moment = midnight + timedelta(seconds=second_of_day)
    return moment if moment <= now else moment - _DAY


def _engagement(level: int, chance: Random) -> dict[str, int]:
    target = chance.randint(*_LEVELS[level])
    comments = round(target * chance.uniform(0.04, 0.12))
    shares = round(target * chance.uniform(0.03, 0.09))
    likes = target - 2 * comments - 3 * shares
    return {
        "likes": likes,
        "comments": comments,
        "shares": shares,
        "impressions": round((likes + comments + shares) * chance.uniform(9, 30)),
        "engagement_score": likes + 2 * comments + 3 * shares,
    }


def _slug(name: str) -> str:
    words = "".join(c if c.isalnum() else " " for c in name.lower()).split()
    return "-".join(words[:6])


async def _from_feeds(feeds: Sequence[str], now: datetime) -> list[Trend]:
    """Items of every feed that can be read; a broken item or feed is named on the log."""
    async with httpx.AsyncClient(timeout=5.0, follow_redirects=True, max_redirects=3) as client:
        answers = await asyncio.gather(*(_fetch(client, url) for url in feeds))
    pages = [(url, data) for url, data in zip(feeds, answers, strict=True) if data is not None]
    trends: list[Trend] = []
    for url, data in pages:
        result = _parsed(url, data, now)
        trends += [trend.model_dump(mode="json") for trend in result.trends]
        for problem in result.problems:
            _log.warning("%s: %s", url, problem)
    if not trends:
        raise FeedsUnavailable(f"no news feed gave a usable item: {', '.join(feeds)}")
    return trends


def _parsed(url: str, data: bytes, now: datetime) -> FeedResult:
    try:
        return parse_feed(data, source=url, now=now)
    except ChimeraError as error:
        return FeedResult([], [error.message])


async def _fetch(client: httpx.AsyncClient, url: str) -> bytes | None:
    data = bytearray()
    try:
        async with client.stream("GET", url) as reply:
            reply.raise_for_status()
            async for chunk in reply.aiter_bytes():
                data += chunk
                if len(data) > MAX_FEED_BYTES:
                    raise ValueError(f"larger than {MAX_FEED_BYTES} bytes")
    except (httpx.HTTPError, httpx.InvalidURL, ValueError) as error:
        reason = str(error) or type(error).__name__
        _log.warning("%s: %s", url, reason)
        return None
    return bytes(data)
