"""Hidden characters and words of mixed alphabets."""

import re
import unicodedata
from collections.abc import Iterator

from content.schemas import ContentPackage
from content.sources.clean import hidden_characters
from content.validation.issue import Issue, texts

CAN_SEE = (
    "zero-width and other format characters, bidirectional controls, tag characters, runs of "
    "variation selectors, blank letters, control and unassigned characters, each with its place",
    "words that mix letters of different alphabets",
)
CANNOT_SEE = (
    "a whole word in look-alike letters of one other alphabet, except in an address",
    "messages hidden in the choice of words, spaces or line breaks, and in media",
)
_WORD = re.compile(r"[^\W\d_]{2,}")
_ALPHABETS = {"LATIN", "CYRILLIC", "GREEK", "ARMENIAN", "CHEROKEE"}


def check(package: ContentPackage) -> Iterator[Issue]:
    """Hidden characters (errors) and words of mixed alphabets (warnings); always on."""
    for field, text in texts(package):
        yield from _hidden(field, text)
        yield from _mixed(field, text)


def _hidden(field: str, text: str) -> Iterator[Issue]:
    places: dict[str, list[int]] = {}
    for at in hidden_characters(text):
        places.setdefault(text[at], []).append(at)
    for char, found in places.items():
        often = f" {len(found)} times, first" if len(found) > 1 else ""
        yield Issue(
            rule="hidden_characters",
            severity="error",
            message=f"{field} contains the invisible character {code_point(char)}{often} "
            f"at position {found[0]}; remove it",
            field=field,
            start=found[0],
            end=found[0] + 1,
        )


def code_point(char: str) -> str:
    """`U+200B ZERO WIDTH SPACE`."""
    return f"U+{ord(char):04X} {unicodedata.name(char, '')}".rstrip()


def _mixed(field: str, text: str) -> Iterator[Issue]:
    for word in () if text.isascii() else _WORD.finditer(text):
        if len(alphabets(word.group())) > 1:
            yield Issue(
                rule="mixed_alphabets",
                severity="warning",
                message=f'"{word.group()}" mixes letters of different alphabets; retype it',
                field=field,
                start=word.start(),
                end=word.end(),
            )


def alphabets(word: str) -> set[str]:
    """The alphabets with look-alike letters that the word draws from."""
    names = {unicodedata.name(char, "").split(" ")[0] for char in word}
    return names & _ALPHABETS
