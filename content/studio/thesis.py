"""The ClickThesis: one sentence, emotionally charged, bound to a time or a consequence."""

from functools import cache

from vaderSentiment.vaderSentiment import SentimentIntensityAnalyzer

from content.studio.sentences import sentences
from content.studio.text import marks, tokens
from content.themes import fold
from content.wordlists import word_set

CHARGE = 1.0
"""Valence, of 4, from which a single word counts as charged."""
_CHARGED = word_set("studio", "charged")
_CONSEQUENCE = word_set("studio", "consequence")
_TIME = word_set("studio", "time")
_ENDS = ".!?…。！？።"


@cache
def _lexicon() -> dict[str, float]:
    lexicon: dict[str, float] = SentimentIntensityAnalyzer().lexicon
    return lexicon


def charged_words(text: str) -> list[str]:
    """The words that carry a feeling: in our list, or at least CHARGE in the VADER lexicon."""
    found = [fold(token) for token in tokens(text)]
    return [w for w in found if w in _CHARGED or abs(_lexicon().get(w, 0)) >= CHARGE]


def bound_words(text: str) -> list[str]:
    """The words that name a time or a consequence."""
    return [w for w in map(fold, tokens(text)) if w in _TIME | _CONSEQUENCE]


def problems(thesis: str) -> list[str]:
    """Why the text is no ClickThesis, one sentence per rule that it breaks; empty if it is one."""
    found = [f"click_thesis contains {mark}" for mark in marks(thesis)]
    count = len(sentences(thesis))
    if count != 1:
        found.append(f"click_thesis must be exactly one sentence; it has {count}")
    elif thesis.rstrip("\"'”’»)] ")[-1:] not in _ENDS:
        found.append("click_thesis must end like a sentence, with . ! ? or …")
    if not charged_words(thesis):
        found.append("click_thesis must be emotionally charged; no word of it carries a feeling")
    if not bound_words(thesis):
        found.append(
            "click_thesis must be bound to a time or a consequence; say when, or what follows"
        )
    return found
