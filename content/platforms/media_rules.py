"""What networks ask of media files and captions, where several ask the same."""

import re
from mimetypes import guess_type
from urllib.parse import urlsplit

from django.conf import settings

from chimera.core.http import is_public
from content.platforms.base import Media
from content.platforms.formats import mime_type

_DISCLOSURE = re.compile(
    r"#(ai|aigc|ai_?generated|made_?with_?ai)\b|\bai[- ]generated\b|\bmade (with|by) ai\b", re.I
)


def media_type_of(media: Media) -> str:
    """The MIME type by the bytes; where they are not at hand, by the ending; "" if unknown."""
    if media.body:
        return mime_type(media.body)
    return guess_type(urlsplit(media.url).path)[0] or ""


def utf16_length(text: str) -> int:
    """Length in UTF-16 code units, in which an emoji is 2."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def discloses_ai(text: str) -> bool:
    """True where a caption says that the content was made with AI."""
    return bool(_DISCLOSURE.search(text))


def unreachable(url: str) -> str:
    """Why a network could not fetch this file itself, as a sentence; "" when it could.

    With the networks' local servers (CHIMERA_PLATFORM=local) every address will do.
    """
    if settings.CHIMERA.chimera_platform == "local":
        return ""
    parts = urlsplit(url)
    if parts.scheme != "https":
        return f"the file {url} needs a public https address, from which the platform fetches it"
    if not _is_public_host(parts.hostname or ""):
        return f"the file {url} lies inside this network, where the platform cannot fetch it"
    return ""


def _is_public_host(host: str) -> bool:
    try:
        return is_public(host)
    except ValueError:  # a name, not an address
        return "." in host and not host.endswith((".local", ".internal", ".localhost", ".test"))
