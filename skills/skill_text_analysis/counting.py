"""Words and sentences of a text in any language, by the properties of its characters alone.

A word is a run of letters, digits and marks, with apostrophes and hyphens inside; in scripts that
put no space between words each character counts as one. A sentence ends with a full stop, question
or exclamation mark of any script; text after the last one is a sentence too. An abbreviation's
full stop counts as an end when a space follows: no dictionary is asked.
"""

import re
import unicodedata
from math import ceil

_UNSPACED = r"\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_WORD = re.compile(rf"[{_UNSPACED}]|(?:(?![{_UNSPACED}])\w)+(?:['’\-](?:(?![{_UNSPACED}])\w)+)*")
_END = re.compile(r"[.!?…؟۔։]+[\"'”’»)\]]*(?=\s|$)|[。！？｡।॥።፧፨]+[」』”’»)\]]*")


def count_words(text: str) -> int:
    """How many words; a combining mark belongs to the letter before it."""
    return len(_WORD.findall(_composed(text)))


def count_sentences(text: str) -> int:
    """How many sentences that hold a word."""
    return sum(bool(_WORD.search(part)) for part in _END.split(_composed(text)))


def reading_seconds(words: int, words_per_minute: int) -> int:
    """Whole seconds that reading takes, rounded up."""
    return ceil(words * 60 / words_per_minute)


def _composed(text: str) -> str:
    """NFC without the marks that are left over, which are no letters to a regular expression."""
    composed = unicodedata.normalize("NFC", text)
    return "".join(
        each for each in composed if unicodedata.category(each) not in ("Mn", "Mc", "Cf")
    )
