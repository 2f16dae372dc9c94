"""Headlines taken apart."""

import pytest

from content.llm.topic import analyse


@pytest.mark.parametrize(
    ("headline", "line", "it"),
    [
        ("Addis street style is back", "Addis street style is back.", "Addis street style"),
        ("Street style is back", "Street style is back.", "street style"),
        ("Earthquake hits town", "Earthquake hits town.", "this story"),
        ("Bitcoin passes a high!!!", "Bitcoin passes a high.", "Bitcoin"),
        ("Is street style back?", "Is street style back?", "this story"),
        ("#SlowMorning", "Slow Morning.", "Slow Morning"),
        ("BREAKING: MARKETS FALL", "Markets fall.", "this story"),
        ("Robots fold laundry | Example News", "Robots fold laundry.", "this story"),
        ("The old mill closes", "The old mill closes.", "the old mill"),
        ("<b>Choirs</b> return", "Choirs return.", "this story"),
        ("https://example.com/a", "Something new.", "this story"),
    ],
)
def test_a_headline_becomes_a_sentence_and_a_noun_phrase(headline: str, line: str, it: str) -> None:
    topic = analyse(headline)
    assert (topic.line, topic.it) == (line, it)


def test_a_long_headline_keeps_its_first_sentence() -> None:
    topic = analyse("The choir is back. " + "And there is much more to say about it. " * 5)
    assert topic.line == "The choir is back."


def test_names_for_hashtags_begin_with_the_subject() -> None:
    assert analyse("Addis street style is back").names[:2] == ("AddisStreetStyle", "Addis")
