"""Media bytes: what is behind a URL, as the hash that an approval is bound to."""

from typing import Any
from urllib.parse import urlsplit

from django.conf import settings

from chimera.core import http
from chimera.core.digest import sha256_hex
from chimera.core.errors import ChimeraError
from content.mediatools.store import own_bytes
from content.platforms.base import Media

MAX_MEDIA_BYTES = 20 * 1024 * 1024


def _own_world(url: str) -> bool:
    """True for the media of the sandbox world, and nothing else of it."""
    env, asked = settings.CHIMERA, urlsplit(url)
    same_host = asked.netloc == urlsplit(env.chimera_world_url).netloc
    return bool(env.is_sandbox and same_host and asked.path.startswith("/media/"))


def media_of(package: dict[str, Any]) -> list[dict[str, str]]:
    """`[{url, sha256, type}]` of a package, hashed from the bytes that the URLs give now.

    A hash that the package states and the bytes contradict: INVALID_CONTENT.
    """
    return [
        {"url": item.url, "sha256": item.sha256, "type": item.type} for item in media_load(package)
    ]


def media_load(package: dict[str, Any]) -> list[Media]:
    """The files of a package with their bytes, as the URLs give them now; errors of `media_of`."""
    stated = {item["url"]: item for item in package.get("media_metadata") or []}
    return [_loaded(url, stated.get(url, {})) for url in package["media_urls"]]


def media_types(package: dict[str, Any]) -> list[str]:
    """`image` or `video` for each file, as the package states it or its name tells."""
    stated = {item["url"]: item for item in package.get("media_metadata") or []}
    return [_kind(url, stated.get(url, {})) for url in package["media_urls"]]


def _loaded(url: str, stated: dict[str, Any]) -> Media:
    body = own_bytes(url)  # our own web server may not be reachable from here
    if body is None:
        body = http.fetch(url, allow_private=_own_world(url), max_bytes=MAX_MEDIA_BYTES)
    found = sha256_hex(body)
    if stated.get("sha256") not in (None, "", found):
        message = f"The media behind {url} differ from the sha256 in media_metadata"
        raise ChimeraError("INVALID_CONTENT", message, errors={"media_metadata": [message]})
    return Media(url, found, _kind(url, stated), body, stated.get("duration_sec"))


def _kind(url: str, stated: dict[str, Any]) -> str:
    named_video = url.rsplit(".", 1)[-1] in ("mp4", "mov", "webm")
    return stated.get("type") or ("video" if named_video else "image")
