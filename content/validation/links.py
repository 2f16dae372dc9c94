"""Links and mentions: where a post would send its readers."""

import re
from collections.abc import Iterator

from content.schemas import ContentPackage
from content.validation.hidden import alphabets
from content.validation.issue import Issue, Severity, texts
from content.validation.match import without_lookalikes

CAN_SEE = (
    "addresses and mentions that stand neither in the trend nor in the persona's or campaign's texts",
    "addresses that imitate another one with look-alike letters or punycode, and addresses that "
    "name one site before an @ and open another",
)
CANNOT_SEE = (
    "what lies behind an address, and where a short link leads",
    "bare addresses with a rare ending, and accounts named without @",
)
_ENDINGS = (
    "com|net|org|io|co|me|ly|app|dev|xyz|info|shop|link|site|online|store|gg|tv|ai|eu|example"
)
_LINK = re.compile(
    rf"(?:https?://|www\.)[^\s<>\"“”«»]{{3,2048}}"
    rf"|(?<![\w@./-])(?:[^\W_][\w-]{{0,62}}\.){{1,4}}(?:{_ENDINGS})(?![\w.-]\w)(?:/[^\s<>\"“”]{{0,2048}})?",
    re.I,
)
_MENTION = re.compile(r"(?<![\w@./])@(\w[\w.]{0,29})")
_TAIL = ".,;:!?)]}'’…"


def check(package: ContentPackage, known: str) -> Iterator[Issue]:
    """Links and mentions of the package that `known` (trend, persona, campaign) does not name."""
    links = {normal(hit.group()) for hit in _LINK.finditer(known)}
    names = mentions(known)
    for field, text in texts(package):
        for hit in _LINK.finditer(text):
            link = hit.group().rstrip(_TAIL)
            span = (hit.start(), hit.start() + len(link))
            yield from _imitation(field, link, span)
            if normal(link) not in links:
                message = (
                    f"the link {link[:120]} is not of the trend, persona or campaign; check it"
                )
                yield _issue("link", "warning", message, field, span)
        for hit in _MENTION.finditer(text):
            if _name(hit) not in names:
                message = (
                    f"the mention {hit.group()} is not of the trend, persona or campaign; check it"
                )
                yield _issue("mention", "warning", message, field, hit.span())


def mentions(text: str) -> set[str]:
    """The accounts a text mentions, in lower case without the @."""
    return {_name(hit) for hit in _MENTION.finditer(text)}


def _name(hit: re.Match[str]) -> str:
    return hit.group(1).rstrip(".").casefold()


def normal(link: str) -> str:
    """The address without scheme, www., trailing slash and punctuation, host in lower case."""
    bare = re.sub(r"^(?:https?://)?(?:www\.)?", "", link.rstrip(_TAIL), flags=re.I)
    host, slash, path = bare.partition("/")
    return f"{host.casefold()}{slash}{path}".rstrip("/")


def _imitation(field: str, link: str, span: tuple[int, int]) -> Iterator[Issue]:
    site = re.split(r"[/?#]", re.sub(r"^https?://", "", link, flags=re.I), maxsplit=1)[0]
    shown, at, host = site.rpartition("@")
    if at:
        message = f"the link names {shown[:60]} but opens {host[:60]}; write the address alone"
        yield _issue("link", "error", message, field, span)
    host = _decoded(host)
    plain = without_lookalikes(host)
    if plain != host and plain.isascii():
        message = f"the link opens {host[:60]}, which only looks like {plain[:60]}; retype it"
        yield _issue("link", "error", message, field, span)
    elif any(len(alphabets(label)) > 1 for label in host.split(".")):
        message = f"the address {host[:60]} mixes letters of different alphabets; retype it"
        yield _issue("link", "error", message, field, span)


def _decoded(host: str) -> str:
    """The host as people see it: punycode read."""
    try:
        return host.encode().decode("idna") if "xn--" in host.casefold() else host.casefold()
    except UnicodeError:
        return host


def _issue(rule: str, severity: Severity, message: str, field: str, span: tuple[int, int]) -> Issue:
    return Issue(
        rule=rule, severity=severity, message=message, field=field, start=span[0], end=span[1]
    )
