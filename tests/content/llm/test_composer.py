"""The offline writer: posts that keep every limit, say nothing new and obey the persona."""

import itertools
import re
from typing import Any
from uuid import uuid4

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agents.schemas import Persona
from chimera.core.errors import ChimeraError
from content.layout import LABEL
from content.llm import Draft, compose
from content.schemas import ContentPackage, TrendData
from content.tweets import tweet_weight
from content.validation.match import has_word
from content.validation.rules import validate
from tests.content.samples import NOW, persona, trend

TONES = ("formal", "casual", "humorous", "technical", "inspirational", "edgy")
STYLES = ("narrative", "listicle", "question_answer", "data_driven", "inspirational")
PLATFORMS = ("twitter", "tiktok", "instagram", "youtube")
TYPES = ("video_script", "carousel", "single_post", "thread")
HEADLINES = (
    "Addis street style is back",
    "Open-source robots learn to fold laundry",
    "BREAKING: BITCOIN PASSES A NEW HIGH!!!",
    "Earthquake hits coastal town, dozens injured",
    "The Return of the Village Choir",
    "#SlowMorning",
    "Why are students repairing their own phones?",
    "Rents fell 3.5% in 2024, says council - Example News",
    "a",
    "12345",
    "የአዲስ አበባ የመንገድ ፋሽን ተመልሷል",
    "“Nobody asked for this,” says the mayor of a very small town on the coast",
)
COMMON_WORDS = [
    "the",
    "a",
    "an",
    "in",
    "and",
    "it",
    "to",
    "what",
    "there",
    "this",
    "of",
    "is",
    "on",
    "you",
    "your",
    "who",
    "for",
    "be",
    "with",
    "at",
    "as",
    "by",
    "from",
    "not",
    "are",
    "was",
    "has",
    "have",
    "how",
    "that",
    "so",
    "more",
    "one",
    "we",
    "our",
    "i",
    "my",
    "all",
    "but",
    "or",
    "if",
    "when",
    "where",
    "do",
    "does",
    "can",
    "will",
    "today",
    "back",
    "up",
    "out",
    "look",
    "thought",
    "thoughts",
    "story",
    "new",
    "me",
    "see",
    "notice",
    "check",
    "watch",
    "saw",
    "okay",
]


def write(a_trend: TrendData, a_persona: Persona, platform: Any = "twitter",
          content_type: Any = "single_post", **options: Any) -> Draft:  # fmt: skip
    return compose(a_trend, a_persona, platform, content_type, now=NOW, **options)


def packed(draft: Draft) -> ContentPackage:
    return ContentPackage(
        content_id=uuid4(),
        task_id=uuid4(),
        trend_ref=uuid4(),
        script=draft.script,
        media_urls=["https://media.example/clip.mp4"],
        captions=draft.captions,
        hashtags=draft.hashtags,
        confidence_score=draft.confidence,
        requires_review=draft.confidence < 0.8,
        platform_variants=draft.platform_variants,
    )


LETTERS = st.characters(exclude_categories=["Cs"], exclude_characters="\0")
"""What a trend may hold."""


@st.composite
def personas(draw: Any) -> Persona:
    some = st.lists(
        st.sampled_from(
            [
                "market",
                "cheap",
                "handmade",
                "look",
                "story",
                "honest",
                "AI",
                "tech",
                "people",
                "street",
            ]
        ),
        max_size=4,
        unique=True,
    )
    return persona(
        voice_tone=draw(st.sampled_from(TONES)),
        vocabulary__preferred_words=draw(some),
        vocabulary__forbidden_words=draw(some),
        target_audience__interests=draw(some),
        content_style__post_length_preference=draw(
            st.sampled_from(["concise", "medium", "detailed"])
        ),
        content_style__emoji_usage=draw(st.sampled_from(["none", "minimal", "moderate", "heavy"])),
        content_style__hashtag_strategy=draw(
            st.sampled_from(["none", "trending_only", "mix_popular_niche", "comprehensive"])
        ),
        content_style__storytelling_style=draw(st.sampled_from(STYLES)),
        engagement_strategy__call_to_action=draw(
            st.sampled_from(["none", "like_comment_share", "link_click", "purchase", "follow"])
        ),
        brand_guidelines=draw(
            st.sampled_from([{}, {"required_disclaimers": ["Paid partnership, 18+ only."]}])
        ),
    )


