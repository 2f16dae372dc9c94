"""What TikTok takes, known before anybody approves a post.

Sources: developers.tiktok.com, "Direct Post", "Photo", "Media Transfer Guide" (July 2026).
"""

from content.platforms import limits
from content.platforms.base import Media
from content.platforms.media_rules import (
    discloses_ai,
    media_type_of,
    unreachable,
    utf16_length,
)
from content.platforms.tiktok.upload import MAX_VIDEO

VIDEO_TEXT = 2200
PHOTO_TEXT = 4000
MAX_PHOTO_BYTES = 20 * 1024**2
VIDEOS = ("video/mp4", "video/quicktime", "video/webm")
PHOTOS = ("image/jpeg", "image/webp")


def is_video(media: tuple[Media, ...]) -> bool:
    """True for a video post, false for a photo post."""
    return any(item.type == "video" for item in media)


def problems(text: str, media: tuple[Media, ...]) -> list[str]:
    """What TikTok would refuse, as sentences; empty when it is fine."""
    if not media:
        return ["TikTok takes no post without a video or photos: add one"]
    found = limits.problems("tiktok", text, media)
    return found + (_of_video if is_video(media) else _of_photos)(text, media)


def _of_video(text: str, media: tuple[Media, ...]) -> list[str]:
    found = []
    if len(media) > 1:
        found.append("TikTok takes one video alone: take the other files out")
    if len(text) <= VIDEO_TEXT < utf16_length(text):
        found.append(
            f"the text has {utf16_length(text)} characters as TikTok counts, a video allows {VIDEO_TEXT}"
        )
    for item in media:
        kind = media_type_of(item)
        if kind and item.type == "video" and kind not in VIDEOS:
            found.append(f"TikTok takes videos as MP4, MOV or WebM, not as {kind}")
        if len(item.body) > MAX_VIDEO:
            found.append("TikTok takes videos up to 4 GB")
    return found


def _of_photos(text: str, media: tuple[Media, ...]) -> list[str]:
    found = []
    if utf16_length(text) > PHOTO_TEXT:
        found.append(
            f"the text has {utf16_length(text)} characters as TikTok counts, photos allow {PHOTO_TEXT}"
        )
    if not discloses_ai(text):
        found.append(
            "TikTok has no AI label for photos: say in the text that AI made them, "
            "for example with #AIgenerated"
        )
    for item in media:
        kind = media_type_of(item)
        if kind and kind not in PHOTOS:
            found.append(f"TikTok takes photos as JPEG or WebP, not as {kind}")
        if len(item.body) > MAX_PHOTO_BYTES:
            found.append("TikTok takes photos up to 20 MB each")
        found += filter(None, [unreachable(item.url)])
    return found
