"""How the rules read a text: its words, what it is about, and marks that do not belong into it."""

import re
from collections.abc import Iterable

from content.sources.clean import hidden_characters
from content.themes import fold, stem, words
from content.wordlists import sections, word_set

_EMPTY = word_set("empty", "words") | word_set("studio", "grammar")
_WORD = re.compile(r"[^\W_]+(?:[-'’.,:][^\W_]+)*")
_MARKDOWN = (
    ("a code fence", re.compile(r"```|~~~")),
    ("code marks", re.compile(r"`[^`\n]+`")),
    ("a heading", re.compile(r"^\s{0,3}#{1,6}\s", re.M)),
    ("a list", re.compile(r"^\s{0,3}(?:[-*+•]|\d{1,3}[.)])\s", re.M)),
    ("a quotation mark of Markdown", re.compile(r"^\s{0,3}>\s", re.M)),
    (
        "bold or italic marks",
        re.compile(r"\*{1,3}[^\s*][^*\n]*\*{1,3}|(?<!\w)_{1,2}[^\s_][^_\n]*_{1,2}(?!\w)"),
    ),
    ("a link of Markdown", re.compile(r"!?\[[^\]\n]*\]\([^)\n]*\)")),
    ("a table", re.compile(r"^\s*\|.*\|\s*$", re.M)),
    ("an HTML tag", re.compile(r"</?[a-zA-Z][^>\n]*>")),
)


def tokens(text: str) -> list[str]:
    """The words as people count them: a hyphenated or shortened one is one."""
    return _WORD.findall(text)


def content_stems(*texts: str | None) -> set[str]:
    """Stems of the words that say what the texts are about; an empty set where none does."""
    found = {word for text in texts if text for word in words(text)}
    return {stem(word) for word in found if _tells(word)}


def _tells(word: str) -> bool:
    low = fold(word).replace("’", "'")
    return low not in _EMPTY and (len(low) > 2 or not low.isascii() or word.isupper())


def marks(text: str) -> list[str]:
    """The kinds of Markdown, markup and invisible characters in the text."""
    hidden = ["an invisible character"] if hidden_characters(text) else []
    return hidden + [name for name, pattern in _MARKDOWN if pattern.search(text)]


def stems(text: str) -> set[str]:
    """Stems of all words."""
    return {stem(word) for word in words(text)}


def begins_with(text: str, phrases: Iterable[str]) -> str:
    """The first of the phrases that the text begins with, word for word; empty if none."""
    low = f"{' '.join(fold(text).replace('’', chr(39)).split())} "
    for phrase in phrases:
        if re.match(rf"{re.escape(phrase)}(?!\w)", low):
            return phrase
    return ""


def phrases(section: str) -> tuple[str, ...]:
    """The phrases of a section of data/studio.txt."""
    return sections("studio")[section]