@st.composite
def trends(draw: Any) -> TrendData:
    topic = draw(st.sampled_from(HEADLINES) | st.text(LETTERS, min_size=1, max_size=500))
    return trend(
        topic,
        sentiment=draw(st.sampled_from(["positive", "neutral", "negative", "mixed", "unknown"])),
        metadata__category=draw(
            st.sampled_from(
                ["technology", "fashion", "finance", "entertainment", "news", "crypto", "other"]
            )
        ),
        metadata__hashtags=draw(st.lists(st.sampled_from(["#AddisStyle", "odd tag!", "#1"]))),
        metadata__engagement_known=draw(st.booleans()),
    )


@pytest.mark.req("A3.1")
@settings(max_examples=150, deadline=None)
@given(trends(), personas(), st.sampled_from(PLATFORMS), st.sampled_from(TYPES), st.booleans())
def test_every_draft_is_a_valid_package_that_passes_its_own_rules(
    a_trend: TrendData, a_persona: Persona, platform: Any, content_type: Any, safety: bool
) -> None:
    draft = write(a_trend, a_persona, platform, content_type, safety=safety)
    issues = validate(
        packed(draft), persona=a_persona, platforms=[platform], source_text=a_trend.source_text()
    )
    own = {"persona", "platform_compliance", "hidden_characters"}
    assert [i for i in issues if i.severity == "error" and i.rule in own] == []


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(HEADLINES), personas(), st.sampled_from(TYPES))
def test_no_draft_doubles_punctuation_or_leaves_a_hole(
    headline: str, a_persona: Persona, content_type: Any
) -> None:
    draft = write(trend(headline), a_persona, "instagram", content_type)
    for text in (draft.script, draft.captions):
        assert not re.search(r"[.,:;!?] [.,:;!?]|\.\.|,\.| {2,}|[{}]|None", text), text


@pytest.mark.req("A3.5")
@pytest.mark.parametrize("content_type", TYPES)
def test_the_same_input_gives_the_same_draft(content_type: Any) -> None:
    first, second = (write(trend(), persona(), "tiktok", content_type) for _ in range(2))
    assert first == second


def test_another_trend_or_platform_gives_another_post() -> None:
    base = write(trend(), persona())
    assert write(trend("Kemis weavers open their doors"), persona()).script != base.script
    assert len({write(trend(), persona(), name).script for name in PLATFORMS}) > 1


@pytest.mark.parametrize("headline", HEADLINES)
@pytest.mark.parametrize("tone", TONES)
def test_a_draft_adds_no_number_quotation_or_name(headline: str, tone: str) -> None:
    a_trend, a_persona = trend(headline), persona(voice_tone=tone)
    for style in STYLES:
        a_persona.content_style.storytelling_style = style  # type: ignore[assignment]
        package = packed(write(a_trend, a_persona, "youtube", "video_script"))
        issues = validate(package, persona=a_persona, source_text=a_trend.source_text())
        assert [issue for issue in issues if issue.rule == "misinformation"] == []


def test_the_headline_is_said_as_a_sentence() -> None:
    assert "Addis street style is back." in write(trend(), persona()).script
    assert "Bitcoin passes a new high." in write(trend(HEADLINES[2]), persona()).script
    question = write(trend(HEADLINES[6]), persona()).script
    assert "Why are students repairing their own phones?" in question
    assert "Example News" not in write(trend(HEADLINES[7]), persona()).script


def test_grave_news_gets_no_joke_no_emoji_and_no_shop() -> None:
    joker = persona(
        voice_tone="humorous",
        content_style__emoji_usage="heavy",
        engagement_strategy__call_to_action="purchase",
    )
    draft = write(trend(HEADLINES[3], metadata__category="news"), joker)
    assert not any(ord(char) > 0x2700 for char in draft.script + draft.captions)
    assert "shop" not in draft.script.lower()
    assert "StreetFashion" not in " ".join(draft.hashtags)


def test_a_forbidden_word_of_the_headline_is_not_repeated_anywhere() -> None:
    draft = write(trend("Cheap flights return to Lisbon"), persona())
    text = " ".join([draft.script, draft.captions, *draft.hashtags])
    assert not has_word(text, ["cheap"])
    assert "Lisbon" in draft.script
    assert draft.confidence < write(trend("Flights return to Lisbon"), persona()).confidence


