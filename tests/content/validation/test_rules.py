"""The rules that content is checked against, family by family."""

from typing import Any

import pytest

from content.validation.issue import Issue
from content.validation.rules import Checks, confidence, sensitive_topics, validate
from tests.content.samples import package, persona, trend

OPEN = Checks(False, False, False, False)


def found(rule: str, severity: str | None = None, **changes: Any) -> list[Issue]:
    """Issues of a rule in the sample package with other captions or other fields."""
    options = {key: changes.pop(key) for key in ("persona", "platforms", "checks", "source_text")
               if key in changes}  # fmt: skip
    issues = validate(package(**changes), **options)
    return [i for i in issues if i.rule == rule and severity in (None, i.severity)]


def test_the_package_of_the_specification_has_no_issue() -> None:
    assert validate(package(), persona=persona()) == []


@pytest.mark.req("A4.2")
@pytest.mark.parametrize(
    "text",
    [
        "What the fuck is this outfit",
        "What the FUCK is this outfit",
        "What the fu\u200bck is this outfit",
        "What the fùck is this outfit",
        "What the fuсk is this outfit",  # a Cyrillic letter in the word
        "What the ｆｕｃｋ is this outfit",
        "This outfit is total 5h1t today",
        "This outfit is total $hit today",
    ],
)
def test_offensive_words_are_found_however_they_are_spelt(text: str) -> None:
    assert found("offensive_language", "error", captions=text)


@pytest.mark.parametrize(
    "text",
    ["Scunthorpe has a good shop", "A cocktail class in Essex", "Shitake mushrooms on toast"],
)
def test_words_that_only_contain_one_are_left_alone(text: str) -> None:
    assert found("offensive_language", captions=text) == []


def test_the_place_of_a_finding_is_given() -> None:
    captions = "A damn good look, all the same."
    [issue] = found("offensive_language", "warning", captions=captions)
    assert (issue.field, captions[issue.start : issue.end]) == ("captions", "damn")


@pytest.mark.req("A4.2")
@pytest.mark.parametrize(
    "hidden",
    [
        "\u200b", "\u202e", "\U000e0041", "\u2066", "\ufeff", "\x07", "\u3164", "\u2800", "\u034f",
        "\ufe0f", "\U000e0101",
    ],
)  # fmt: skip
def test_hidden_characters_are_errors_with_their_place_even_with_every_family_off(
    hidden: str,
) -> None:
    captions = f"Merkato knew{hidden} first, three looks."
    [issue] = found("hidden_characters", "error", captions=captions, checks=OPEN)
    assert (issue.start, issue.end) == (12, 13)
    assert f"U+{ord(hidden):04X}" in issue.message and "position 12" in issue.message


def test_a_message_smuggled_behind_an_emoji_is_found() -> None:
    captions = "Merkato knew first 😀" + "".join(chr(0xE0100 + ord(c)) for c in "hi") + " today"
    assert len(found("hidden_characters", "error", captions=captions)) == 2


def test_joined_emoji_and_joined_scripts_are_not_hidden_text() -> None:
    england = "\U0001f3f4\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f"
    text = f"Merkato knew first 👩‍🎨 👩🏽‍🎨 ❤️ 1️⃣ 🏳️‍🌈 {england} नक्‍षत्र نمی‌خواهم.\r\nNext"
    assert found("hidden_characters", captions=text) == []


def test_tag_characters_outside_a_flag_and_joiners_in_latin_words_are_hidden_text() -> None:
    stray = "Merkato \U0001f3f4\U000e0067\U000e0062 knew é\u200dé first"
    assert len(found("hidden_characters", "error", captions=stray)) == 3


def test_a_word_of_two_alphabets_is_a_warning() -> None:
    assert found("mixed_alphabets", "warning", captions="Merkatо knew first, with a Cyrillic o.")


@pytest.mark.req("A4.2")
@pytest.mark.parametrize(
    "text",
    [
        "This tea cures cancer in weeks.",
        "Our miracle cure is here at last.",
        "The method is 100% safe for everyone.",
        "Guaranteed returns for every reader.",
        "A risk-free investment for you.",
        "You can't lose money with this one.",
        "Double your savings with this trick.",
    ],
)
def test_absolute_claims_about_health_and_money_are_errors(text: str) -> None:
    assert found("misinformation", "error", captions=text)


