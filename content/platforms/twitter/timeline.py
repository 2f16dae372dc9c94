"""Is a post of the timeline the one that was sent? Timelines escape it and put links behind t.co."""

import html
import re
from typing import Any

from chimera.core.digest import nfc
from content.platforms.base import PublishIntent

_SHORT = re.compile(r"https://t\.co/\w+")


def is_same(post: dict[str, Any], intent: PublishIntent) -> bool:
    """True when the text and the number of files agree. post: a post object of API v2."""
    attached = (post.get("attachments") or {}).get("media_keys") or []
    if len(attached) != len(intent.media):
        return False
    urls = (post.get("entities") or {}).get("urls") or []
    pattern = _pattern(str(post["text"]), {str(url.get("url")): url for url in urls})
    return re.fullmatch(pattern, nfc(intent.text).strip()) is not None


def _pattern(shown: str, urls: dict[str, dict[str, Any]]) -> str:
    """What the text must have been before X shortened its links and added the one of the media."""
    parts, end = [], 0
    for link in _SHORT.finditer(shown):
        parts.append(_literal(shown[end : link.start()]))
        parts.append(_original(urls.get(link.group())))
        end = link.end()
    parts.append(_literal(shown[end:]))
    return r"\s*".join(part for part in parts if part)


def _literal(text: str) -> str:
    return re.escape(nfc(html.unescape(text)).strip())


def _original(url: dict[str, Any] | None) -> str:
    """A link as it may have been written: with or without its scheme; nothing for attached media."""
    if url and url.get("media_key"):
        return ""
    if not url or not url.get("expanded_url"):
        return r"\S+"
    bare = str(url["expanded_url"]).partition("://")[2].rstrip("/")
    return rf"(?i:https?://)?{re.escape(bare)}/?"
