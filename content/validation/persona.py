"""Rules of the persona."""

import re
from collections.abc import Iterator, Sequence

from agents.schemas import Persona
from chimera.core.digest import nfc
from content.schemas import ContentPackage, Platform
from content.tweets import has_emoji
from content.validation.compliance import posted_text
from content.validation.issue import Issue, Severity, texts
from content.validation.match import find_words

CAN_SEE = (
    "forbidden words and associations of the author's persona, also disguised",
    "missing disclaimers, in every text that would be posted",
    "emoji, slang and shouting that the tone does not allow",
)
CANNOT_SEE = (
    "whether a joke is funny or a sentence inspiring",
    "an association that is made without naming it",
    "anything where the content belongs to no stored persona",
)
_SHOUT = re.compile(r"(?:\b[A-Z]{4,}\b[ ,]+){2,}[A-Z]{4,}\b|!{2,}|\?!")
_SLANG = ("gonna", "wanna", "gotta", "lol", "omg", "lmao", "yolo", "dude", "bro", "ain't", "y'all")


def check(
    package: ContentPackage, persona: Persona, platforms: Sequence[Platform]
) -> Iterator[Issue]:
    """Breaches of the persona's rules."""
    yield from _forbidden(package, persona)
    yield from _disclaimers(package, persona, platforms)
    yield from _tone(package, persona)


def _issue(
    severity: Severity, message: str, field: str, span: tuple[int, int] | None = None
) -> Issue:
    start, end = span or (None, None)
    return Issue(
        rule="persona", severity=severity, message=message, field=field, start=start, end=end
    )


def _forbidden(package: ContentPackage, persona: Persona) -> Iterator[Issue]:
    lists = (
        ("a forbidden word", persona.vocabulary.forbidden_words),
        ("a forbidden association", persona.forbidden_associations),
    )
    for field, text in texts(package):
        for kind, listed in lists:
            for found in find_words(text, listed):
                message = f'"{found.word}" is {kind} of {persona.name}; take it out'
                yield _issue("error", message, field, (found.start, found.end))


def _disclaimers(
    package: ContentPackage, persona: Persona, platforms: Sequence[Platform]
) -> Iterator[Issue]:
    posted = dict(posted_text(package, platform) for platform in platforms)
    for field, text in (posted or {"captions": package.captions}).items():
        for disclaimer in persona.disclaimers:
            if _flat(disclaimer) not in _flat(text):
                yield _issue("error", f'the disclaimer "{disclaimer}" is missing; add it', field)


def _flat(text: str) -> str:
    return " ".join(nfc(text).casefold().split())


def _tone(package: ContentPackage, persona: Persona) -> Iterator[Issue]:
    formal = persona.voice_tone in ("formal", "technical")
    for field, text in texts(package):
        if persona.content_style.emoji_usage == "none" and has_emoji(text):
            yield _issue("warning", f"{persona.name} uses no emoji; take them out", field)
        for hit in _SHOUT.finditer(text) if persona.voice_tone != "edgy" else ():
            message = f'"{hit.group()}" shouts; write it calmly'
            yield _issue("warning", message, field, hit.span())
        for found in find_words(text, _SLANG) if formal else ():
            message = f'"{found.word}" does not fit a {persona.voice_tone} tone'
            yield _issue("warning", message, field, (found.start, found.end))
