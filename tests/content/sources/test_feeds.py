"""Feeds into trends."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chimera.core.errors import ChimeraError
from content.sources.feeds import FeedResult, parse_feed
from tests.content.samples import NOW, SEEN, TREND, merged

ITEM = """<item><title>Addis &lt;b&gt;street&lt;/b&gt; style\u202e is back</title>
<link>https://news.example/a</link><pubDate>Thu, 21 Nov 2024 08:00:00 GMT</pubDate></item>"""


def rss(items: str) -> bytes:
    text = (
        f'<?xml version="1.0"?><rss version="2.0"><channel><title>x</title>{items}</channel></rss>'
    )
    return text.encode()


def read(data: bytes) -> FeedResult:
    return parse_feed(data, source="feed.xml", now=NOW)


def test_an_rss_item_becomes_a_news_trend() -> None:
    [found] = read(rss(ITEM)).trends
    assert found.topic == "Addis street style is back"
    assert (found.platform, found.metadata.category) == ("news", "fashion")
    assert found.metadata.source_urls == ["https://news.example/a"]
    assert found.metadata.engagement_known is False
    assert found.timestamp.hour == 8


def test_atom_and_rss_1_are_read_too() -> None:
    atom = b"""<feed xmlns="http://www.w3.org/2005/Atom"><entry><title>Quiet mornings</title>
    <id>urn:1</id><updated>2024-11-21T07:00:00Z</updated></entry></feed>"""
    rdf = b"""<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"
    xmlns="http://purl.org/rss/1.0/"><item rdf:about="https://n.example/1">
    <title>Quiet mornings</title><link>https://n.example/1</link></item></rdf:RDF>"""
    assert [found.topic for found in read(atom).trends] == ["Quiet mornings"]
    assert [found.topic for found in read(rdf).trends] == ["Quiet mornings"]


def test_the_same_item_has_the_same_id_each_time() -> None:
    assert read(rss(ITEM)).trends[0].trend_id == read(rss(ITEM)).trends[0].trend_id


def test_a_json_list_of_trends_is_read() -> None:
    good = merged(TREND, {"timestamp": SEEN})
    result = read(json.dumps([good, {"topic": "No more"}]).encode())
    assert [found.topic for found in result.trends] == [TREND["topic"]]
    assert 'item 1 ("No more") dropped' in result.problems[0]


def test_malformed_items_are_named_and_skipped() -> None:
    future = ITEM.replace("2024", "2034").replace("/a<", "/b<")
    result = read(rss(ITEM + "<item><link>https://n.example/c</link></item>" + future + ITEM))
    assert len(result.trends) == 1
    assert "item 1" in result.problems[0]
    assert "no headline" in result.problems[0]
    assert "future" in result.problems[1]
    assert "Addis street style" in result.problems[1]
    assert "same as an earlier" in result.problems[2]


def test_an_address_that_is_not_http_is_dropped() -> None:
    data = rss(ITEM.replace("https://news.example/a", "javascript:alert(1)"))
    assert read(data).trends[0].metadata.source_urls == []


def test_a_long_headline_is_cut_at_500_characters() -> None:
    [found] = read(rss(f"<item><title>{'word ' * 200}</title></item>")).trends
    assert len(found.topic) <= 500
    assert found.topic.endswith("word…")


BOMB = '<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><rss/>'


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "empty"),
        (b" \n", "empty"),
        (b"hello", "neither"),
        (b"<html><body>hi</body></html>", "neither"),
        (b"\x00\xff\xfe", "neither"),
        (b"[]", "no items"),
        (b"[1, 2", "not valid JSON"),
        (b"[NaN]", "not valid JSON"),
        (b"[" * 100_000, "not valid JSON"),
        (b'{"a": 1}', "not a list"),
        (rss(""), "no items"),
        (b"x" * 5_000_001, "larger than 5 MB"),
        (BOMB.encode(), "entities"),
        (BOMB.encode("utf-16"), "entities"),
    ],
)
def test_an_unusable_document_is_refused_by_name_with_a_remedy(data: bytes, why: str) -> None:
    with pytest.raises(ChimeraError) as refusal:
        read(data)
    assert refusal.value.code == "INVALID_INPUT"
    assert refusal.value.message.startswith("feed.xml")
    assert why in refusal.value.message
    assert "give an RSS or Atom feed or a JSON list" in refusal.value.message


@given(st.binary(max_size=300) | st.text(max_size=200).map(lambda text: rss(text)))
def test_whatever_comes_is_read_or_refused(data: bytes) -> None:
    try:
        found = read(data).trends
    except ChimeraError as refusal:
        assert refusal.code == "INVALID_INPUT"
    else:
        assert all(0 < len(trend.topic) <= 500 for trend in found)
