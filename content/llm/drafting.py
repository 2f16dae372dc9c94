"""Posts worded by a language model inside the frame of the offline writer.

The frame settles what A3.5 asks to be the same each time: the parts, the number of hashtags and the
length. The model words the parts; a sentence that breaks a rule, or does not fit, gives way to the
frame's own. So a model can make a post better, but not another post.
"""

import dataclasses
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pydantic import BaseModel, Field

from chimera.core.errors import ChimeraError
from content.layout import LABEL
from content.llm.budget import Budget
from content.llm.composer import Draft, Frame, write
from content.llm.guard import Allowed, unlisted
from content.llm.hashtags import is_tag, unique_tags
from content.llm.models import Connection, LanguageModel
from content.llm.story import Story
from content.schemas import ContentPackage
from content.sources.clean import plain_line
from content.validation import misinformation
from content.validation.offensive import offensive_words

TOLERANCE = 0.045
"""Of the frame's length: two scripts that keep it differ by less than ten percent."""
_WORDY, _TERSE, _SLACK = 1.6, 0.5, 20
_LISTS = ("points", "personal")
_INSTRUCTIONS = (
    "You write posts in the voice of a persona about a trend. The document has a draft in slots. Word "
    "each slot anew in the persona's voice, for the platform and the form given. Keep the meaning "
    "and purpose of each slot and its length in characters to within a tenth. Add no fact: no "
    "number, date, name or quotation that the trend does not have. Never use a word of `never_say`. No "
    "emoji, no hashtags, no line breaks in a slot. Return every slot id once, and as many hashtags as "
    "asked for."
)
_SAFETY = (
    " An earlier version was offensive. Write calmly and respectfully; insult, threaten and belittle "
    "nobody."
)


class Sentence(BaseModel):
    """The text of one slot."""

    id: str
    text: str = Field(max_length=1000)


class Wording(BaseModel):
    """A worded post."""

    sentences: list[Sentence]
    hashtags: list[str] = Field(max_length=30, description="Each with its #")


class Offensive(Exception):
    """The model's words are offensive."""


@dataclasses.dataclass
class Drafter:
    """One draft by one model. smuggled: links and accounts that the model tried to bring in."""

    connection: Connection
    model: LanguageModel
    frame: Frame
    allowed: Allowed
    budget: Budget
    seconds: float
    smuggled: list[str] = dataclasses.field(default_factory=list)

    async def draft(self) -> Draft:
        """The post. Raises Offensive, LLM_ERROR or TimeoutError.

        An answer of which less than half can be used is asked for once more; what can be used then
        is used.
        """
        slots = dict(_slots(self.frame.story))
        best: dict[str, str] = {}
        tags: list[str] = []
        for _ in range(2):
            wording = await self._ask(slots)
            _check_decency(wording)
            good = self._usable(wording, slots)
            if len(good) >= len(best):
                best, tags = good, self._tags(wording)
            if 2 * len(best) >= len(slots):
                break
        if not best:
            raise self._useless()
        return write(self.frame, fitted(self.frame, best), tags)

    def _useless(self) -> ChimeraError:
        why = f"No sentence of {self.model.name} keeps the rules"
        if self.smuggled:
            why += "; it brought in links or accounts that nobody listed, so look at the trend"
        return ChimeraError("LLM_ERROR", why, details={"model": self.model.name})

    async def _ask(self, slots: Mapping[str, str]) -> Wording:
        return await self.connection.ask(
            self.model,
            instructions=_INSTRUCTIONS + (_SAFETY if self.frame.writer.safety else ""),
            document=_document(self.frame, slots),
            answer=Wording,
            budget=self.budget,
            seconds=self.seconds,
        )

    def _usable(self, wording: Wording, slots: Mapping[str, str]) -> dict[str, str]:
        """Slot -> text of what the model may say."""
        found: dict[str, str] = {}
        for sentence in wording.sentences:
            text = _without_emoji(plain_line(sentence.text, 1000))
            if sentence.id in slots and self._keeps_rules(text, slots[sentence.id]):
                found.setdefault(sentence.id, text)
        return found

    def _keeps_rules(self, text: str, draft: str) -> bool:
        smuggled = unlisted(text, self.allowed)
        self.smuggled += smuggled
        longest = _WORDY * len(draft) + _SLACK
        fits = _TERSE * len(draft) - _SLACK <= len(text) <= longest
        return bool(
            text
            and fits
            and not smuggled
            and "#" not in text
            and not LABEL.match(text)
            and self.frame.writer.allowed(text)
            and self._is_supported(text)
        )

    def _is_supported(self, text: str) -> bool:
        """Whether the misinformation rule finds nothing the trend does not say."""
        alone: dict[str, Any] = {"script": text, "captions": "", "hashtags": []}
        said = ContentPackage.model_construct(**alone, platform_variants=None)
        source = f"{self.frame.writer.trend.source_text()}\n{text_of(self.frame.story)}"
        return not any(misinformation.check(said, source, ""))

    def _tags(self, wording: Wording) -> list[str]:
        """As many hashtags as the frame has: the model's where they are good, then the frame's."""
        own = filter(is_tag, wording.hashtags)
        tags = unique_tags([*own, *self.frame.tags], self.frame.writer.allowed)
        return tags[: len(self.frame.tags)]


