"""The sentences of one post: chosen by the seed, kept clear of what the persona never says."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from agents.schemas import Persona, VoiceTone
from chimera.core.digest import digest, sha256_hex
from content.llm.angles import ANGLES, Angles
from content.llm.phrases import (
    ABOUT_ASK,
    CALLS,
    FORMAL_CALLS,
    NO_LINK_CALL,
    SOBER,
    SOBER_ASK,
    SOBER_LOOK,
    SOBER_WHY,
    VOICES,
    Voice,
)
from content.llm.topic import Topic, analyse
from content.relevance import score
from content.schemas import TrendData
from content.themes import stem, words
from content.validation.match import has_word
from content.wordlists import word_set

_GRAVE = frozenset(map(stem, word_set("grave", "words")))
_KEPT_INTEREST = 0.4


@dataclass
class Writer:
    """One trend in one persona's voice. Every sentence is used once and passes `allowed`."""

    trend: TrendData
    persona: Persona
    seed: str
    safety: bool = False
    topic: Topic = field(init=False)
    grave: bool = field(init=False)
    used: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.topic = analyse(self.trend.topic)
        self.grave = _is_grave(self.trend)
        self.named = self.allowed(self.topic.line) and not (self.safety and self.grave)

    @property
    def sober(self) -> bool:
        """Grave news, or a second try after an offensive draft: no jokes, no emoji."""
        return self.grave or self.safety

    @property
    def angles(self) -> Angles:
        return ANGLES[self.trend.metadata.category]

    @property
    def voice(self) -> Voice:
        return SOBER if self.grave else VOICES[self.tone]

    @property
    def tone(self) -> VoiceTone:
        """The persona's tone, or a formal one on a second try."""
        return "formal" if self.safety else self.persona.voice_tone

    def allowed(self, text: str) -> bool:
        """Whether the persona may say it."""
        never = [*self.persona.vocabulary.forbidden_words, *self.persona.forbidden_associations]
        return not has_word(text, never)

    def pick(self, pool: Iterable[str], **fill: str) -> str:
        """An unused allowed sentence of the pool, preferred words first; "" if there is none."""
        said = [text.format(**fill) if fill else text for text in pool]
        free = [text for text in said if text not in self.used and self.allowed(text)]
        if not free:
            return ""
        best = min(free, key=lambda text: (not self._liked(text), self._chance(text)))
        self.used.add(best)
        return best

    def _chance(self, text: str) -> str:
        return sha256_hex((self.seed + text).encode())

    def _liked(self, text: str) -> bool:
        return has_word(text, self.persona.vocabulary.preferred_words)

    def headline(self) -> str:
        """The trend's headline as a sentence, or where it goes unsaid, its subject area."""
        if self.named:
            return self.topic.line
        area = self.trend.metadata.category
        names = [] if self.safety else self.topic.proper
        options = [f"A story about {name} is making the rounds." for name in names]
        options += [f"There is a new story from {area}."] if area != "other" else []
        options += ["There is a story making the rounds.", "Something new today."]
        return next((text for text in options if self.pick((text,))), "")

    def lead(self) -> str:
        return self.pick(self.voice.lead)

    def turn(self) -> str:
        return self.pick(self.voice.turn, it=self.it)

    @property
    def it(self) -> str:
        """The subject as a noun phrase, where the headline is said at all."""
        return self.topic.it if self.named else "this story"

    def close(self) -> str:
        return self.pick(self.voice.close)

    def why(self) -> str:
        return self.pick(SOBER_WHY if self.grave else self.angles.why)

    def look(self) -> str:
        return self.pick(SOBER_LOOK if self.grave else self.angles.look)

    def ask(self) -> str:
        about = ABOUT_ASK if self.it != "this story" else ()
        return self.pick(SOBER_ASK if self.grave else (*self.angles.ask, *about), it=self.it)

    def call(self) -> str:
        """What the reader is asked to do; never to buy something beneath grave news."""
        wish = self.persona.engagement_strategy.call_to_action
        if wish == "none" or (wish == "purchase" and self.grave):
            return ""
        if wish == "link_click" and not self.link():
            return self.pick(NO_LINK_CALL)
        formal = self.sober or self.persona.voice_tone in ("formal", "technical")
        pool = FORMAL_CALLS.get(wish) if formal else None
        return self.pick(pool or CALLS[wish], name=self.persona.name.strip())

    def link(self) -> str:
        """The trend's first source, for personas that want their readers to click."""
        if self.persona.engagement_strategy.call_to_action != "link_click":
            return ""
        return next(filter(self.allowed, self.trend.metadata.source_urls), "")

    def preferred(self) -> str:
        """A line with the persona's own words, unless the post already says one of them."""
        if self.grave:
            return ""
        liked = [w for w in self.persona.vocabulary.preferred_words if len(w) <= 30]
        liked = [w for w in liked if self.allowed(w)]
        fitting = self.fitting_interests() or score([self.trend], liked[:10] or [""])[0].score > 0.4
        if not liked or not fitting or has_word(" ".join([self.topic.line, *self.used]), liked):
            return ""
        return self.pick(self.voice.words, words=", ".join(self._ranked(liked)[:2]))

    def interest(self) -> str:
        """A line for the part of the audience whose interest the trend meets; grave news is
        everybody's."""
        fitting = [] if self.grave else self.fitting_interests()
        return self.pick(self.voice.interest, interest=fitting[0]) if fitting else ""

    def fitting_interests(self) -> list[str]:
        """The audience's interests that the trend meets, best first."""
        interests = [i for i in self.persona.target_audience.interests if 2 < len(i) <= 40]
        scored = [(score([self.trend], [text])[0].score, text) for text in interests]
        return [text for worth, text in sorted(scored, reverse=True) if worth >= _KEPT_INTEREST]

    def value(self) -> str:
        """A line on what the persona stands for."""
        values = [v for v in self.persona.values.core_values if len(v) <= 30]
        return self.pick(self.voice.values, values=listed(values[:2])) if values else ""

    def _ranked(self, options: Sequence[str]) -> list[str]:
        return sorted(options, key=self._chance)

    def numbers(self) -> str:
        """The reactions the trend counts, in words of its own figures."""
        counted = self.trend.engagement
        pairs = ((counted.likes, "like"), (counted.comments, "comment"), (counted.shares, "share"))
        parts = [f"{n:,} {name}{'' if n == 1 else 's'}" for n, name in pairs if n]
        if not self.trend.metadata.engagement_known or not parts:
            return self.pick(("There are no counts here yet, only the story itself.",))
        return self.pick((f"The count so far: {listed(parts)}.",))


def _is_grave(trend: TrendData) -> bool:
    if trend.sentiment == "negative" or (
        trend.sentiment == "mixed" and trend.metadata.category == "news"
    ):
        return True
    return any(stem(word) in _GRAVE for word in words(trend.topic))


def listed(items: Sequence[str]) -> str:
    """The items as a phrase: a, b and c."""
    if len(items) < 2:
        return "".join(items)
    return f"{', '.join(items[:-1])} and {items[-1]}"


def seed_of(trend: TrendData, persona: Persona, platform: str, content_type: str) -> str:
    """The seed of every choice: the same input gives the same post."""
    spoken = persona.model_dump(mode="json", exclude={"created_at", "updated_at", "version"})
    return digest([trend.stable(), spoken, platform, content_type])
