"""Hashtags of a post by the persona's strategy; the contract asks for 3 to 30 of them."""

import re
from collections.abc import Callable, Iterable

from agents.schemas import Persona
from content.llm.angles import Angles
from content.schemas import TrendData
from content.themes import words

_COUNT = {"none": 3, "trending_only": 4, "mix_popular_niche": 6, "comprehensive": 12}
_FORM = re.compile(r"#\w{1,30}")


def hashtags(
    trend: TrendData,
    persona: Persona,
    names: Iterable[str],
    interests: Iterable[str],
    angles: Angles,
    allowed: Callable[[str], bool],
) -> list[str]:
    """Hashtags in the order of their worth: the trend's own, the subject's, the niche, the crowd.

    Strategy `none` still gives three, the fewest that the contract allows.
    """
    strategy = persona.content_style.hashtag_strategy
    own = list(trend.metadata.hashtags[:4])
    subject = list(names)
    niche = [*interests, *angles.niche]
    crowd = list(angles.popular)
    order = {
        "trending_only": [*own, *subject[:2], *crowd, *niche],
        "none": [*own[:1], *subject[:2], *crowd, *niche],
        "mix_popular_niche": [*own[:2], *subject[:2], *crowd[:1], *niche[:2], *crowd[1:], *niche],
        "comprehensive": [*own, *subject[:3], *crowd, *niche],
    }[strategy]
    filler = ["Today", "WorthReading", "OnMyMind", "Notes", "Daily"]
    return unique_tags([*order, *filler], allowed)[: _COUNT[strategy]]


def unique_tags(candidates: Iterable[str], allowed: Callable[[str], bool]) -> list[str]:
    """The candidates as hashtags, each once, without those that `allowed` refuses."""
    found: dict[str, str] = {}
    for candidate in candidates:
        tag = _tag(candidate)
        if tag and allowed(" ".join(words(tag))) and allowed(tag[1:]):
            found.setdefault(tag.casefold(), tag)
    return list(found.values())


def _tag(text: str) -> str:
    """The text as a hashtag; empty where it makes none (numbers only, too long)."""
    if is_tag(text):
        return text
    tag = "#" + "".join(word[:1].upper() + word[1:] for word in re.findall(r"\w+", text))
    return tag if is_tag(tag) else ""


def is_tag(text: str) -> bool:
    """Whether it is a hashtag: letters, decimal digits and underscores with a letter among them; no "²" and no "½"."""
    plain = all(char.isalpha() or char.isdecimal() or char in "#_" for char in text)
    return plain and any(map(str.isalpha, text)) and bool(_FORM.fullmatch(text))
