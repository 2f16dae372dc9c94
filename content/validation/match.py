"""Finding words in text that tries to hide them: accents, look-alike letters, digits for letters.

It does not see letters pulled apart ("c h e a p"), pictures of words, or a word in translation.
"""

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from content.sources.clean import hidden_characters

# Cyrillic, Greek and other letters that look like Latin ones: our own short choice.
_LOOKALIKES = str.maketrans(
    "абвгеёзікмнорстухјѕԁԛԝցһոӏαβεηικμνορτυχωɑɡıⅼ",
    "a6breeeikmhopctyxjsdqwghnlabenikuvoptuxwagil",
)
_LEET = {"0": "o", "3": "e", "4": "a", "5": "s", "7": "t", "8": "b", "@": "a", "$": "s"}
_LEET_I = str.maketrans({**_LEET, "1": "i", "!": "i"})
_LEET_L = str.maketrans({**_LEET, "1": "l", "!": "i"})


@dataclass(frozen=True)
class Found:
    """A word of a list in a text: the word as listed, and where it stands."""

    word: str
    start: int
    end: int


def without_lookalikes(text: str) -> str:
    """The text in lower case, letters that only look like Latin ones replaced by those."""
    return text.casefold().translate(_LOOKALIKES)


def _folded(text: str) -> tuple[str, list[int]]:
    """The text in plain lower-case letters, and for each letter its place in the original."""
    hidden = set(hidden_characters(text))
    letters: list[str] = []
    places: list[int] = []
    for at, char in enumerate(text):
        if at in hidden:
            continue
        plain = unicodedata.normalize("NFKD", char).casefold()
        for letter in plain:
            if not unicodedata.combining(letter) and letter not in "\u200c\u200d\ufe0f":
                letters.append(letter)
                places.append(at)
    return "".join(letters), places


_TOKEN = re.compile(r"[\w@$!]+")


def _unleet(text: str, table: dict[int, str]) -> str:
    """Digits read as letters, but only beside letters: 41 is a number, 4I is not."""

    def read(token: re.Match[str]) -> str:
        word = token.group()
        return word.translate(table) if any(map(str.isalpha, word)) else word

    return _TOKEN.sub(read, text)


@lru_cache(maxsize=256)
def _readings(text: str) -> tuple[tuple[str, ...], list[int]]:
    """The ways a text can be read: as it is, with look-alikes, with digits as letters."""
    plain, places = _folded(text)
    alike = plain.translate(_LOOKALIKES)
    ways = dict.fromkeys([plain, alike, _unleet(alike, _LEET_I), _unleet(alike, _LEET_L)])
    return tuple(ways), places


@lru_cache(maxsize=4096)
def _pattern(word: str) -> re.Pattern[str] | None:
    parts = _folded(word)[0].split()
    if not parts:
        return None
    return re.compile(r"(?<!\w)" + r"\W+".join(map(re.escape, parts)) + r"(?!\w)")


def find_words(text: str, listed: Iterable[str]) -> list[Found]:
    """Every listed word or phrase in the text, whole words in any case, each place once."""
    readings, places = _readings(text)
    found: dict[tuple[str, int], Found] = {}
    for word in listed:
        pattern = _pattern(word)
        for reading in readings if pattern else ():
            for hit in pattern.finditer(reading) if pattern else ():
                start, end = places[hit.start()], places[hit.end() - 1] + 1
                found.setdefault((word, start), Found(word, start, end))
    return sorted(found.values(), key=lambda item: (item.start, item.end))


def has_word(text: str, listed: Iterable[str]) -> bool:
    """Whether any listed word or phrase stands in the text."""
    return bool(find_words(text, listed))