@pytest.mark.parametrize(
    "text", ["The festival cures boredom, they say.", "Nothing here is guaranteed to last."]
)
def test_ordinary_sentences_are_not_claims(text: str) -> None:
    assert found("misinformation", "error", captions=text) == []


@pytest.mark.req("K6")
def test_a_number_that_the_trend_does_not_contain_is_a_warning() -> None:
    text = "Merkato again.\nCounted: 5,000 likes and 42 hats in Merkato."
    source = trend().source_text()
    [issue] = found("misinformation", captions=text, source_text=source)
    assert (issue.severity, issue.message[:3]) == ("warning", "42 ")


@pytest.mark.req("K6", "A4.2")
@pytest.mark.parametrize(
    "headline",
    [
        "Merkato sold 42 hats in a week",
        "Merkato opens again on Friday, they say",
        "The market is back, says Almaz Bekele",
        "Merkato will reopen in March 2031",
    ],
)
@pytest.mark.parametrize("field", ["captions", "twitter", "youtube"])
def test_a_headline_with_what_the_sources_do_not_contain_is_an_error(
    headline: str, field: str
) -> None:
    variants = {
        "twitter": {"text": f"{headline}\nMore below."},
        "youtube": {"title": headline, "description": "Merkato"},
    }
    changes: dict[str, Any] = (
        {"captions": f"{headline}\nMore of it below."}
        if field == "captions"
        else {"platform_variants": {field: variants[field]}}
    )
    source = "Merkato: Addis street style is back"
    assert found("misinformation", "error", source_text=source, **changes)
    assert not found("misinformation", source_text=f"{source}\n{headline}", **changes)


def test_without_the_trend_a_number_is_listed_as_unchecked() -> None:
    [issue] = found("misinformation", captions="There are 42 hats in Merkato today.")
    assert (issue.severity, "could not be checked" in issue.message) == ("info", True)


def test_numbers_of_structure_and_addresses_are_not_claims() -> None:
    script = (
        "[0:00-0:03] Hook: Merkato knew first.\nSlide 2: See https://example.com/2024/11 for it."
    )
    assert found("misinformation", script=script, source_text="Merkato") == []


@pytest.mark.req("K6")
def test_a_quotation_and_a_name_that_the_trend_does_not_contain_are_listed() -> None:
    captions = "Merkato.\n“We invented style,” said our friend Almaz Bekele today."
    issues = found("misinformation", captions=captions, source_text="Merkato")
    assert [issue.severity for issue in issues] == ["warning", "info"]
    assert "Almaz Bekele" in issues[1].message


@pytest.mark.req("A4.2")
@pytest.mark.parametrize(
    ("text", "severity"),
    [
        ("“" + "word " * 26 + "”", "error"),
        ("Photo © somebody else entirely", "warning"),
        ("Text (c) 2024 somebody else", "warning"),
        ("All rights reserved by them", "warning"),
        ("Kemis™ is what we wear today", "warning"),
        ("♪ walking through the market ♪", "warning"),
        ("[Chorus] walking through the market", "warning"),
    ],
)
def test_signs_of_other_peoples_work_are_found(text: str, severity: str) -> None:
    assert found("copyright", severity, captions=text)


@pytest.mark.req("A4.2")
def test_without_a_variant_captions_and_hashtags_must_fit_on_x() -> None:
    long = {"captions": "word " * 60, "platform_variants": None}
    assert found("platform_compliance", "error", platforms=["twitter"], **long)
    assert found("platform_compliance", captions="word " * 60, platforms=["twitter"]) == []


@pytest.mark.parametrize("platform", ["tiktok", "instagram", "youtube"])
def test_platforms_of_pictures_need_media(platform: str) -> None:
    options: dict[str, Any] = {"media_urls": [], "media_metadata": None}
    assert found("platform_compliance", "error", platforms=[platform], **options)
    assert found("platform_compliance", platforms=["twitter"], **options) == []


def test_youtube_needs_a_video() -> None:
    assert found("platform_compliance", "error", platforms=["youtube"])


def test_engagement_bait_is_a_warning() -> None:
    assert found("platform_compliance", "warning", captions="Merkato first, follow for follow!")


def test_a_package_without_media_says_so() -> None:
    [issue] = found("media_missing", media_urls=[], media_metadata=None)
    assert issue.severity == "warning"
    assert found("media_missing") == []


