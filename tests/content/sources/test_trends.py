"""Reading trend items of a source and choosing among them."""

from datetime import timedelta
from typing import Any

import pytest

from chimera.core.errors import ChimeraError
from content.schemas import TrendData
from content.sources.trends import parse_trends, parse_window, select
from tests.content.samples import NOW, SEEN, TREND, merged, trend


def item(**changes: Any) -> dict[str, Any]:
    return merged(TREND, {"timestamp": SEEN, **changes})


def chosen(trends: list[TrendData], **options: Any) -> list[str]:
    wanted: dict[str, Any] = {
        "limit": 50, "min_engagement": 0, "window": timedelta(days=1), "now": NOW, **options,
    }  # fmt: skip
    return [found.topic for found in select(trends, **wanted).trends]


@pytest.mark.req("A1.7")
def test_malformed_items_are_dropped_by_name_and_the_valid_ones_kept() -> None:
    bad: list[Any] = [
        "text",
        None,
        7,
        {},
        item(topic=""),
        item(platform="myspace", topic="Odd one"),
    ]
    trends, notes = parse_trends([item(), *bad])
    assert [found.topic for found in trends] == [TREND["topic"]]
    assert len(notes) == len(bad)
    assert 'item 6 ("Odd one") dropped: platform' in notes[-1]


@pytest.mark.req("A1.7")
def test_negative_numbers_of_a_source_become_zero_and_the_score_follows() -> None:
    [found], notes = parse_trends(
        [item(engagement__likes=-5, engagement__engagement_score=4795, trend_velocity=-1)]
    )
    assert (found.engagement.likes, found.engagement.engagement_score) == (0, 4800)
    assert found.trend_velocity == 0
    assert [note.split(": ")[1].split(" ")[0] for note in notes] == ["trend_velocity", "likes"]


def test_hidden_characters_leave_a_headline() -> None:
    [found], _ = parse_trends([item(topic="Addis\u202e \u200bstreet\x07 style")])
    assert found.topic == "Addis street style"


@pytest.mark.req("A1.1")
@pytest.mark.parametrize(
    ("text", "length"),
    [("4h", timedelta(hours=4)), ("1d", timedelta(days=1)), ("0h", timedelta(0))],
)
def test_a_window_is_hours_or_days(text: str, length: timedelta) -> None:
    assert parse_window(text) == length


@pytest.mark.parametrize("text", ["", "4", "h", "4m", " 4h", "4h\n", "-4h", "1.5h", "٤h"])
def test_another_window_is_refused(text: str) -> None:
    with pytest.raises(ChimeraError, match="hours or days") as refusal:
        parse_window(text)
    assert refusal.value.code == "INVALID_INPUT"


def test_an_enormous_window_is_still_a_window() -> None:
    assert parse_window("9" * 4000 + "d") == timedelta(days=36_500)


@pytest.mark.req("A1.6")
def test_truncated_says_that_more_matched() -> None:
    three = [trend(f"Story {at}") for at in range(3)]
    options: dict[str, Any] = {"min_engagement": 0, "window": timedelta(days=1), "now": NOW}
    assert select(three, limit=2, **options).truncated
    assert not select(three, limit=3, **options).truncated


def test_fresh_engagement_comes_first() -> None:
    old = trend("Old", timestamp="2024-11-20T10:00:00Z")
    small = trend("Small", engagement__likes=0, engagement__engagement_score=4800)
    assert chosen([old, small, trend("Big")]) == ["Big", "Small", "Old"]


def test_what_is_older_than_the_window_or_engages_too_little_is_left_out() -> None:
    old = trend("Old", timestamp="2024-11-20T08:00:00Z")
    assert chosen([old, trend("New")]) == ["New"]
    assert chosen([trend("New")], min_engagement=9801) == []


def test_a_source_without_counts_passes_the_minimum() -> None:
    counts = dict.fromkeys(("likes", "comments", "shares", "impressions", "engagement_score"), 0)
    feed = trend("Feed", engagement=counts, metadata__engagement_known=False)
    assert chosen([feed], min_engagement=10_000) == ["Feed"]


@pytest.mark.parametrize(
    ("topic", "excluded"),
    [
        ("Election day", True),
        ("ELECTIONS near", True),
        ("#Election2024", True),
        ("Selection of teas", False),
        ("Party art", False),
    ],
)
def test_excluded_topics_are_words_in_any_case(topic: str, excluded: bool) -> None:
    assert chosen([trend(topic)], exclude_topics=["election", "  "]) == (
        [] if excluded else [topic]
    )
