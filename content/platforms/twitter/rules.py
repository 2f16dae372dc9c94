"""What X would refuse. Source: docs.x.com media best practices and changelog, read 2026-11."""

import re

from content.platforms import limits
from content.platforms.base import Media
from content.platforms.formats import mime_type

MB = 1024 * 1024
MOST_BYTES = {"tweet_image": 5 * MB, "tweet_gif": 15 * MB, "tweet_video": 512 * MB}
SHORTEST_SEC, LONGEST_SEC = 0.5, 140.0
_CASHTAG = re.compile(r"(?<![\w$])\$[A-Za-z]{1,6}(?:[._][A-Za-z]{1,2})?(?!\w)")
_CATEGORY = {
    "image/jpeg": "tweet_image",
    "image/png": "tweet_image",
    "image/webp": "tweet_image",
    "image/gif": "tweet_gif",
    "video/mp4": "tweet_video",
    "video/quicktime": "tweet_video",
}


def problems(text: str, media: tuple[Media, ...]) -> list[str]:
    """What would be refused, as sentences; empty when it is fine."""
    found = limits.problems("twitter", text, media)
    cashtags = len(_CASHTAG.findall(text))
    if cashtags > 1:
        found.append(f"the text has {cashtags} cashtags, X allows 1; take the others out")
    for number, item in enumerate(media, 1):
        found += [f"file {number} {problem}" for problem in _file(item)]
    others = [category_of(item) for item in media if category_of(item) != "tweet_image"]
    if others and len(media) > 1:
        found.append("a GIF or a video stands alone in a post; take the other files out")
    return found


def category_of(item: Media) -> str:
    """X's media category by the bytes; by the declared type where they are not at hand; or ''."""
    if not item.body:
        return "tweet_video" if item.type == "video" else "tweet_image"
    return _CATEGORY.get(mime_type(item.body), "")


def _file(item: Media) -> list[str]:
    found, category = [], category_of(item)
    if not category:
        return ["is neither JPEG, PNG, WEBP, GIF, MP4 nor MOV"]
    if len(item.body) > MOST_BYTES[category]:
        found.append(f"has {len(item.body)} bytes, X allows {MOST_BYTES[category]}")
    lasts = item.seconds if category == "tweet_video" else None
    if lasts is not None and not SHORTEST_SEC <= lasts <= LONGEST_SEC:
        found.append(f"lasts {lasts:g} s, X allows {SHORTEST_SEC} to {LONGEST_SEC:g} s")
    return found
