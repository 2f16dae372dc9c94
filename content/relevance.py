"""How relevant a trend is to campaign goals, without a language model.

The method is a Monge-Elkan similarity: each word of a goal is compared with each word of the
trend and keeps its best match. Two words match by their Snowball stem, by a theme or place that
one names and the other belongs to, or by the Dice coefficient of their letter trigrams, which
forgives spelling. It compares words, not meaning: it knows no irony, no negation, and only the
themes of `content.themes`.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache

from content.schemas import TrendData
from content.sources.clean import cut
from content.themes import HEADS, MEMBERS, PLACES, REGION_THEME, stem, words
from content.wordlists import word_set

RELEVANCE_MODEL = "offline-monge-elkan"
_SAME, _THEME, _RELATED = 0.95, 0.86, 0.45
_SPELLING_FLOOR, _SPELLING_WORTH, _VARIANT = 0.45, 0.7, 0.82
_TERMS = 40
_SECOND = 0.25  # how much a second matching goal closes the gap to 1

_EMPTY = frozenset(map(stem, word_set("empty", "words")))


@dataclass(frozen=True)
class Scored:
    """Relevance 0..1 of one trend, and the words that speak for it in at most 500 characters."""

    score: float
    reasoning: str


@dataclass(frozen=True)
class _Match:
    worth: float
    why: str


@dataclass(frozen=True)
class _Profile:
    """A trend as its words (stem -> word as written) and the themes its source vouches for."""

    words: dict[str, str]
    themes: frozenset[str]


def score(trends: Sequence[TrendData], goals: Sequence[str]) -> list[Scored]:
    """One score per trend, in order. Above 0.75 is clearly relevant, below 0.3 unrelated.

    A trend is as relevant as its best goal; a further goal that matches adds a little.
    """
    wanted = [(goal, _terms(goal)) for goal in goals]
    return [_score_one(_profile(trend), wanted) for trend in trends]


def _terms(goal: str) -> list[tuple[str, str]]:
    """The words of a goal that carry meaning: (stem, as written); all of them if none does."""
    found = {stem(word): word for word in words(goal.replace("_", " "))}
    meaning = {key: word for key, word in found.items() if key not in _EMPTY and len(key) > 1}
    if not meaning and "us" in goal.lower().split():
        meaning = {"us": "US"}
    return list((meaning or found).items())[:_TERMS]


def _profile(trend: TrendData) -> _Profile:
    text = " ".join([trend.topic, *trend.metadata.hashtags])
    found: dict[str, str] = {}
    for word in words(text):
        found.setdefault(stem(word), word)
    region = REGION_THEME.get(trend.geographic_origin or "", "")
    themes: set[str] = {trend.metadata.category, region}
    meaning = {key: word for key, word in found.items() if key not in _EMPTY}
    return _Profile(meaning, frozenset(themes - {"other", "news", ""}))


def _score_one(profile: _Profile, wanted: Iterable[tuple[str, list[tuple[str, str]]]]) -> Scored:
    results = sorted(
        ((*_goal_score(profile, terms), goal) for goal, terms in wanted), key=lambda r: -r[0]
    )
    best = results[0][0]
    second = results[1][0] if len(results) > 1 else 0.0
    total = round(best + (1 - best) * _SECOND * second, 4)
    parts = [f'"{cut(goal, 60)}" {value:.2f}: {why}' for value, why, goal in results if why]
    text = "; ".join(parts) or "No word of topic, hashtags, category or region matches the goals."
    return Scored(total, cut(text, 500))


def _goal_score(profile: _Profile, terms: list[tuple[str, str]]) -> tuple[float, str]:
    """Mean worth of the three best-matched words, less where much of the goal is unmatched."""
    if not terms:
        return 0.0, ""
    matches = sorted((_best(profile, key, word) for key, word in terms), key=lambda m: -m.worth)
    top = matches[:3]
    found = [match for match in matches if match.worth]
    value = sum(match.worth for match in top) / len(top)
    value *= 0.85 + 0.15 * len(found) / len(matches)
    return value, ", ".join(match.why for match in found[:4])


def _best(profile: _Profile, key: str, word: str) -> _Match:
    """The best match of one goal word in the trend."""
    if key in profile.words:
        return _Match(_SAME, f"says {profile.words[key]}")
    best, by = 0.0, ""
    for other, written in profile.words.items():
        worth = _alike(key, other)
        if worth > best:
            best, by = worth, f"{written} ~ {word}"
    vouched = HEADS.get(key, set()) & profile.themes
    if vouched and best < _THEME:
        return _Match(_THEME, f"filed under {min(vouched)}")
    return _Match(best, by)


@cache
def _trigrams(word: str) -> frozenset[str]:
    padded = f" {word} "
    return frozenset(padded[at : at + 3] for at in range(len(padded) - 2))


@cache
def _alike(goal: str, word: str) -> float:
    """How much two different stems have to do with each other, 0..1."""
    ours, theirs = HEADS.get(goal, set()), MEMBERS.get(word, set())
    if ours & theirs:
        return _THEME
    # A place within another place is no evidence: Lagos says nothing about Nairobi.
    if (MEMBERS.get(goal, set()) & theirs) - PLACES:
        return max(_RELATED, _spelling(goal, word))
    return _spelling(goal, word)


def _spelling(one: str, other: str) -> float:
    """Worth of a likeness in spelling: trigram Dice, more where one word is inside the other.

    jewellery ~ jewelry and colour ~ color only leave letters out; market ~ marker swaps one.
    """
    if min(len(one), len(other)) < 5 or one[0] != other[0]:
        return 0.0
    left, right = _trigrams(one), _trigrams(other)
    dice = 2 * len(left & right) / (len(left) + len(right))
    if dice < _SPELLING_FLOOR:
        return 0.0
    shorter, longer = sorted((one, other), key=len)
    letters = iter(longer)
    left_out = len(longer) - len(shorter) <= 2 and all(letter in letters for letter in shorter)
    return _VARIANT if left_out else dice * _SPELLING_WORTH
