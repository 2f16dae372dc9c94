"""Trend resources and media tools, as an MCP client sees them."""

import hashlib
from datetime import UTC, datetime, timedelta
from io import BytesIO
from pathlib import Path
from typing import Any

import anyio
import pytest
from PIL import Image, ImageSequence
from pytest_httpserver import HTTPServer

from chimera.core.errors import ChimeraError
from chimera.sandbox.trends import PLATFORMS, TrendSource
from content.schemas import TrendData
from skills.mcp.client import MCPClient, ServerConfig
from tests.helpers.http import HTTP
from tests.helpers.world import start_world

FEED = """<?xml version="1.0"?><rss version="2.0"><channel><title>t</title>
<item><title>Weavers open a school</title><link>https://news.example/weavers</link></item>
</channel></rss>"""


def client_of(world: str) -> MCPClient:
    return MCPClient({"sandbox": ServerConfig(url=f"{world}/mcp")}, timeout_sec=60)


def read(world: str, uri: str) -> Any:
    return anyio.run(client_of(world).read_resource, uri)


def call(world: str, tool: str, **arguments: Any) -> dict[str, Any]:
    return anyio.run(client_of(world).call_tool, tool, arguments)


def at(moment: datetime, platform: str = "twitter") -> list[dict[str, Any]]:
    return anyio.run(TrendSource().read, platform, moment)


@pytest.mark.req("A1.2")
@pytest.mark.parametrize("suffix", ["", "/feed/general"])
@pytest.mark.parametrize("platform", PLATFORMS)
def test_every_trend_meets_its_schema(world: str, platform: str, suffix: str) -> None:
    trends = read(world, f"trends://{platform}{suffix}")
    assert len({trend["trend_id"] for trend in trends}) == 25
    for trend in trends:
        counts = trend["engagement"]
        assert TrendData.model_validate(trend).platform == platform
        weighted = counts["likes"] + 2 * counts["comments"] + 3 * counts["shares"]
        assert counts["engagement_score"] == weighted
        assert counts["impressions"] >= counts["likes"] + counts["comments"] + counts["shares"]
    scores = [trend["engagement"]["engagement_score"] for trend in trends]
    assert min(scores) < 10_000 < max(scores)
    assert len({trend["sentiment"] for trend in trends}) >= 3


def test_trends_are_spread_over_the_last_day_whatever_the_hour() -> None:
    for hour in (0, 7, 23):
        now = datetime(2026, 11, 21, hour, 30, tzinfo=UTC)
        ages = [now - datetime.fromisoformat(trend["timestamp"]) for trend in at(now)]
        assert min(ages) >= timedelta(0)
        assert max(ages) < timedelta(days=1)
        assert sum(age < timedelta(hours=12) for age in ages) >= 5


def test_a_trend_stays_the_same_until_it_comes_round_again() -> None:
    noon = datetime(2026, 11, 21, 12, tzinfo=UTC)
    before = {trend["trend_id"]: trend for trend in at(noon)}
    after = {trend["trend_id"]: trend for trend in at(noon + timedelta(hours=1))}
    same = before.keys() & after.keys()
    assert len(same) >= 15
    for trend_id in same:
        assert before[trend_id]["timestamp"] == after[trend_id]["timestamp"]
        assert before[trend_id]["engagement"] == after[trend_id]["engagement"]
        assert before[trend_id]["decay_score"] >= after[trend_id]["decay_score"]
    assert not before.keys() & {trend["trend_id"] for trend in at(noon + timedelta(days=1))}


def test_news_come_from_the_feeds_that_can_be_read(tmp_path: Path, httpserver: HTTPServer) -> None:
    httpserver.expect_request("/feed").respond_with_data(FEED, content_type="application/rss+xml")
    httpserver.expect_request("/broken").respond_with_data("<html>")
    feeds = [httpserver.url_for(path) for path in ("/feed", "/broken", "/missing")]
    with start_world(tmp_path, feeds=feeds) as world:
        (trend,) = read(world, "trends://news")
        assert trend["topic"] == "Weavers open a school"
        assert trend["metadata"]["engagement_known"] is False
        assert len(read(world, "trends://twitter")) == 25
        httpserver.clear()
        with pytest.raises(ChimeraError) as failure:
            read(world, "trends://news")
    assert failure.value.code == "PLATFORM_UNAVAILABLE"


@pytest.mark.req("A3.3")
def test_a_picture_is_real_labelled_and_the_same_for_the_same_prompt(world: str) -> None:
    prompt = "Merkato knew first"
    first = call(world, "ideogram", prompt=prompt, aspect_ratio="16:9", count=2)
    again = call(world, "ideogram", prompt=prompt, aspect_ratio="16:9", count=2)
    other = call(world, "ideogram", prompt="Something else", aspect_ratio="16:9")
    assert first == again
    digests = {image["sha256"] for image in first["images"] + other["images"]}
    assert len(digests) == 3
    for image in first["images"]:
        data = HTTP.get(image["url"]).content
        assert hashlib.sha256(data).hexdigest() == image["sha256"]
        assert len(data) == image["size_bytes"]
        with Image.open(BytesIO(data)) as picture:
            assert picture.size == (image["width"], image["height"]) == (1280, 720)
        assert image["is_image_safe"] is True


@pytest.mark.req("A3.3")
def test_a_clip_moves_and_lasts_as_long_as_asked(world: str) -> None:
    result = call(world, "runwayml", prompt="Night train", duration_sec=6, ratio="16:9")
    video = result["video"]
    assert (result["status"], video["duration_sec"]) == ("SUCCEEDED", 6)
    reply = HTTP.get(video["url"])
    assert reply.headers["content-type"] == "image/webp"
    assert hashlib.sha256(reply.content).hexdigest() == video["sha256"]
    with Image.open(BytesIO(reply.content)) as clip:
        frames = [frame.copy().info["duration"] for frame in ImageSequence.Iterator(clip)]
    assert len(frames) > 3
    assert sum(frames) == pytest.approx(6000, rel=0.05)


def test_an_unsafe_prompt_gives_no_media(world: str) -> None:
    (image,) = call(world, "ideogram", prompt="gore everywhere")["images"]
    assert (image["is_image_safe"], image["url"]) == (False, None)
    clip = call(world, "runwayml", prompt="gore everywhere")
    assert (clip["status"], clip["video"]) == ("FAILED", None)


def test_a_prompt_in_any_script_is_drawn(world: str) -> None:
    for prompt in ("Кофе возвращается", "ቡና", "☕️🚂", "a" * 2000):
        assert call(world, "ideogram", prompt=prompt)["images"][0]["size_bytes"] > 1000
