"""A headline taken apart: the sentence it makes, its subject as a noun phrase, its names."""

import re
from dataclasses import dataclass

from content.sources.clean import cut, plain_line
from content.themes import MEMBERS, PLACES, stem, words
from content.wordlists import word_set

_SOURCE_TAIL = re.compile(r"\s+(?:[|–—-])\s+[A-Z][\w.&' ]{1,30}$")
_TEASER = re.compile(r"^(?:breaking|watch|live|update|exclusive|opinion|video)\s*[:|]\s*", re.I)
_END = ".!?…"
_MAX_HEADLINE = 140
_VERBS = word_set("headline", "verbs")
_NAMES = word_set("headline", "names")
_PLAIN = word_set("headline", "plain")
_DETERMINERS = word_set("headline", "determiners")
_MASS = word_set("headline", "mass")
_QUESTION_WORDS = word_set("headline", "question")
_DANGLING = word_set("headline", "dangling")
_SMALL = word_set("headline", "small")


@dataclass(frozen=True)
class Topic:
    """A headline as an editor uses it.

    line: the headline as a sentence of its own, with its full stop.
    it: the subject as a noun phrase that stands after a preposition ("Addis street style").
    names: words and word groups for hashtags, best first.
    proper: the words that look like names.
    """

    line: str
    it: str
    names: tuple[str, ...]
    proper: tuple[str, ...]


def analyse(raw: str) -> Topic:
    """The topic of a headline, whatever its shape: clause, noun phrase, question, hashtag."""
    text = _headline(raw)
    tokens = text.rstrip(_END).split()
    verb = _first_verb(tokens)
    subject = tokens[:verb] if verb else tokens
    line = text if text[-1] in _END + "\"”'’)" else f"{text}."
    names = _names(tokens, subject)
    return Topic(line[0].upper() + line[1:], _noun_phrase(subject), names, _proper(tokens))


def _headline(raw: str) -> str:
    """The headline without teaser, source, shouting and anything after its first sentence."""
    text = plain_line(raw, 2000)
    text = " ".join(_spaced(part) for part in text.split())
    text = _TEASER.sub("", _SOURCE_TAIL.sub("", text)).strip(" -–—|:;,/")
    text = re.sub(r"([!?.])\1+", r"\1", text).replace("!", "")
    if len(text) > _MAX_HEADLINE:
        text = re.split(r"(?<=[.?;:])\s", text, maxsplit=1)[0].rstrip(";:, ")
        text = cut(text, _MAX_HEADLINE).rstrip("…")
    if text.isupper() and " " in text:
        text = text.capitalize()
    return text.rstrip() or "Something new"


def _spaced(part: str) -> str:
    """A hashtag as words; an account name or address is not a word."""
    if part.startswith("#"):
        return " ".join(words(part))
    return "" if part.startswith(("http://", "https://")) else part


def _first_verb(tokens: list[str]) -> int:
    """Position of the first finite verb after a subject of one to seven words, else 0."""
    for at, token in enumerate(tokens[1:8], start=1):
        after_article = tokens[at - 1].lower() in _DETERMINERS
        if token.strip(",;:’'").lower() in _VERBS and not after_article:
            return at
    return 0


def _noun_phrase(tokens: list[str]) -> str:
    """The tokens as a phrase inside a sentence; a long or odd one becomes "this story"."""
    kept = [token.strip(",;:") for token in tokens]
    if not kept or len(kept) > 7 or kept[0].lower() in _QUESTION_WORDS:
        return "this story"
    if kept[-1].lower() in _DANGLING or not any(c.isalpha() for c in "".join(kept)):
        return "this story"
    first = kept[0]
    titled = sum(token[:1].isupper() for token in kept[1:]) >= max(1, len(kept) - 1)
    if not titled and first.istitle() and _is_common(first):
        kept[0] = first.lower()
    return " ".join(kept) if titled or _needs_no_article(kept) else "this story"


def _needs_no_article(phrase: list[str]) -> bool:
    """Plurals, known names and mass nouns stand alone; "earthquake" would need an article."""
    first, last = phrase[0], phrase[-1]
    if len(phrase) == 1 and last[:1].isupper():  # any first word has a capital
        return last.lower() in _NAMES or bool(MEMBERS.get(stem(last), set()) & PLACES)
    if first.lower() in _DETERMINERS or last[:1].isupper():
        return True
    plural = last.endswith("s") and not last.endswith(("ss", "us", "is"))
    return plural or last.lower() in _MASS


def _is_common(word: str) -> bool:
    """Whether a capital comes from the start of the sentence rather than from a name."""
    low = word.lower()
    known = MEMBERS.get(stem(low), set())
    return low in _PLAIN or bool(known and not known & PLACES and low not in _NAMES)


def _proper(tokens: list[str]) -> tuple[str, ...]:
    clean = [re.sub(r"\W", "", token) for token in tokens]
    return tuple(
        w
        for w in clean
        if len(w) > 3 and w[0].isupper() and w.lower() not in _VERBS | _SMALL and not _is_common(w)
    )


def _names(tokens: list[str], subject: list[str]) -> tuple[str, ...]:
    """Candidates for hashtags: the subject, runs of capitals, then single telling words."""
    tokens = " ".join(tokens).replace("-", " ").split()
    subject = " ".join(subject).replace("-", " ").split()
    clean = [re.sub(r"\W", "", token) for token in tokens]
    telling = [w for w in clean if len(w) > 3 and w.lower() not in _VERBS | _PLAIN | _SMALL]
    phrase = [re.sub(r"[^\w]", "", token) for token in subject]
    joined = ["".join(w[:1].upper() + w[1:] for w in phrase if w)] if 1 <= len(phrase) <= 4 else []
    joined = [tag for tag in joined if len(tag) > 3 and tag.lower() not in _PLAIN | _SMALL]
    capital = list(_proper(tokens))
    inside = set(phrase) if joined else set()
    rest = [w for w in telling if MEMBERS.get(stem(w)) and w not in inside]
    return tuple(dict.fromkeys(joined + capital + rest))
