"""A post as its platform will show it, computed from the frozen action and the frozen content."""

from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from content.sources.clean import hidden_characters as hidden_places
from content.tweets import tweet_fits, tweet_weight

LABELS = {"twitter": "X", "tiktok": "TikTok", "instagram": "Instagram", "youtube": "YouTube"}
ICONS = {name: f"brand-{'x' if name == 'twitter' else name}" for name in LABELS}
LIMITS = {"twitter": 280, "tiktok": 2200, "instagram": 2200, "youtube": 5000}


@dataclass(frozen=True)
class Media:
    """One file of the post; `url` is empty when it is not an address a page may load."""

    url: str
    is_video: bool
    fingerprint: str
    number: int


@dataclass(frozen=True)
class Preview:
    """What one platform will show. `text` fits the limit, `beyond` is what would be cut."""

    platform: str
    label: str
    icon: str
    handle: str
    name: str
    title: str
    text: str
    beyond: str
    used: int
    limit: int
    media: list[Media] = field(default_factory=list)

    @property
    def template(self) -> str:
        return f"approvals/post_{self.platform}.html"

    @property
    def initial(self) -> str:
        return self.name[:1].upper()


def post_preview(
    platform: str, *, action: dict[str, Any], context: dict[str, Any], name: str
) -> Preview:
    """The preview on a platform of LABELS; the text is the action's, which is what will be sent."""
    text = str(action.get("text", ""))
    limit = LIMITS[platform]
    cut = _cut(platform, text, limit)
    account = context.get("account") or {}
    return Preview(
        platform=platform,
        label=LABELS[platform],
        icon=ICONS[platform],
        handle=str(account.get("handle") or action.get("account", "")).removeprefix("@"),
        name=name,
        title=_title(platform, context.get("content") or {}),
        text=text[:cut],
        beyond=text[cut:],
        used=text_length(platform, text),
        limit=limit,
        media=_media(action, context.get("content") or {}),
    )


def text_length(platform: str, text: str) -> int:
    """Characters as the platform counts them (X weighs links and wide characters)."""
    return tweet_weight(text) if platform == "twitter" else len(text)


def _cut(platform: str, text: str, limit: int) -> int:
    if text_length(platform, text) <= limit:
        return len(text)
    return tweet_fits(text) if platform == "twitter" else limit


def _title(platform: str, content: dict[str, Any]) -> str:
    variant = (content.get("platform_variants") or {}).get(platform) or {}
    return str(variant.get("title", ""))


def _media(action: dict[str, Any], content: dict[str, Any]) -> list[Media]:
    described = {item.get("url"): item for item in content.get("media_metadata") or []}
    fingerprints = action.get("media") or []
    files = []
    for index, url in enumerate(content.get("media_urls") or []):
        about = described.get(url, {})
        fingerprint = fingerprints[index] if index < len(fingerprints) else about.get("sha256", "")
        is_video = _is_video(url, str(about.get("type", "")))
        files.append(Media(_loadable(url), is_video, str(fingerprint or ""), index + 1))
    return files


def _is_video(url: str, described: str) -> bool:
    """Whether a page shows it as a video. The file's name comes first: the sandbox's videos are
    animated images, which no video element plays."""
    path = urlsplit(url).path.lower()
    if path.endswith((".webp", ".gif", ".png", ".jpg", ".jpeg")):
        return False
    return described == "video" or path.endswith((".mp4", ".mov", ".webm"))


def _loadable(url: str) -> str:
    parts = urlsplit(url)
    return url if parts.scheme in ("http", "https") and parts.netloc else ""


def hidden_characters(text: str) -> list[str]:
    """Code points of the text that a reader cannot see, in order: U+200B, U+202E, ..."""
    return [f"U+{ord(text[at]):04X}" for at in hidden_places(text)]
