"""The deterministic offline writer: a post out of a trend and a persona, no model, no network.

It says what the headline says and adds questions, points of view and things to look for that hold
for the whole subject. It adds no fact: no number, date, name or quotation that the trend lacks.
The same input gives the same post, because every choice is a hash of the input.
"""

from dataclasses import dataclass
from datetime import datetime

from agents.schemas import Persona
from chimera.core.errors import ChimeraError
from content.llm.hashtags import hashtags
from content.llm.story import Story, joined, lay_out, slides, tell
from content.llm.writer import Writer, seed_of
from content.relevance import score
from content.schemas import (
    HISTORICAL_AGE,
    TWEET_WEIGHT,
    ContentType,
    InstagramVariant,
    Platform,
    PlatformVariants,
    TikTokVariant,
    TrendData,
    TwitterVariant,
    YouTubeVariant,
)
from content.sources.clean import cut
from content.tweets import tweet_weight

OFFLINE_MODEL = "offline-composer"
_SCRIPT, _CAPTIONS = (50, 5000), (20, 2000)
_UNSURE_CAP = 0.75
_NO_ANGLES = str.maketrans("<>", "‹›")  # YouTube refuses the others
_EMOJI = {"none": 0, "minimal": 1, "moderate": 2, "heavy": 4}


@dataclass(frozen=True)
class Draft:
    """A written post; confidence 0..1, prompts for the media tools."""

    script: str
    captions: str
    hashtags: list[str]
    platform_variants: PlatformVariants
    confidence: float
    image_prompt: str
    video_prompt: str


@dataclass(frozen=True)
class Frame:
    """What is settled before the wording: who speaks, the parts of the story, emoji and hashtags."""

    writer: Writer
    story: Story
    emoji: list[str]
    tags: list[str]
    platform: Platform
    content_type: ContentType
    now: datetime

    def script(self, story: Story) -> str:
        """The script with the words of `story` in the places of this frame."""
        return _script(self.writer, story, self.content_type, self.emoji)


def compose(
    trend: TrendData,
    persona: Persona,
    platform: Platform,
    content_type: ContentType,
    *,
    now: datetime,
    safety: bool = False,
) -> Draft:
    """A draft within every limit of a ContentPackage.

    safety: a second try after an offensive draft; sober voice and, for grave news, no headline.
    Raises INVALID_PERSONA where forbidden words or disclaimers leave no room for a post.
    """
    frame = plan(trend, persona, platform, content_type, now=now, safety=safety)
    return write(frame, frame.story, frame.tags)


def plan(
    trend: TrendData,
    persona: Persona,
    platform: Platform,
    content_type: ContentType,
    *,
    now: datetime,
    safety: bool = False,
) -> Frame:
    """The frame of a draft with the composer's own words in every place."""
    writer = Writer(trend, persona, seed_of(trend, persona, platform, content_type), safety)
    _check_disclaimers(writer, persona)
    story = tell(writer)
    names = writer.topic.names if writer.named else ()
    interests = [] if writer.sober else writer.fitting_interests()
    tags = hashtags(trend, persona, names, interests, writer.angles, writer.allowed)
    return Frame(writer, story, _emoji(writer), tags, platform, content_type, now)


def write(frame: Frame, story: Story, tags: list[str]) -> Draft:
    """The draft that the story makes in the frame; its limits are checked whoever worded it."""
    writer, emoji = frame.writer, frame.emoji
    script = frame.script(story)
    captions = _captions(writer, story, emoji)
    _check_lengths(script, captions, tags)
    return Draft(
        script=script,
        captions=captions,
        hashtags=tags,
        platform_variants=_variants(frame.platform, writer, story, captions, tags, script, emoji),
        confidence=_confidence(writer, frame.platform, frame.now),
        image_prompt=_image_prompt(writer),
        video_prompt=_video_prompt(writer, frame.platform),
    )


def _check_disclaimers(writer: Writer, persona: Persona) -> None:
    clash = [text for text in persona.disclaimers if not writer.allowed(text)]
    if clash:
        raise _unsayable("required_disclaimers", f"contain a forbidden word: {cut(clash[0], 80)}")


def _check_lengths(script: str, captions: str, tags: list[str]) -> None:
    for text, (least, most) in ((script, _SCRIPT), (captions, _CAPTIONS)):
        if len(text) < least:
            raise _unsayable("forbidden_words", "leave nothing to say; forbid fewer words")
        if len(text) > most:
            raise _unsayable("required_disclaimers", "are too long for a post; shorten them")
    if len(tags) < 3:
        raise _unsayable("forbidden_words", "leave fewer than three hashtags; forbid fewer words")


def _unsayable(field: str, why: str) -> ChimeraError:
    return ChimeraError("INVALID_PERSONA", f"{field} {why}", errors={field: [why]})


def _emoji(writer: Writer) -> list[str]:
    """The emoji of the post in the order of use; none on sober posts."""
    wanted = 0 if writer.sober else _EMOJI[writer.persona.content_style.emoji_usage]
    signs = [sign for sign in writer.angles.emoji if sign not in "\ufe0f\u200d"]
    return signs[:wanted]


def _decorated(text: str, emoji: list[str], place: int) -> str:
    return f"{text} {emoji[place]}" if text and place < len(emoji) else text


