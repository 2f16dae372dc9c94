"""What must not get from a stranger's text into a post: links, accounts and addresses nobody listed.

A language model that has read a trend may do what the trend says. Whatever it answers, only the
addresses that the trend's source vouches for and those the persona demands get into a draft.
"""

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass

from agents.schemas import Persona
from content.schemas import TrendData
from content.sources.clean import plain_line
from content.tweets import urls_in

_SCHEME = re.compile(
    r"\b[a-z][a-z0-9+.-]{1,20}://[^\s<>()\[\]\"']+|\b(?:javascript|data|mailto):\S+", re.I
)
_MAIL = re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+")
_MENTION = re.compile(r"(?<![\w@])@\w{1,50}(?:\.\w+)*")
_DISGUISED = re.compile(
    r"\bhxxps?\S+|[\w-]+\s?(?:\[\.\]|\(\.\)|\[dot\]|\(dot\))\s?[a-z]{2,10}\b(?:/\S*)?"
    r"|[\w-]+ dot (?:com|net|org|io|co|app|xyz|info|shop|link|example)\b(?:/\S*)?",
    re.I,
)
_WALLET = re.compile(
    r"\b0x[0-9a-f]{40}\b|\bbc1[a-z0-9]{25,62}\b|\b[13][a-km-zA-HJ-NP-Z1-9]{25,34}\b|\b[\w-]+\.eth\b",
    re.I,
)
_MARKUP = re.compile(r"!?\[[^\]]*\]\([^)]*\)")
_FORMS = (_MARKUP, _SCHEME, _MAIL, _WALLET, _DISGUISED)
_TAIL = ".,;:!?)]}'\"…"


@dataclass(frozen=True)
class Allowed:
    """Links and accounts (with @, in lower case) that a post may name."""

    links: frozenset[str]
    mentions: frozenset[str]

    def __contains__(self, found: str) -> bool:
        return found in self.links or found.casefold() in self.mentions


def allowed_of(trend: TrendData, persona: Persona) -> Allowed:
    """The trend's listed sources and accounts, and those of the persona's name and disclaimers."""
    demanded = " ".join([persona.name, *persona.disclaimers])
    listed = [f"@{name.lstrip('@')}" for name in trend.metadata.mentions]
    own = found_in(demanded)
    return Allowed(
        links=frozenset([*trend.metadata.source_urls, *own]),
        mentions=frozenset(name.casefold() for name in [*listed, *own]),
    )


def found_in(text: str) -> list[str]:
    """Every link, account, mail and wallet address of a text, also disguised ones."""
    plain = unicodedata.normalize("NFKC", text)
    found = [hit.group().rstrip(_TAIL) for form in _FORMS for hit in form.finditer(plain)]
    found += [url for url in urls_in(_SCHEME.sub(" ", plain)) if url]
    found += _MENTION.findall(_MAIL.sub(" ", _SCHEME.sub(" ", plain)))
    return list(dict.fromkeys(found))


def unlisted(text: str, allowed: Allowed) -> list[str]:
    """What of `found_in` nobody listed."""
    return [found for found in found_in(text) if found not in allowed]


def without(text: str, unwanted: Iterable[str]) -> str:
    """The text without the given links; an account is named without its @, so nobody is called."""
    plain = unicodedata.normalize("NFKC", text)
    for found in sorted(unwanted, key=len, reverse=True):
        name = found[1:].replace(".", " ") if found.startswith("@") else " "
        plain = plain.replace(found, name)
    return " ".join(plain.split())


def cleaned(trend: TrendData, allowed: Allowed) -> tuple[TrendData, list[str]]:
    """The trend with a harmless topic, and what was taken out of it.

    The trend itself is kept as it is for the reviewer; only what is written from is cleaned.
    """
    topic = plain_line(trend.topic)
    removed = list(dict.fromkeys([*unlisted(trend.topic, allowed), *unlisted(topic, allowed)]))
    while unwanted := unlisted(topic, allowed):
        topic = without(topic, unwanted)
    topic = topic.strip(" -:|") or "A story that is making the rounds"
    return trend.model_copy(update={"topic": topic}), removed
