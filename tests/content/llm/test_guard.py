"""Links, accounts and addresses: found however they are written, let through only from the list."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from content.llm.guard import Allowed, allowed_of, cleaned, found_in, unlisted
from tests.content.samples import persona, trend

NOBODY = Allowed(frozenset(), frozenset())
LURES = (
    "https://evil.example/x?y=1",
    "HTTPS://EVIL.EXAMPLE",
    "http://1.2.3.4:8080/a",
    "www.evil.com",
    "evil.com",
    "shop.evil.co.uk/path",
    "https://еvil.example",
    "ｈｔｔｐｓ://evil.example",
    "hxxps://evil.example",
    "evil[.]com",
    "evil (dot) com",
    "evil dot com",
    "[free](https://evil.example)",
    "![x](https://evil.example/a.png?data=1)",
    "<https://evil.example>",
    "javascript:alert(1)",
    "mailto:me@evil.example",
    "me@evil.example",
    "@attacker",
    "＠attacker",
    "@attacker.shop",
    "0x52908400098527886E0F7030069857D2E4169EE7",
    "bc1qar0srrr7xfkvy5l643lydnw9re59gtzzwf5mdq",
    "vitalik.eth",
    "ftp://evil.example/file",
    "tg://resolve?domain=evil",
)
HARMLESS = (
    "Addis street style is back.",
    "Three looks, one market, e.g. this one. That one too.",
    "It is 3.5 times as much, or 7.30 in the evening.",
    "What do you think?",
    "የአዲስ አበባ የመንገድ ፋሽን",
    "Rock & roll @ the market",
    "node and dot matrix",
    "Mr. Smith went to Washington. He liked it.",
)


@pytest.mark.parametrize("lure", LURES)
def test_a_lure_is_found_and_taken_out_of_a_topic(lure: str) -> None:
    text = f"Great news today {lure} for everybody"
    assert unlisted(text, NOBODY)
    clean, removed = cleaned(trend(text), NOBODY)
    assert removed
    assert found_in(clean.topic) == []
    assert clean.topic.startswith("Great news today")
    assert clean.trend_id == trend().trend_id


@pytest.mark.parametrize("text", HARMLESS)
def test_plain_sentences_are_left_alone(text: str) -> None:
    assert found_in(text) == []


def test_a_topic_that_is_nothing_but_a_lure_still_makes_a_story() -> None:
    clean, _ = cleaned(trend("https://evil.example"), NOBODY)
    assert clean.topic == "A story that is making the rounds"


def test_hidden_characters_do_not_hide_a_lure() -> None:
    clean, removed = cleaned(trend("Look at ev\u200bil.com and @att\u202eacker"), NOBODY)
    assert removed and found_in(clean.topic) == []


def test_sources_accounts_and_disclaimers_may_be_named_and_nothing_like_them() -> None:
    allowed = allowed_of(
        trend(
            metadata__source_urls=["https://news.example/addis-style"],
            metadata__mentions=["@MerkatoNews", "tailors"],
        ),
        persona(brand_guidelines={"required_disclaimers": ["Ad for shop.com by @brand."]}),
    )
    fine = "https://news.example/addis-style via @merkatonews and @Tailors, shop.com, @brand"
    assert unlisted(fine, allowed) == []
    for near in ("https://news.example/addis-style/x", "https://news.example", "@merkatonews2"):
        assert unlisted(f"see {near} now", allowed), near


@st.composite
def pieced(draw: Any) -> str:
    """Lures, halves of lures and anything else in any order, with and without spaces."""
    piece = st.sampled_from(LURES) | st.sampled_from(
        ("@", ".", "com", "://", "dot", "[", "](", " ")
    )
    anything = st.text(
        st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=6
    )
    return "".join(draw(st.lists(piece | anything, min_size=1, max_size=12)))[:500]


@settings(max_examples=200, deadline=None)
@given(pieced())
def test_whatever_the_topic_is_nothing_unlisted_is_left_in_it(text: str) -> None:
    clean, _ = cleaned(trend(text or "a"), NOBODY)
    assert found_in(clean.topic) == [] and clean.topic
