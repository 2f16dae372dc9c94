"""What each network takes at most."""

from dataclasses import dataclass

from content.platforms.base import Media
from content.tweets import tweet_weight


@dataclass(frozen=True)
class Limits:
    """text: characters, weighted ones on X; media: number of files."""

    text: int
    media: int


LIMITS = {
    "twitter": Limits(text=280, media=4),
    "tiktok": Limits(text=2200, media=10),
    "instagram": Limits(text=2200, media=10),
    "youtube": Limits(text=5000, media=1),
}


def text_length(platform: str, text: str) -> int:
    """The length as the platform counts it: on X a link is 23 and most scripts weigh double."""
    return tweet_weight(text) if platform == "twitter" else len(text)


def problems(platform: str, text: str, media: tuple[Media, ...]) -> list[str]:
    """What the platform would refuse, as sentences; empty when it is fine."""
    limits, length, found = LIMITS[platform], text_length(platform, text), []
    if not text.strip() and not media:
        found.append("a post needs a text or media")
    if length > limits.text:
        found.append(f"the text has {length} characters, {platform} allows {limits.text}")
    if len(media) > limits.media:
        found.append(f"the post has {len(media)} media files, {platform} allows {limits.media}")
    return found
