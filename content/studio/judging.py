"""The offline verdict on a video: what it promises, whether it moves, how it is paced.

The code of a failure says which skill runs again in the workflow `click-loop`. The verdict reads words,
it does not watch.
"""

from collections.abc import Iterator
from typing import Any

from content.studio.contracts import EvalInput
from content.studio.rules import THUMBNAIL_WORDS, cold_open, unaddressed
from content.studio.sentences import sentences
from content.studio.text import content_stems, tokens
from content.studio.thesis import charged_words, problems

LONGEST_SENTENCE = 45
USUAL_SENTENCE = 24
SHORTEST_SCRIPT, LONGEST_SCRIPT = 60, 1800
"""Words: 24 seconds and 12 minutes at 150 a minute."""


def judge(video: EvalInput) -> dict[str, Any]:
    """PASS, or FAIL with the first reason. confidence falls with every further reason the other way."""
    found = list(_reasons(video))
    if found:
        confidence = min(0.95, 0.7 + 0.05 * len(found))
        return {"result": "FAIL", "failure_reason": found[0], "confidence": round(confidence, 2)}
    felt = sum(
        bool(charged_words(text)) for text in (video.hook, video.title, video.thumbnail_text)
    )
    return {"result": "PASS", "failure_reason": None, "confidence": round(0.6 + 0.1 * felt, 2)}


def _reasons(video: EvalInput) -> Iterator[str]:
    """Every reason to fail, as `CODE: text`, in the order in which they are mended."""
    yield from (f"UNCLEAR_PROMISE: {why}" for why in _promise(video))
    yield from (f"WEAK_EMOTION: {why}" for why in _emotion(video))
    yield from (f"PACING: {why}" for why in _pacing(video))


def _promise(video: EvalInput) -> Iterator[str]:
    yield from problems(video.click_thesis)
    subject = content_stems(video.click_thesis)
    for name, text in (("hook", video.hook), ("title", video.title)):
        if subject and not subject & content_stems(text):
            yield f"the {name} says no word of what the thesis promises"


def _emotion(video: EvalInput) -> Iterator[str]:
    calm = [
        name
        for name, text in (("hook", video.hook), ("title", video.title))
        if not charged_words(text)
    ]
    if len(calm) == 2:
        yield "neither hook nor title has a word that carries a feeling"
    if len(tokens(video.thumbnail_text)) > THUMBNAIL_WORDS:
        yield f"the thumbnail has more than {THUMBNAIL_WORDS} words to read at a glance"


def _pacing(video: EvalInput) -> Iterator[str]:
    yield from (why.removeprefix("script: ") for why in cold_open(video.script, video.click_thesis))
    yield from (
        why.removeprefix("script: ") for why in unaddressed(video.script, video.click_thesis)
    )
    lengths = [len(tokens(sentence)) for sentence in sentences(video.script)] or [0]
    total = sum(lengths)
    if total < SHORTEST_SCRIPT:
        yield f"the script has {total} words; it is over before it has kept its promise"
    if total > LONGEST_SCRIPT:
        yield f"the script has {total} words; more than {LONGEST_SCRIPT} lose the viewer"
    if max(lengths) > LONGEST_SENTENCE:
        yield f"a sentence has {max(lengths)} words; nobody can say it in one breath"
    if total / len(lengths) > USUAL_SENTENCE:
        yield f"its sentences have {total / len(lengths):.0f} words on average; shorten them"
