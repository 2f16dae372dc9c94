"""Where sentences end: abbreviations, initials, decimals, ellipses and quotations are no ends."""

import re

from content.wordlists import word_set

_END = re.compile(r"[.!?…。！？።]+[\"'”’»)\]]*(?=\s|$)|(?<=[。！？።])|\n\s*\n")
_TITLES = word_set("studio", "titles")
_INSIDE = word_set("studio", "inside")
_OFTEN_LAST = word_set("studio", "often_last")
_STARTERS = word_set("studio", "starters")
_INITIALS = re.compile(r"(?:[^\W\d_]\.)*[^\W\d_]")


def sentences(text: str) -> list[str]:
    """The sentences of a text, trimmed, in order; what has no end mark is one of its own."""
    found, start = [], 0
    for hit in _END.finditer(text):
        if hit.end() > start and _ends(text, start, hit):
            found.append(text[start : hit.end()])
            start = hit.end()
    return [piece.strip() for piece in [*found, text[start:]] if piece.strip(" \t\n\"'”’»)]")]


def _ends(text: str, start: int, hit: re.Match[str]) -> bool:
    """Whether a sentence is over at this mark."""
    rest = text[hit.end() :].lstrip()
    mark = hit.group().strip()
    if not mark or not rest or mark[0] in "。！？።":
        return True
    following = rest.lstrip("\"'“‘«([")
    if following[:1].islower():
        return mark[0] in "!?" and len(mark) == len(mark.rstrip("\"'”’»)]"))
    return (
        mark[0] != "."
        or mark.startswith("..")
        or not _abbreviated(text[start : hit.start()], following)
    )


def _abbreviated(before: str, following: str) -> bool:
    """Whether the full stop after `before` belongs to a short form and the sentence goes on."""
    pieces = before.split()
    last = pieces[-1].lstrip("\"'“‘«([") if pieces else ""
    low = last.casefold()
    if low in _TITLES | _INSIDE:
        return low != "no" or following[:1].isdigit()
    next_word = re.split(r"\W", following, maxsplit=1)[0]
    if low in _OFTEN_LAST:
        return not next_word[:1].isupper()
    of_a_name = "." in last or len(pieces) == 1 or pieces[-2][:1].isupper()
    if _INITIALS.fullmatch(last) and last != "I" and of_a_name:
        return next_word.casefold() not in _STARTERS
    return False