def test_a_disclaimer_stands_in_script_captions_and_post() -> None:
    careful = persona(brand_guidelines__required_disclaimers=["This is not financial advice."])
    draft = write(trend(), careful)
    assert draft.platform_variants.twitter
    for text in (draft.script, draft.captions, draft.platform_variants.twitter.text):
        assert "This is not financial advice." in text


@pytest.mark.req("A3.9")
@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"brand_guidelines__required_disclaimers": ["x" * 290]}, "required_disclaimers"),
        ({"brand_guidelines__required_disclaimers": ["Not cheap."]}, "required_disclaimers"),
        (
            {"vocabulary__forbidden_words": COMMON_WORDS},
            "forbidden_words",
        ),
    ],
)
def test_a_persona_that_leaves_nothing_to_say_is_refused(
    changes: dict[str, Any], field: str
) -> None:
    with pytest.raises(ChimeraError) as refusal:
        write(trend(), persona(**changes))
    assert refusal.value.code == "INVALID_PERSONA"
    assert list(refusal.value.errors or {}) == [field]


def test_preferred_words_are_said_where_the_trend_fits_the_audience() -> None:
    assert has_word(write(trend(), persona()).script, ["market", "handmade"])


@pytest.mark.parametrize(
    ("usage", "fewest", "most"), [("none", 0, 0), ("minimal", 1, 1), ("heavy", 2, 4)]
)
def test_emoji_follow_the_persona(usage: str, fewest: int, most: int) -> None:
    post = write(trend(metadata__hashtags=[]), persona(content_style__emoji_usage=usage))
    count = sum(ord(char) > 0x2700 for char in post.captions)
    assert fewest <= count <= most


@pytest.mark.parametrize(
    ("strategy", "count"),
    [("none", 3), ("trending_only", 4), ("mix_popular_niche", 6), ("comprehensive", 12)],
)
def test_hashtags_follow_the_strategy_and_begin_with_the_trends_own(
    strategy: str, count: int
) -> None:
    tags = write(trend(), persona(content_style__hashtag_strategy=strategy)).hashtags
    assert len(tags) == len({tag.lower() for tag in tags}) == count
    assert tags[0] == "#AddisStyle"


def test_scripts_have_the_structure_of_their_type() -> None:
    video = write(trend(), persona(), "tiktok", "video_script").script.splitlines()
    assert video[0].startswith("[0:00-0:0")
    assert "Hook:" in video[0]
    assert "Close:" in video[-1]
    ends = [line[1:].split("]")[0].split("-") for line in video]
    assert all(before[1] == after[0] for before, after in itertools.pairwise(ends))
    carousel = write(trend(), persona(), "instagram", "carousel")
    slides = carousel.script.splitlines()
    assert slides[0].startswith("Slide 1: ")
    assert carousel.platform_variants.instagram
    shown = carousel.platform_variants.instagram.carousel_items
    assert shown == [LABEL.sub("", slide) for slide in slides]
    thread = write(trend(), persona(), "twitter", "thread").script.split("\n\n")
    assert [post.split(" ")[0] for post in thread] == [
        f"{at}/{len(thread)}" for at in range(1, len(thread) + 1)
    ]
    assert all(tweet_weight(post) <= 280 for post in thread)


def test_length_follows_the_persona() -> None:
    sizes = [
        len(write(trend(), persona(content_style__post_length_preference=length)).script)
        for length in ("concise", "medium", "detailed")
    ]
    assert sizes == sorted(sizes)
    assert sizes[0] < sizes[2]


@pytest.mark.parametrize("sentiment", ["mixed", "unknown"])
def test_an_unclear_sentiment_caps_the_confidence(sentiment: str) -> None:
    assert write(trend(), persona()).confidence > 0.75
    assert write(trend(sentiment=sentiment), persona()).confidence <= 0.75


def test_only_the_asked_platform_gets_a_variant() -> None:
    for platform in PLATFORMS:
        variants = write(trend(), persona(), platform).platform_variants
        assert list(variants.model_dump()) == [platform]


def test_prompts_show_the_subject_and_ask_for_no_lettering() -> None:
    draft = write(trend(), persona(brand_guidelines__colors=["#AA5500"]))
    assert "Addis street style is back" in draft.image_prompt
    assert "#AA5500" in draft.image_prompt
    assert "no lettering" in draft.video_prompt
