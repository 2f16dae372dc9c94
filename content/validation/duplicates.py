"""Near duplicates: what the same agent or account has published before."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rapidfuzz import fuzz, process, utils

from content.schemas import ContentPackage, Platform
from content.validation.compliance import posted_text
from content.validation.issue import LONGEST, Issue

CAN_SEE = (
    "posts of the same author or account of the last 90 days (the newest 500) that read the same, "
    "or nearly: 90 percent of the letters in order, whatever the case and punctuation",
)
CANNOT_SEE = (
    "the same thought in other words, and posts that were not made through this platform",
    "posts of others, and pictures or videos that were shown before",
)
ALIKE = 90.0
"""Percent of letters in common order from which two posts count as the same."""
SHORTEST = 20
RULE = "duplicate"


@dataclass(frozen=True)
class Earlier:
    """A post that was published before."""

    platform: str
    text: str
    url: str


def check(
    package: ContentPackage, platforms: Sequence[Platform], earlier: Sequence[Earlier]
) -> Iterator[Issue]:
    """The most similar earlier post of each text that would be posted.

    A warning, also where it is the same word for word: saying something again is a choice that a
    person may make, knowing of the first time.
    """
    if not earlier:
        return
    before = [utils.default_process(post.text[:LONGEST]) for post in earlier]
    texts = dict(posted_text(package, platform) for platform in platforms)
    for field, text in (texts or {"captions": _untargeted(package)}).items():
        mine = utils.default_process(text[:LONGEST])
        if len(mine) < SHORTEST:
            continue
        best = process.extractOne(mine, before, scorer=fuzz.ratio, score_cutoff=ALIKE)
        if best:
            post, same = earlier[best[2]], before[best[2]] == mine
            yield Issue(
                rule=RULE, severity="warning", message=_message(post, same, best[1]), field=field
            )


def _untargeted(package: ContentPackage) -> str:
    """What every platform without a variant gets."""
    return f"{package.captions}\n\n{' '.join(package.hashtags)}"


def _message(post: Earlier, same: bool, score: float) -> str:
    likeness = "the same text was" if same else f"a text that is {score:.0f} % the same was"
    return f"{likeness} published on {post.platform} before: {post.url}; say something new"
