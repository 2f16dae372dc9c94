"""Offensive language."""

from collections.abc import Iterator

from content.schemas import ContentPackage
from content.validation.issue import Issue, Severity, texts
from content.validation.match import Found, find_words
from content.wordlists import sections

CAN_SEE = (
    "words and phrases of content/data/offensive.txt, in any case",
    "the same words with accents, look-alike letters, digits for letters or invisible characters",
)
CANNOT_SEE = (
    "insults without a listed word, and irony",
    "letters pulled apart (c h e a p)",
    "other languages than English, and text in pictures",
    "whether a word attacks or is quoted: both are found",
)


def offensive_words(text: str) -> list[tuple[Severity, Found]]:
    """Listed words of the text with their severity; errors first."""
    lists = sections("offensive")
    bad: list[tuple[Severity, Found]] = [("error", f) for f in find_words(text, lists["error"])]
    return bad + [("warning", found) for found in find_words(text, lists["warning"])]


def check(package: ContentPackage) -> Iterator[Issue]:
    """Offensive words of the package."""
    for field, text in texts(package):
        for severity, found in offensive_words(text):
            yield Issue(
                rule="offensive_language",
                severity=severity,
                message=f'"{found.word}" is offensive; say it without the word',
                field=field,
                start=found.start,
                end=found.end,
            )
