"""Limits of the platforms."""

import re
from collections.abc import Iterator, Sequence

from content.schemas import TWEET_WEIGHT, ContentPackage, Platform
from content.tweets import tweet_weight
from content.validation.issue import Issue, Severity, texts

CAN_SEE = (
    "length of what would be posted, as the platform counts it",
    "media that a platform demands, and slides longer than a caption",
    "counts of hashtags and mentions, and engagement bait",
)
CANNOT_SEE = (
    "what a platform's own review decides",
    "the content of media",
    "community rules that need judgement",
)
_LONGEST = {"tiktok": 2200, "instagram": 2200, "youtube": 5000}
_MOST_TAGS = {"instagram": 30}
_MOST_MENTIONS = {"instagram": 20, "twitter": 10}
_BAIT = re.compile(
    r"\b(?:follow\s?(?:for|4)\s?follow|f4f|like\s?(?:for|4)\s?like|l4l|tag \d+ friends)\b", re.I
)


def posted_text(package: ContentPackage, platform: Platform) -> tuple[str, str]:
    """Field and text of what is posted: the variant, or captions and hashtags without one."""
    variants = package.platform_variants
    variant = getattr(variants, platform) if variants else None
    if variant is None:
        tags = " ".join(package.hashtags)
        return "captions", "\n\n".join(filter(None, [package.captions, tags]))
    name = {"twitter": "text", "instagram": "caption"}.get(platform, "description")
    return f"platform_variants.{platform}.{name}", getattr(variant, name)


def check(package: ContentPackage, platforms: Sequence[Platform]) -> Iterator[Issue]:
    """Breaches of the limits of each platform."""
    for platform in platforms:
        field, text = posted_text(package, platform)
        yield from _length(platform, field, text)
        yield from _counts(platform, field, text)
        yield from _media(package, platform)
    for field, text in texts(package):
        if ".carousel_items." in field and len(text) > _LONGEST["instagram"]:
            yield _issue(
                "error", f"a slide has more than {_LONGEST['instagram']} characters", field
            )
        for hit in _BAIT.finditer(text):
            yield _issue("warning", f'"{hit.group()}" is engagement bait; take it out', field)


def _issue(severity: Severity, message: str, field: str) -> Issue:
    return Issue(rule="platform_compliance", severity=severity, message=message, field=field)


def _length(platform: Platform, field: str, text: str) -> Iterator[Issue]:
    size = tweet_weight(text) if platform == "twitter" else len(text)
    most = TWEET_WEIGHT if platform == "twitter" else _LONGEST[platform]
    if size > most:
        yield _issue("error", f"{platform} takes {most} characters, this has {size}", field)
    if platform == "youtube" and re.search("[<>]", text):
        yield _issue("error", "youtube refuses < and > in titles and descriptions", field)


def _counts(platform: Platform, field: str, text: str) -> Iterator[Issue]:
    for sign, name, limits in (("#", "hashtags", _MOST_TAGS), ("@", "mentions", _MOST_MENTIONS)):
        count = len(re.findall(rf"(?<!\w){sign}\w", text))
        if count > limits.get(platform, count):
            yield _issue("error", f"{platform} takes {limits[platform]} {name}, not {count}", field)


def _media(package: ContentPackage, platform: Platform) -> Iterator[Issue]:
    if platform == "twitter":
        return
    kinds = {item.type for item in package.media_metadata or []}
    variants = package.platform_variants
    video = variants and variants.tiktok and variants.tiktok.video_url
    if not package.media_urls and not (platform == "tiktok" and video):
        yield _issue("error", f"{platform} needs an image or a video; generate media", "media_urls")
    elif platform == "youtube" and kinds and "video" not in kinds:
        yield _issue("error", "youtube needs a video, the package has images", "media_metadata")
