"""How the contracts read a text: sentences, the click thesis, generic lines, openings, sources."""

import pytest

from content.studio import contracts as c
from content.studio.rules import cold_open, generic, unaddressed, violations
from content.studio.sentences import sentences
from content.studio.sources import names_unchecked, unsupported
from content.studio.text import marks
from content.studio.thesis import problems

EXAMPLE = "Most people believe X is safe — this video shows why it quietly destroys Y."
THESIS = "Intermittent fasting quietly ruins your sleep before you notice."
RESEARCH = c.Research(
    audience_pain=["Fasting for 16 hours hurts"],
    curiosity_gaps=["Why did Maria Lopez stop in March?"],
    emotional_triggers=[],
    controversial_angles=[],
)


@pytest.mark.parametrize(
    ("text", "count"),
    [
        (EXAMPLE, 1),
        ("Dr. Smith paid 3.5 million, e.g. to Mr. X. It broke.", 2),
        ("Wait... what?", 1),
        ("“Why?” he asked. She left.", 2),
        ("He lives in the U.S. Congress voted.", 1),
        ("He moved to the U.S. It was cold.", 2),
        ("J. R. R. Tolkien wrote it.", 1),
        ("We met George W. Bush.", 1),
        ("It ends with Y. Watch it.", 2),
        ("One! Two? Three", 3),
        ("See No. 5 here.", 1),
        ("No. That is wrong.", 2),
        ("He said “Stop!” and left.", 1),
        ("It costs $4.99 at 5 p.m. today.", 1),
        ("አንድ። ሁለት።", 2),
        ("你好。再见。", 2),
        ("Visit example.com now.", 1),
        ("First line\n\nsecond line", 2),
        ("", 0),
        ("?!", 1),
    ],
)
@pytest.mark.req("K2")
def test_sentences_end_where_a_reader_ends_them(text: str, count: int) -> None:
    assert len(sentences(text)) == count


@pytest.mark.req("K2")
def test_the_example_of_the_document_is_a_click_thesis() -> None:
    assert problems(EXAMPLE) == []


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (f"{EXAMPLE} Watch it.", "exactly one sentence; it has 2"),
        ("Fasting ruins you before you notice", "end like a sentence"),
        ("This video lists what was eaten before noon.", "emotionally charged"),
        ("Everybody loves a beautiful, terrible idea.", "time or a consequence"),
        ("**Fasting** ruins you before you notice.", "bold or italic marks"),
        ("", "exactly one sentence; it has 0"),
    ],
)
@pytest.mark.req("K2")
def test_what_is_no_click_thesis_is_told_why(text: str, why: str) -> None:
    assert any(why in problem for problem in problems(text)), problems(text)


@pytest.mark.parametrize(
    ("item", "why"),
    [
        ("People want to know more about fasting.", "fits every subject"),
        ("Everything is getting more expensive.", "no word of the topic"),
        ("Fasting hurts parents at breakfast.", ""),
        ("Parents skip breakfast and feel guilty.", ""),
    ],
)
@pytest.mark.req("K1", "K2")
def test_a_line_is_generic_where_it_fits_every_subject(item: str, why: str) -> None:
    found = generic(item, "intermittent fasting", "busy parents", None)

    assert (why in found) if why else not found


@pytest.mark.parametrize(
    "script",
    [
        "Hey guys, fasting ruins sleep.",
        "In this video we talk about fasting and sleep.",
        "Picture this: you lie awake after fasting.",
        "[Music] Fasting ruins your sleep.",
        "“I could not sleep,” she said.",
        "The rain had not stopped for hours. Fasting ruins sleep.",
    ],
)
@pytest.mark.req("K2", "K3")
def test_a_script_that_begins_elsewhere_is_a_cold_open(script: str) -> None:
    assert list(cold_open(script, THESIS))


@pytest.mark.req("K3")
def test_the_thesis_counts_in_the_first_38_words_alone() -> None:
    filler = "Fasting is a word that many of us use. " + "And so it goes on for a while. " * 4

    assert list(unaddressed(f"{filler}{THESIS}", THESIS))
    assert not list(unaddressed(f"{THESIS} {filler}", THESIS))
    assert not list(cold_open(THESIS, THESIS))


@pytest.mark.parametrize(
    "text",
    [
        "```x```",
        "# Title",
        "- item",
        "1. item",
        "> said",
        "**bold**",
        "a `b`",
        "[a](b)",
        "<b>x</b>",
    ],
)
@pytest.mark.req("K4")
def test_markdown_is_found(text: str) -> None:
    assert marks(text)


