"""Text from outside, made harmless: no markup, no hidden characters, one line."""

import html
import re
import unicodedata

_TAG = re.compile(r"<[^>]{0,500}>")
_JOINERS = "\u200c\u200d"  # needed inside emoji and some scripts, hidden anywhere else
_JOINED_SCRIPTS = ("ARABIC", "DEVANAGARI", "BENGALI", "GURMUKHI", "GUJARATI", "ORIYA", "TAMIL",
                   "TELUGU", "KANNADA", "MALAYALAM", "SINHALA", "SYRIAC", "NKO", "MONGOLIAN")  # fmt: skip
_BLANKS = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2800\u3164\uffa0")
"""Letters and marks that draw nothing although Unicode does not call them format characters."""
_FLAG = re.compile("\U0001f3f4[\U000e0030-\U000e0039\U000e0061-\U000e007a]{3,6}\U000e007f")
"""A flag of a region is spelt in tag characters: the only place where they are no smuggled text."""


def hidden_characters(text: str) -> list[int]:
    """Positions of characters a reader cannot see: controls, bidi marks, zero widths, tags, blanks."""
    if text.isascii() and text.isprintable():
        return []
    flags = {at for flag in _FLAG.finditer(text) for at in range(*flag.span())}
    return [at for at in range(len(text)) if at not in flags and _is_hidden(text, at)]


def _is_hidden(text: str, at: int) -> bool:
    char = text[at]
    if char in "\n\t" or (char == "\r" and text[at + 1 : at + 2] == "\n"):
        return False
    if char in _JOINERS:
        return not _joins(text, at)
    if _is_selector(char):
        return at == 0 or not _takes_selector(text[at - 1], char)
    return unicodedata.category(char) in ("Cc", "Cf", "Co", "Cn", "Cs") or char in _BLANKS


def _is_selector(char: str) -> bool:
    """A variation selector: invisible, and a run of them can spell a message."""
    return "\ufe00" <= char <= "\ufe0f" or "\U000e0100" <= char <= "\U000e01ef"


def _takes_selector(before: str, selector: str) -> bool:
    """Emoji, symbols, digits of keycaps and letters beyond ASCII have variants; one each."""
    if before.isspace() or _is_selector(before):
        return False
    if selector >= "\U000e0100":
        return unicodedata.name(before, "").startswith("CJK")
    return not (before.isascii() and before.isalpha())


def _joins(text: str, at: int) -> bool:
    """A joiner is legitimate between two emoji, and between letters of scripts that need it."""
    around = text[at - 1 : at] + text[at + 1 : at + 2]
    return len(around) == 2 and (
        all(unicodedata.category(char) in ("So", "Sk", "Mn", "Sm") for char in around)
        or all(unicodedata.name(char, "").startswith(_JOINED_SCRIPTS) for char in around)
    )


def plain_line(text: str, limit: int = 500) -> str:
    """One line without markup, entities and hidden characters, NFC, cut at a word."""
    text = _TAG.sub(" ", html.unescape(_TAG.sub(" ", text)))
    text = unicodedata.normalize("NFC", text).replace("\t", " ").replace("\n", " ")
    gone = set(hidden_characters(text))
    text = "".join(char for at, char in enumerate(text) if at not in gone)
    return cut(" ".join(text.split()), limit)


def cut(text: str, limit: int) -> str:
    """At most `limit` characters, ended at a word with an ellipsis where something was cut."""
    if len(text) <= limit:
        return text
    head = text[: limit - 1]
    return (head.rsplit(" ", 1)[0] if " " in head else head).rstrip(" ,;:-") + "…"
