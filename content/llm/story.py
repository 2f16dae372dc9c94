"""The story of a post in parts, and how each content type lays the parts out.

Parts are the hook, two to five points, and the close. Labels such as "[0:00-0:03] Hook:",
"Slide 1:" and "1/5" are structure, not content.
"""

import re
from dataclasses import dataclass

from content.layout import LABEL
from content.llm.writer import Writer
from content.schemas import TWEET_WEIGHT, ContentType
from content.tweets import tweet_weight

_POINTS = {"concise": 2, "medium": 3, "detailed": 5}
_NUMERALS = {1: "One thought", 2: "Two thoughts", 3: "Three thoughts", 4: "Four thoughts",
             5: "Five thoughts"}  # fmt: skip
_WORDS_PER_SECOND = 2.5
_QUESTIONS = (
    "Why does it matter?",
    "What is worth looking at?",
    "What is the bigger picture?",
    "What comes after the first look?",
    "And what stays?",
)


@dataclass(frozen=True)
class Story:
    """A post in parts; `headline` is the part of the hook that says what it is about."""

    lead: str
    headline: str
    opening: str
    points: list[str]
    personal: list[str]
    ask: str
    call: str
    close: str

    @property
    def hook(self) -> str:
        return joined(self.lead, self.headline)

    @property
    def ending(self) -> str:
        return joined(self.ask, self.call)


def joined(*parts: str) -> str:
    """The parts that there are, as running text."""
    return " ".join(part for part in parts if part)


def tell(writer: Writer) -> Story:
    """The story in the persona's storytelling style."""
    style = writer.persona.content_style
    lead, headline = writer.lead(), writer.headline()
    kinds = (writer.why, writer.look, writer.why, writer.look, writer.why)
    points = [said for kind in kinds[: _POINTS[style.post_length_preference]] if (said := kind())]
    opening = _opening(writer, style.storytelling_style, len(points))
    if style.storytelling_style == "question_answer":
        points = _answers(writer, points)
    personal = [writer.interest()]
    if style.post_length_preference == "detailed" or style.storytelling_style == "inspirational":
        personal.append(writer.value())
    ask, call = writer.ask(), writer.call()
    close = writer.close() if not call or style.post_length_preference == "detailed" else ""
    personal.append(writer.preferred())
    return Story(lead, headline, opening, points, [p for p in personal if p], ask, call, close)


def _opening(writer: Writer, style: str, points: int) -> str:
    """The sentence between the headline and the points."""
    if style == "listicle" and points:
        return writer.pick((f"{_NUMERALS[points]} on {writer.it}:",))
    if style == "question_answer":
        return ""
    return writer.numbers() if style == "data_driven" and not writer.grave else writer.turn()


def _answers(writer: Writer, points: list[str]) -> list[str]:
    pairs = zip(_QUESTIONS, points, strict=False)
    return [joined(writer.pick((question,)), answer) for question, answer in pairs]


def parts(story: Story) -> list[str]:
    """Hook, points, the personal lines and the close; a line that announces ends the hook."""
    points, hook = list(story.points), story.hook
    if story.opening.endswith(":"):
        hook = joined(hook, story.opening)
    elif points:
        points[0] = joined(story.opening, points[0])
    return [hook, *points, joined(*story.personal), joined(story.ending, story.close)]


def lay_out(story: Story, content_type: ContentType, style: str) -> str:
    """The script of the content type."""
    sections = [part for part in parts(story) if part]
    if content_type == "video_script":
        return _video(sections)
    if content_type == "carousel":
        return "\n".join(f"Slide {at}: {text}" for at, text in enumerate(sections, start=1))
    if content_type == "thread":
        return _thread(sections)
    return _post(story, style)


def _post(story: Story, style: str) -> str:
    if style == "listicle" and len(story.points) > 1:
        body = "\n".join([story.opening, *(f"• {point}" for point in story.points)])
    elif style == "question_answer":
        body = "\n".join(story.points)
    else:
        body = joined(story.opening, *story.points)
    ending = joined(story.ask, story.call, story.close)
    return "\n\n".join(p for p in (story.hook, body, joined(*story.personal), ending) if p)


def _video(sections: list[str]) -> str:
    lines, second = [], 0
    for at, text in enumerate(sections):
        end = second + max(3, round(len(text.split()) / _WORDS_PER_SECOND))
        last = at == len(sections) - 1
        name = "Hook" if at == 0 else "Close" if last else f"Beat {at}"
        lines.append(f"[{_clock(second)}-{_clock(end)}] {name}: {text}")
        second = end
    return "\n".join(lines)


def _clock(second: int) -> str:
    return f"{second // 60}:{second % 60:02}"


def _thread(sections: list[str]) -> str:
    posts: list[str] = []
    for text in sections:
        posts += _fitting(text)
    return "\n\n".join(f"{at}/{len(posts)} {text}" for at, text in enumerate(posts, start=1))


def _fitting(text: str) -> list[str]:
    """The text as posts that X takes, split between sentences."""
    posts = [""]
    for sentence in re.split(r"(?<=[.!?:]) ", text):
        longer = joined(posts[-1], sentence)
        if posts[-1] and tweet_weight(longer) > TWEET_WEIGHT - 8:
            posts.append(sentence)
        else:
            posts[-1] = longer
    return posts


def slides(script: str) -> list[str]:
    """The slides of a carousel without their labels."""
    return [LABEL.sub("", line) for line in script.splitlines() if line.startswith("Slide ")][:10]
