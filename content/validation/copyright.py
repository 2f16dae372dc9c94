"""Signs that text belongs to somebody else."""

import re
from collections.abc import Iterator

from content.schemas import ContentPackage
from content.validation.issue import Issue, Severity, texts

CAN_SEE = (
    "quotations of more than 25 words",
    "marks of song lyrics, copyright notices, trademark signs",
)
CANNOT_SEE = (
    "copied text without quotation marks",
    "brand names without a sign",
    "pictures, music or video",
)
LONGEST_QUOTE = 25
_QUOTE = re.compile(r"“([^“”]+)”|\"([^\"]+)\"|«([^«»]+)»")
_SIGNS: tuple[tuple[Severity, re.Pattern[str], str], ...] = (
    ("warning", re.compile(r"©|\(c\)\s*(?:19|20)\d\d|\ball rights reserved\b", re.I),
     "a copyright notice; use own words or show the licence"),
    ("warning", re.compile(r"[™®]"), "a trademark sign; check that the use is allowed"),
    ("warning", re.compile(r"[♪♫]|\blyrics\s*:|\[(?:verse|chorus|bridge)[^\]]*\]", re.I),
     "a mark of song lyrics; lyrics need a licence"),
)  # fmt: skip


def check(package: ContentPackage) -> Iterator[Issue]:
    """Signs of other people's work in the package."""
    for field, text in texts(package):
        for severity, pattern, why in _SIGNS:
            for hit in pattern.finditer(text):
                yield _issue(severity, f'"{hit.group()}" is {why}', field, hit)
        for hit in _QUOTE.finditer(text):
            count = len(hit.group().split())
            if count > LONGEST_QUOTE:
                message = f"a quotation of {count} words; shorten it to {LONGEST_QUOTE}"
                yield _issue("error", message, field, hit)


def _issue(severity: Severity, message: str, field: str, hit: re.Match[str]) -> Issue:
    return Issue(
        rule="copyright",
        severity=severity,
        message=message,
        field=field,
        start=hit.start(),
        end=hit.end(),
    )
