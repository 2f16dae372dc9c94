"""Themes and places: which words belong together (data/themes.txt), and words cut to stems."""

import re
import unicodedata
from functools import cache

from snowballstemmer import stemmer

from content.wordlists import sections

PLACES = {"ethiopia", "africa", "europe", "america", "asia", "latam", "mena"}
REGION_THEME = {
    "AFRICA": "africa", "EU": "europe", "US": "america", "APAC": "asia", "LATAM": "latam",
    "MENA": "mena",
}  # fmt: skip
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|_")
_WORD = re.compile(r"[^\W_]+(?:[-'’][^\W_]+)*")
_english = stemmer("english")


@cache
def _stem_folded(word: str) -> str:
    return str(_english.stemWord(word))


def fold(text: str) -> str:
    """Lower case without accents, so that "Café" and "cafe" are one word."""
    apart = unicodedata.normalize("NFKD", text.casefold())
    return "".join(char for char in apart if not unicodedata.combining(char))


def words(text: str) -> list[str]:
    """The words of a text as written; hashtags in camel case come apart."""
    return _WORD.findall(_CAMEL.sub(" ", text))


def stem(word: str) -> str:
    """The stem of a word (Snowball, English) after folding; a possessive s is dropped."""
    return _stem_folded(re.sub(r"['’]s$", "", fold(word)))


def _read() -> tuple[dict[str, set[str]], dict[str, set[str]]]:
    heads: dict[str, set[str]] = {}
    members: dict[str, set[str]] = {}
    for entry in re.sub(r"\n\s+", " ", "\n".join(sections("themes")["themes"])).splitlines():
        names = entry.split(":")[0]
        theme = names.split()[0]
        for word in names.split():
            heads.setdefault(stem(word), set()).add(theme)
        for word in entry.replace(":", "").split():
            members.setdefault(stem(word), set()).add(theme)
    return heads, members


HEADS, MEMBERS = _read()
"""Stem -> themes it names, and stem -> themes it belongs to."""
