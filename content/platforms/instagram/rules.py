"""What Instagram takes, known before anybody approves a post.

Sources: developers.facebook.com, "Content Publishing" and "IG User Media" (June 2026).
"""

import re

from content.platforms import limits
from content.platforms.base import Media
from content.platforms.media_rules import media_type_of, unreachable, utf16_length

MAX_TEXT = 2200
MAX_HASHTAGS = 30
MAX_MENTIONS = 20
MAX_ITEMS = 10
MAX_PHOTO_BYTES = 8 * 1024**2
MAX_VIDEO_BYTES = 300 * 1024**2
VIDEOS = ("video/mp4", "video/quicktime")
_HASHTAG = re.compile(r"#\w+")
_MENTION = re.compile(r"(?<!\w)@\w[\w.]*")


def problems(text: str, media: tuple[Media, ...]) -> list[str]:
    """What Instagram would refuse, as sentences; empty when it is fine."""
    if not media:
        return ["Instagram takes no post without a photo or a video: add one"]
    found = limits.problems("instagram", text, media)
    if len(text) <= MAX_TEXT < utf16_length(text):
        found.append(
            f"the text has {utf16_length(text)} characters as Instagram counts, it allows {MAX_TEXT}"
        )
    for pattern, most, name in (
        (_HASHTAG, MAX_HASHTAGS, "hashtags"),
        (_MENTION, MAX_MENTIONS, "mentions"),
    ):
        count = len(pattern.findall(text))
        if count > most:
            found.append(f"the text has {count} {name}, Instagram allows {most}")
    return found + [problem for item in media for problem in _of_file(item)]


def _of_file(item: Media) -> list[str]:
    kind = media_type_of(item)
    found = []
    if item.type == "image" and kind not in ("", "image/jpeg"):
        found.append(f"Instagram takes photos as JPEG alone, not as {kind}")
    if item.type == "image" and len(item.body) > MAX_PHOTO_BYTES:
        found.append("Instagram takes photos up to 8 MB each")
    if item.type == "video" and kind not in ("", *VIDEOS):
        found.append(f"Instagram takes videos as MP4 or MOV, not as {kind}")
    if item.type == "video" and len(item.body) > MAX_VIDEO_BYTES:
        found.append("Instagram takes videos up to 300 MB")
    return found + [why for why in [unreachable(item.url)] if why]