def _check_decency(wording: Wording) -> None:
    said = "\n".join([*(sentence.text for sentence in wording.sentences), *wording.hashtags])
    if offensive_words(said):
        raise Offensive


def _slots(story: Story) -> Iterator[tuple[str, str]]:
    """(id, text) of the parts that can be worded; a line that announces a list is structure."""
    for name in ("lead", "headline", "opening", "ask", "call", "close"):
        text = getattr(story, name)
        if text and not text.endswith(":"):
            yield name, text
    for name in _LISTS:
        for at, text in enumerate(getattr(story, name)):
            yield f"{name}_{at}", text


def worded(story: Story, texts: Mapping[str, str]) -> Story:
    """The story with other texts in the slots."""
    changes: dict[str, Any] = {k: v for k, v in texts.items() if not k.startswith(_LISTS)}
    for name in _LISTS:
        own = getattr(story, name)
        changes[name] = [texts.get(f"{name}_{at}", text) for at, text in enumerate(own)]
    return dataclasses.replace(story, **changes)


def text_of(story: Story) -> str:
    """All the words of a story."""
    return " ".join(text for _, text in _slots(story))


def fitted(frame: Frame, texts: Mapping[str, str]) -> Story:
    """The story with as many of the texts as keep the structure of the frame's own script.

    While it is off, the text gives way whose absence brings the length closest.
    """
    goal, kept = structure(frame.script(frame.story)), dict(texts)
    while kept:
        made = structure(frame.script(worded(frame.story, kept)))
        if made[0] == goal[0] and abs(made[1] - goal[1]) <= TOLERANCE * goal[1]:
            break
        del kept[_most_off(frame, kept, goal)]
    return worded(frame.story, kept)


def _most_off(frame: Frame, kept: Mapping[str, str], goal: tuple[int, int]) -> str:
    def distance(slot: str) -> tuple[int, int, str]:
        rest = {name: text for name, text in kept.items() if name != slot}
        sections, length = structure(frame.script(worded(frame.story, rest)))
        return abs(sections - goal[0]), abs(length - goal[1]), slot

    return min(kept, key=distance)


def structure(script: str) -> tuple[int, int]:
    """(number of sections, length in characters) of a script."""
    labels = len(LABEL.findall(script))
    return labels or sum(bool(line.strip()) for line in script.splitlines()), len(script)


def _without_emoji(text: str) -> str:
    kept = (c for c in text if unicodedata.category(c) != "So" and c not in "\ufe0f\u200d")
    return " ".join("".join(kept).split())


def _document(frame: Frame, slots: Mapping[str, str]) -> dict[str, Any]:
    """What the model is told, all of it as data."""
    trend, persona = frame.writer.trend, frame.writer.persona
    vocabulary, style = persona.vocabulary, persona.content_style
    return {
        "trend": {
            "topic": trend.topic,
            "hashtags": list(filter(is_tag, trend.metadata.hashtags[:10])),
            "category": trend.metadata.category,
            "region": trend.geographic_origin,
            "sentiment": trend.sentiment,
        },
        "persona": {
            "name": persona.name,
            "bio": persona.bio,
            "tone": frame.writer.tone,
            "audience": persona.target_audience.model_dump(mode="json"),
            "jargon": vocabulary.jargon_level,
            "style": style.storytelling_style,
            "values": persona.values.core_values,
            "words_it_likes": vocabulary.preferred_words,
            "never_say": [*vocabulary.forbidden_words, *persona.forbidden_associations],
        },
        "platform": frame.platform,
        "form": frame.content_type,
        "slots": _described(slots),
        "hashtags": len(frame.tags),
    }


def _described(slots: Mapping[str, str]) -> Sequence[dict[str, Any]]:
    return [{"id": slot, "draft": text, "characters": len(text)} for slot, text in slots.items()]
