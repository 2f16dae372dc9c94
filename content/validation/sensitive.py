"""Sensitive subjects: politics, health, finance and legal."""

from collections.abc import Iterator
from functools import cache

from content.schemas import ContentPackage
from content.themes import stem, words
from content.validation.issue import Issue, texts
from content.wordlists import sections

CAN_SEE = (
    "English words and pairs of words of content/data/sensitive.txt, in any form of the word",
)
CANNOT_SEE = (
    "a subject that is meant without being named, and other languages than English",
    "whether a word is meant that way: a cure for boredom counts as health",
)
RULE = "sensitive_topic"


@cache
def _stems() -> dict[str, set[tuple[str, ...]]]:
    return {
        subject: {tuple(stem(word) for word in words(entry)) for entry in entries}
        for subject, entries in sections("sensitive").items()
    }


def sensitive_topics(text: str) -> set[str]:
    """Which of politics, health, finance and legal the text touches; such content is reviewed
    with care whatever its confidence."""
    stems = [stem(word) for word in words(text)]
    runs = {tuple(stems[at : at + size]) for size in (1, 2) for at in range(len(stems))}
    return {subject for subject, entries in _stems().items() if entries & runs}


def check(package: ContentPackage) -> Iterator[Issue]:
    """The subjects of the package, each once."""
    found: set[str] = set()
    for field, text in texts(package):
        for subject in sorted(sensitive_topics(text) - found):
            found.add(subject)
            message = f"touches {subject}; a person looks at it with care"
            yield Issue(rule=RULE, severity="info", message=message, field=field)
