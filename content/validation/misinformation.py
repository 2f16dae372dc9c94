"""Claims that need a source."""

import re
from collections.abc import Iterator

from content.layout import LABEL
from content.schemas import ContentPackage
from content.themes import fold, words
from content.validation.issue import Issue, Severity, texts

CAN_SEE = (
    "absolute promises about health and money, and phrases of hoaxes",
    "numbers, dates, quotations and names that the trend does not contain: numbers, dates and names "
    "are errors in a headline (a title, or the first line of what is posted), else to be checked",
    "numbers that could not be checked, where the trend is not at hand: they are listed",
)
CANNOT_SEE = (
    "whether a statement is true",
    "numbers in words, single names, and claims made by a picture",
    "other languages than English",
)
_ILLNESS = r"(?:cancer|covid|diabetes|alzheimer|hiv|aids|autism|depression|disease|arthritis)\w*"
_CLAIMS: tuple[tuple[Severity, str, str], ...] = (
    ("error", rf"\b(?:cures?|heals?|reverses?|prevents?)\b[^.\n]{{0,40}}\b{_ILLNESS}", "health"),
    ("error", r"\b(?:miracle|instant|secret|natural) cures?\b", "health"),
    ("error", r"\bvaccines? (?:cause|causes|kill|kills)\b", "health"),
    ("error", r"\b100\s?(?:%|percent) (?:safe|effective|guaranteed|proven)\b", "certainty"),
    ("error", r"\b(?:clinically|scientifically) proven\b", "certainty"),
    ("error", r"\b(?:no|zero|without(?: any)?) side[- ]effects\b", "health"),
    ("error", r"\bguaranteed? (?:\w+ )?(?:returns?|profits?|income|gains?|results?)\b", "money"),
    ("error", r"\brisk[- ]free (?:investment|returns?|profits?|money|income)\b", "money"),
    ("error", r"\b(?:can(?:not|['’]t)|never) lose\b(?: \w+)? ?(?:money)?", "money"),
    ("error", r"\b(?:double|triple) your (?:money|investment|savings|crypto)\b", "money"),
    ("error", r"\bget rich quick(?:ly)?\b", "money"),
    ("warning", r"\b(?:they|doctors|banks|media) (?:do not|don['’]t|won['’]t) want you to know\b",
     "hoax"),
    ("warning", r"\bshare (?:this )?before (?:it is|it['’]s|it gets|they) \w+", "hoax"),
    ("warning", r"\b(?:everyone|everybody|nobody|no one) (?:knows|believes|agrees)\b", "certainty"),
    ("warning", r"\b(?:studies|experts|scientists|doctors) (?:show|say|agree|prove|confirm)\b",
     "unnamed source"),
)  # fmt: skip
_COMPILED = [(severity, re.compile(text, re.I), kind) for severity, text, kind in _CLAIMS]
_NUMBER = re.compile(r"(?<![\w#])\d++(?:[.,]\d++)*+(?!\w*+[@/])")
_ADDRESS = re.compile(r"https?://\S+")
_QUOTE = re.compile(r"“([^“”]{3,400})”|\"([^\"\n]{3,400})\"")
_DATE = re.compile(
    r"\b(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day\b"
    r"|\b(?:January|February|March|April|May|June|July|August|September|October|November|December)"
    r"(?= \d)|(?<=\d )(?:January|February|March|April|May|June|July|August|September|October|"
    r"November|December)\b"
)
_NAME = re.compile(r"(?<=[a-z,] )[A-Z][a-z]+(?: [A-Z][a-z]+)+")


def check(package: ContentPackage, source_text: str | None, own_text: str = "") -> Iterator[Issue]:
    """Claims of the package; own_text is the persona's own wording, which needs no source."""
    for field, text in texts(package):
        yield from _claims(field, text)
        body = _blanked(text)
        yield from _numbers(field, body, source_text, own_text)
        if source_text is not None:
            yield from _unsourced(field, body, f"{source_text}\n{own_text}")


def _blanked(text: str) -> str:
    """The text with addresses and structural labels blanked out, every place kept."""
    for pattern in (LABEL, _ADDRESS):
        text = pattern.sub(lambda hit: " " * len(hit.group()), text)
    return text


def _issue(severity: Severity, message: str, field: str, start: int, end: int) -> Issue:
    return Issue(
        rule="misinformation", severity=severity, message=message, field=field, start=start, end=end
    )


def _claims(field: str, text: str) -> Iterator[Issue]:
    for severity, pattern, kind in _COMPILED:
        for hit in pattern.finditer(text):
            message = f'"{hit.group()}" is a claim ({kind}) that nothing supports; take it out'
            yield _issue(severity, message, field, *hit.span())


def _digits(text: str) -> set[str]:
    return {re.sub(r"[.,]", "", number) for number in re.findall(r"\d+(?:[.,]\d+)*", text)}


def _numbers(field: str, text: str, source: str | None, own: str) -> Iterator[Issue]:
    known = _digits(f"{source or ''} {own}")
    headline = _headline_end(field, text)
    for hit in _NUMBER.finditer(text):
        if re.sub(r"[.,]", "", hit.group()) in known:
            continue
        if source is None:
            message = f"{hit.group()} could not be checked: the trend's text is not at hand"
            yield _issue("info", message, field, *hit.span())
        else:
            message = f"{hit.group()} does not stand in the trend; give its source or take it out"
            severity: Severity = "error" if hit.start() < headline else "warning"
            yield _issue(severity, message, field, *hit.span())


def _headline_end(field: str, text: str) -> int:
    """Where the headline ends: the whole title, or the first line; a script and hashtags have none."""
    if field in ("script", "hashtags") or ".carousel_items." in field:
        return 0
    return len(text) if field.endswith(".title") else len(text.split("\n", 1)[0])


def _unsourced(field: str, text: str, source: str) -> Iterator[Issue]:
    known = fold(f"{source} {' '.join(words(source))}")
    headline = _headline_end(field, text)
    for hit in _QUOTE.finditer(text):
        if fold(hit.group(1) or hit.group(2)).rstrip(".,") not in known:
            message = f"{hit.group()[:80]} is a quotation that the trend does not contain"
            yield _issue("warning", message, field, *hit.span())
    for kind, pattern in (("name", _NAME), ("date", _DATE)):
        for hit in pattern.finditer(text):
            if fold(hit.group()) not in known:
                message = f"the {kind} {hit.group()} does not stand in the trend; check it"
                severity: Severity = "error" if hit.start() < headline else "info"
                yield _issue(severity, message, field, *hit.span())
