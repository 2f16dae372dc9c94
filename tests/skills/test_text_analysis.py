"""Counting that asks no dictionary: every script, every sign."""

import pytest

from skills.skill_text_analysis.counting import count_sentences, count_words, reading_seconds


@pytest.mark.parametrize(
    ("text", "words", "sentences"),
    [
        ("", 0, 0),
        (" \n\t", 0, 0),
        ("...?!", 0, 0),
        ("no end", 2, 1),
        ("It's a well-known 3.5 % rule.", 6, 1),
        ("Wait... what?! Yes.", 3, 3),
        ('He said "No." Then he left.', 6, 2),
        ("cafe\u0301 e\u0301te\u0301", 2, 1),
        ("你好。世界！", 4, 2),
        ("ሰላም ለዓለም። እንዴት ነህ?", 4, 2),
        ("नमस्ते दुनिया। कैसे हो?", 4, 2),
        ("السلام عليكم. كيف حالك؟", 4, 2),
        ("Visit example.com now", 4, 1),
    ],
)
@pytest.mark.req("I4")
def test_words_and_sentences_of_every_script(text: str, words: int, sentences: int) -> None:
    assert (count_words(text), count_sentences(text)) == (words, sentences)


@pytest.mark.parametrize(("words", "seconds"), [(0, 0), (1, 1), (200, 60), (201, 61)])
def test_reading_time_is_rounded_up(words: int, seconds: int) -> None:
    assert reading_seconds(words, 200) == seconds