@pytest.mark.parametrize("text", ["A cheap look at Merkato", "A CHEAP look", "A ch3ap look here"])
def test_a_forbidden_word_is_an_error(text: str) -> None:
    assert found("persona", "error", captions=text.ljust(20), persona=persona())
    assert found("persona", captions="A cheapskate at Merkato", persona=persona()) == []


def test_a_plain_number_is_never_read_as_a_word() -> None:
    quiet = persona(vocabulary__forbidden_words=["AI"])
    assert found("persona", captions="At 0:41 the market opens.", persona=quiet) == []
    assert found("persona", captions="At noon the A1 market opens.", persona=quiet)


def test_a_forbidden_association_is_an_error() -> None:
    strict = persona(brand_guidelines__forbidden_associations=["Zero Waste"])
    assert found("persona", "error", persona=strict)


def test_a_missing_disclaimer_is_an_error_of_the_post_it_is_missing_from() -> None:
    careful = persona(brand_guidelines__required_disclaimers=["Paid  partnership"])
    [issue] = found("persona", "error", persona=careful)
    assert issue.field == "platform_variants.twitter.text"
    text = "Merkato knew first. Paid partnership."
    assert found("persona", platform_variants={"twitter": {"text": text}}, persona=careful) == []


def test_the_tone_forbids_slang_shouting_and_emoji() -> None:
    stern = persona(voice_tone="formal", content_style__emoji_usage="none")
    assert found("persona", "warning", captions="Merkato is gonna win, we think.", persona=stern)
    assert found("persona", "warning", captions="Merkato knew it first!!! Really.", persona=stern)
    assert found("persona", "warning", captions="Merkato knew it first 🎉 Really.", persona=stern)
    assert found("persona", persona=stern) == []


@pytest.mark.req("A4.2")
@pytest.mark.parametrize(
    ("switch", "rule"),
    [
        ("offensive_language", "offensive_language"),
        ("misinformation", "misinformation"),
        ("copyright", "copyright"),
        ("platform_compliance", "platform_compliance"),
    ],
)
def test_each_family_can_be_switched_off_alone(switch: str, rule: str) -> None:
    bad = "What shit, it cures cancer. All rights reserved. Follow for follow."
    families = set(vars(Checks()))
    left = {i.rule for i in validate(package(captions=bad), checks=Checks(**{switch: False}))}
    assert found(rule, captions=bad)
    assert left & families == families - {rule}


def test_the_same_finding_in_several_fields_counts_once() -> None:
    bad = "What shit this outfit is, honestly, from head to toe, all of it."
    assert len(found("offensive_language", captions=bad, script=bad)) == 1


@pytest.mark.req("A4.3")
@pytest.mark.parametrize(
    ("errors", "warnings", "given", "expected"),
    [(0, 0, 0.86, 0.86), (1, 0, 0.95, 0.9), (1, 2, 0.95, 0.86), (0, 1, 0.5, 0.5), (11, 0, 0.9, 0)],
)
def test_confidence_is_the_lesser_of_the_package_and_what_the_issues_leave(
    errors: int, warnings: int, given: float, expected: float
) -> None:
    def issue(severity: Any) -> Issue:
        return Issue(rule="r", severity=severity, message="m", field="captions")

    issues = [issue("error")] * errors + [issue("warning")] * warnings + [issue("info")]
    assert confidence(given, issues) == expected


@pytest.mark.parametrize(
    ("text", "subjects"),
    [
        ("The senator wants voters to decide", {"politics"}),
        ("New vaccines and mental health", {"health"}),
        ("Bitcoin and interest rates", {"finance"}),
        ("The court convicted two men", {"legal"}),
        ("Election lawsuit", {"politics", "legal"}),
        ("Addis street style is back at the market", set()),
        ("", set()),
    ],
)
def test_sensitive_subjects_are_named(text: str, subjects: set[str]) -> None:
    assert sensitive_topics(text) == subjects


@pytest.mark.req("A4.2")
def test_a_sensitive_subject_is_named_in_the_verdict_and_costs_nothing() -> None:
    [issue] = found("sensitive_topic", captions="The election is the talk of the market today.")
    assert (issue.severity, issue.message.split(";")[0]) == ("info", "touches politics")


def test_a_slide_longer_than_a_caption_is_refused_and_never_read_to_its_end() -> None:
    variants = {"instagram": {"caption": "Merkato", "carousel_items": ["x" * 5_000_000]}}
    assert found("platform_compliance", "error", platform_variants=variants)
