"""The text of a brief: what a planner wants said, in the agent's voice, within so many characters.

The brief's prompt takes the place of a trend's headline, and the offline writer or a language model
does the rest, as for a package. The same brief gives the same text.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any
from uuid import UUID, uuid5

from agents.schemas import Persona, VoiceTone
from chimera.core.errors import ChimeraError
from content.llm.composer import Draft, Frame, plan
from content.schemas import TrendData
from content.sources.classify import category
from content.sources.clean import cut, plain_line

_BRIEFS = UUID("2c6a7f0e-51d4-5d0c-8d5e-7f3b7c9a1e24")
_ANY_DAY = datetime(2026, 1, 1, tzinfo=UTC)
"""A brief has no date, and the same brief must give the same text."""
_TONES: dict[str, VoiceTone] = {
    "formal": "formal",
    "professional": "formal",
    "casual": "casual",
    "friendly": "casual",
    "humorous": "humorous",
    "funny": "humorous",
    "playful": "humorous",
    "technical": "technical",
    "upbeat": "inspirational",
    "inspiring": "inspirational",
    "inspirational": "inspirational",
    "edgy": "edgy",
    "bold": "edgy",
}


@dataclass(frozen=True)
class Brief:
    """What is wanted. tone: the brief's words about the voice; trends: TrendData that are stored."""

    prompt: str
    tone: str
    persona: Persona
    trends: list[TrendData]

    @property
    def voice(self) -> Persona:
        """The agent's persona in the tone that the brief asks for, if it names one we know."""
        named = [
            _TONES[word] for word in self.tone.lower().replace("-", " ").split() if word in _TONES
        ]
        return self.persona.model_copy(update={"voice_tone": named[0]}) if named else self.persona

    def subject(self) -> TrendData:
        """The prompt as the writer's subject, with hashtags and sources of the trends behind it."""
        prompt = plain_line(self.prompt, 500)
        said = [trend.metadata for trend in self.trends]
        facts: dict[str, Any] = {
            "trend_id": uuid5(_BRIEFS, self.prompt),
            "topic": prompt,
            "platform": "news",
            "sentiment": "neutral",
            "timestamp": _ANY_DAY,
            "engagement": dict.fromkeys(
                ("likes", "comments", "shares", "impressions", "engagement_score"), 0
            ),
            "trend_velocity": 0,
            "metadata": {
                "hashtags": _first([tag for meta in said for tag in meta.hashtags], 10),
                "mentions": _first([name for meta in said for name in meta.mentions], 10),
                "source_urls": _first([url for meta in said for url in meta.source_urls], 10),
                "category": said[0].category if said else category(prompt),
                "engagement_known": False,
            },
        }
        return TrendData.model_validate(facts)

    def frame(self, subject: TrendData, *, safety: bool = False) -> Frame:
        """The frame of the draft. INVALID_PERSONA where the persona leaves no room for one."""
        return plan(
            subject, self.voice, "twitter", "single_post", now=subject.timestamp, safety=safety
        )


def _first(items: list[str], most: int) -> list[str]:
    return list(dict.fromkeys(items))[:most]


def fitted(draft: Draft, persona: Persona, most: int) -> str:
    """The fullest version of the draft within `most` characters, disclaimers included.

    INVALID_INPUT naming maxChars where the persona's disclaimers alone are longer.
    """
    fitting = [text for text in _versions(draft) if len(text) <= most]
    if fitting:
        return max(fitting, key=len)
    demanded = "\n\n".join(persona.disclaimers)
    room = most - len(demanded) - 2 if demanded else most
    if room < 1:
        field, why = "constraints.length.maxChars", f"leaves no room for: {demanded}"
        raise ChimeraError("INVALID_INPUT", f"{field} {why}", errors={field: [why]})
    head = cut(draft.captions.split("\n\n")[0], room)
    return "\n\n".join(filter(None, [head, demanded]))


def _versions(draft: Draft) -> Iterator[str]:
    for count in range(len(draft.hashtags), -1, -1):
        yield "\n\n".join(filter(None, [draft.captions, " ".join(draft.hashtags[:count])]))
    if draft.platform_variants.twitter:
        yield draft.platform_variants.twitter.text


def less_sure(draft: Draft, most: float) -> Draft:
    """The draft with at most this confidence."""
    return replace(draft, confidence=min(draft.confidence, most))