def _script(writer: Writer, story: Story, content_type: ContentType, emoji: list[str]) -> str:
    """A spoken script has no emoji; a written one has the persona's."""
    style = writer.persona.content_style.storytelling_style
    if content_type != "video_script":
        story = Story(
            story.lead, _decorated(story.headline, emoji, 0), story.opening, story.points,
            story.personal, story.ask, _decorated(story.call, emoji, 1), story.close,
        )  # fmt: skip
    return "\n\n".join([lay_out(story, content_type, style), *writer.persona.disclaimers])


def _captions(writer: Writer, story: Story, emoji: list[str]) -> str:
    """The text under the post: headline, as many points as the persona likes, question, call."""
    many = {"concise": 1, "medium": 2, "detailed": 3}
    points = story.points[: many[writer.persona.content_style.post_length_preference]]
    if len(emoji) > 2 and points:
        points[0] = _decorated(points[0], emoji, 2)
    lines = [
        joined(story.lead, _decorated(story.headline, emoji, 0)),
        joined(*points),
        joined(*story.personal[-1:]),
        joined(story.ask, _decorated(story.call, emoji, 1)),
        writer.link(),
        *writer.persona.disclaimers,
    ]
    return "\n\n".join(line for line in lines if line)


def _variants(
    platform: Platform,
    writer: Writer,
    story: Story,
    captions: str,
    tags: list[str],
    script: str,
    emoji: list[str],
) -> PlatformVariants:
    """What is posted on the platform the draft was made for."""
    full = f"{captions}\n\n{' '.join(tags)}"
    if platform == "twitter":
        return PlatformVariants(twitter=TwitterVariant(text=_tweet(writer, story, tags, emoji)))
    if platform == "tiktok":
        return PlatformVariants(tiktok=TikTokVariant(description=_within(captions, tags, 2200)))
    if platform == "instagram":
        caption = _within(captions, tags, 2200)
        return PlatformVariants(
            instagram=InstagramVariant(carousel_items=slides(script), caption=caption)
        )
    title = cut(story.headline.rstrip("."), 100)
    return PlatformVariants(
        youtube=YouTubeVariant(
            title=title.translate(_NO_ANGLES), description=full.translate(_NO_ANGLES)
        )
    )


def _within(captions: str, tags: list[str], limit: int) -> str:
    """Captions with as many hashtags as fit."""
    for count in range(len(tags), 0, -1):
        text = f"{captions}\n\n{' '.join(tags[:count])}"
        if len(text) <= limit:
            return text
    return captions


def _tweet(writer: Writer, story: Story, tags: list[str], emoji: list[str]) -> str:
    """The fullest version that X takes: points go first, then the question, then hashtags."""
    headline = _decorated(story.headline, emoji, 0)
    first = story.points[0] if story.points else ""
    bodies: tuple[list[str], ...] = (
        [joined(story.lead, headline, first), joined(story.ask)],
        [joined(headline, first), story.ask],
        [joined(headline, first)],
        [headline, story.ask],
        [headline],
        [cut(story.headline, 60)],
        [],
    )
    fixed = [part for part in (writer.link(), *writer.persona.disclaimers) if part]
    for body in bodies:
        for count in (3, 2, 1):
            pieces = [*body, *fixed, " ".join(tags[:count])]
            text = "\n\n".join(piece for piece in pieces if piece)
            if tweet_weight(text) <= TWEET_WEIGHT and (body or not fixed):
                return text
    raise _unsayable("required_disclaimers", "leave no room for a post on X; shorten them")


def _confidence(writer: Writer, platform: Platform, now: datetime) -> float:
    """How good the draft can be: what the trend gives, and how it fits persona and platform."""
    trend, persona = writer.trend, writer.persona
    interests = persona.target_audience.interests[:10]
    fit = score([trend], interests)[0].score if interests else 0.0
    value = 0.78 + 0.08 * fit
    value += 0.03 * (trend.metadata.category != "other")
    value += 0.02 * bool(trend.metadata.hashtags) + 0.02 * bool(trend.metadata.source_urls)
    value += 0.04 * (float(getattr(persona.platform_preferences, platform)) - 0.5)
    value -= 0.05 * writer.grave + 0.08 * (not writer.named)
    value -= 0.08 * (now - trend.timestamp > HISTORICAL_AGE)
    cap = _UNSURE_CAP if trend.sentiment in ("mixed", "unknown") else 0.95
    return round(max(0.5, min(cap, value)), 2)


def _image_prompt(writer: Writer) -> str:
    subject = writer.topic.line.rstrip(".") if writer.named else writer.trend.metadata.category
    brand = writer.persona.brand_guidelines
    colours = f"; accents in {', '.join(brand.colors)}" if brand and brand.colors else ""
    scene = "quiet documentary scene, neutral light" if writer.grave else writer.angles.scene
    return f"{subject}; {scene}{colours}; no lettering, no logos, no recognisable faces"


def _video_prompt(writer: Writer, platform: Platform) -> str:
    shape = "16:9" if platform in ("youtube", "twitter") else "9:16"
    return f"{_image_prompt(writer)}; slow camera movement; {shape}"
