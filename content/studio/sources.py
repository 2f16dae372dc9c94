"""Numbers, dates and names of a headline that its sources do not contain (A4, K6)."""

import re
from collections.abc import Iterable

from content.studio.text import tokens
from content.themes import fold, stem
from content.wordlists import word_set

CANNOT_SEE = (
    "a name in a headline whose words all begin with a capital, or that stands first in it",
    "numbers below two in words, and numbers in other languages",
    "whether a number stands for the same thing as in the source",
)
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_IN_WORDS = {
    word: str(value)
    for words, values in (
        ("two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen", range(2, 16)),
        ("sixteen seventeen eighteen nineteen", range(16, 20)),
        ("twenty thirty forty fifty sixty seventy eighty ninety", range(20, 100, 10)),
        ("hundred thousand", (100, 1000)),
        ("million billion", (10**6, 10**9)),
    )
    for word, value in zip(words.split(), values, strict=True)
}  # fmt: skip
_DATES = word_set("studio", "dates")
_KNOWN = word_set("headline", "names")


def unsupported(headline: str, sources: Iterable[str]) -> list[str]:
    """What the headline says that no source does, as `the number 7`, `the date Friday`, `the name Rome`."""
    known = _Known(sources)
    said = [f"the number {n}" for n in _numbers(headline) if n not in known.numbers]
    said += [
        f"the {_kind(word)} {word}"
        for word in _named(headline)
        if stem(word) not in known.stems and not _is_number(word)
    ]
    return list(dict.fromkeys(said))


def names_unchecked(headline: str) -> bool:
    """Whether names cannot be told from other words: all of its words begin with a capital."""
    long = [word for word in tokens(headline) if len(word) > 3]
    return len(long) > 1 and all(word[:1].isupper() for word in long)


class _Known:
    def __init__(self, sources: Iterable[str]) -> None:
        texts = list(sources)
        self.stems = {
            stem(piece) for text in texts for word in tokens(text) for piece in _parts(word)
        }
        self.numbers = {number for text in texts for number in _numbers(text)}


def _numbers(text: str) -> list[str]:
    """The numbers as digits, those in words as well."""
    digits = [n.replace(",", "").rstrip(".") for n in _NUMBER.findall(text)]
    return digits + [_IN_WORDS[p] for w in tokens(text) for p in _parts(fold(w)) if p in _IN_WORDS]


def _parts(word: str) -> list[str]:
    return [word, *word.split("-")] if "-" in word else [word]


def _is_number(word: str) -> bool:
    return fold(word) in _IN_WORDS or bool(_NUMBER.search(word))


def _kind(word: str) -> str:
    return "date" if fold(word) in _DATES else "name"


def _named(headline: str) -> list[str]:
    """The words that are names or dates for certain: a capital amid small letters, or a known one."""
    found = tokens(headline)
    titled = names_unchecked(headline) or headline.isupper()
    first = {
        match.group().lower() for match in re.finditer(r"(?:^|[.!?:…—–“\"]\s*)(\S+)", headline)
    }
    starts = {fold(token) for text in first for token in tokens(text)}
    return [
        word
        for word in found
        if (word[:1].isupper() and fold(word) in _DATES | _KNOWN)
        or (not titled and word[:1].isupper() and fold(word) not in starts and not _is_i(word))
    ]


def _is_i(word: str) -> bool:
    return re.split(r"['’]", word)[0] == "I"