@pytest.mark.parametrize(
    "text", ["3 * 4 = 12", "snake_case_name", "C# rules", "5 > 3", "-5 degrees"]
)
@pytest.mark.req("K4")
def test_plain_signs_are_no_markdown(text: str) -> None:
    assert not marks(text)


@pytest.mark.parametrize(
    ("headline", "claim"),
    [
        ("7 lies about fasting", "the number 7"),
        ("Seven lies about fasting", "the number 7"),
        ("Fasting fails on Friday", "the date Friday"),
        ("Fasting ruined John in weeks", "the name John"),
        ("Why NASA hates fasting", "the name NASA"),
        ("The Truth About Netflix", "the name Netflix"),
        ("16 hours of fasting, in March", ""),
        ("Sixteen hours that broke Maria Lopez", ""),
        ("FASTING IS A TRAP", ""),
        ("I was wrong: fasting hurts", ""),
    ],
)
@pytest.mark.req("K6", "A4")
def test_a_headline_says_no_number_date_or_name_that_its_sources_do_not(
    headline: str, claim: str
) -> None:
    sources = [THESIS, *RESEARCH.audience_pain, *RESEARCH.curiosity_gaps]

    assert unsupported(headline, sources) == ([claim] if claim else [])


@pytest.mark.req("K6")
def test_what_cannot_be_checked_is_said() -> None:
    assert names_unchecked("The Truth About Fasting") and not names_unchecked("The truth about it")


def ctr(**changes: list[str]) -> list[str]:
    ideas = [
        f"Fasting hurts {word}" for word in ("you", "us", "them", "people", "parents", "sleep")
    ]
    fields = dict.fromkeys(("hooks", "titles", "thumbnail_texts"), ideas)
    params = c.CtrInput(click_thesis=THESIS, research=RESEARCH)
    return violations(params, c.CtrOutput, {**fields, **changes})


@pytest.mark.parametrize(
    ("field", "items", "why"),
    [
        ("hooks", ["one", "two", "three", "four"], "at least 5 items"),
        ("titles", ["Fasting hurts"] * 5, "the same as an earlier one"),
        ("thumbnail_texts", ["a b c d e f g", "b", "c", "d", "e"], "has 7 words; 6 are allowed"),
        ("titles", ["Fasting at 99", "b", "c", "d", "e"], "the number 99"),
        ("hooks", ["a", "b", "c", "d", "- e"], "hooks[4] contains a list"),
        ("hooks", ["a\nb", "b", "c", "d", "e"], "more than one line"),
        ("hooks", ["!!!", "b", "c", "d", "e"], "says nothing"),
    ],
)
@pytest.mark.req("K1", "K4", "K6")
def test_each_constraint_of_ctr_is_named_where_it_is_broken(
    field: str, items: list[str], why: str
) -> None:
    assert ctr() == []

    assert any(why in broken for broken in ctr(**{field: items})), ctr(**{field: items})


@pytest.mark.parametrize(
    ("output", "holds"),
    [
        ({"result": "PASS", "failure_reason": None, "confidence": 1.0}, True),
        ({"result": "FAIL", "failure_reason": "PACING: too slow", "confidence": 0.0}, True),
        ({"result": "FAIL", "failure_reason": None, "confidence": 0.5}, False),
        ({"result": "FAIL", "failure_reason": "too slow", "confidence": 0.5}, False),
        ({"result": "PASS", "failure_reason": "PACING: no", "confidence": 0.5}, False),
        ({"result": "PASS", "failure_reason": None, "confidence": 1.01}, False),
        ({"result": "PASS", "failure_reason": None, "confidence": "0.5"}, False),
        ({"result": "PASS", "confidence": 0.5}, False),
        ({"result": "MAYBE", "failure_reason": None, "confidence": 0.5}, False),
        ({"result": "PASS", "failure_reason": None, "confidence": 0.5, "note": ""}, False),
        ("PASS", False),
        (None, False),
    ],
)
@pytest.mark.req("K1", "K4")
def test_a_verdict_says_why_it_fails_and_how_sure_it_is(output: object, holds: bool) -> None:
    params = c.EvalInput(
        click_thesis=THESIS, hook="h", title="t", thumbnail_text="t", script=THESIS
    )

    assert (violations(params, c.EvalOutput, output) == []) is holds
