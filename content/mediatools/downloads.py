"""From a provider's passing address to a file of ours."""

from io import BytesIO
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from PIL import Image

from chimera.core import http
from chimera.core.errors import ChimeraError
from content.mediatools import store
from content.mediatools.failures import MediaFailure

MAX_BYTES = 20 * 1024 * 1024
SECONDS = 20.0


def download(url: str, *, provider_url: str, video: bool) -> dict[str, Any]:
    """`{url, sha256, size_bytes}` of the stored file, and width and height of a picture.

    MediaFailure where the address has expired or gives something else than media.
    """
    try:
        data = http.fetch(
            url, allow_private=_local(url, provider_url), timeout=SECONDS, max_bytes=MAX_BYTES
        )
    except ChimeraError as problem:
        raise MediaFailure(f"The result cannot be downloaded: {problem.message}") from None
    extension = store.kind_of(data)
    if extension is None or (extension == "mp4") != video:
        raise MediaFailure("The result is not the kind of media that was ordered")
    size = {} if video else _size(data)
    name = store.put(data, extension)
    return size | {"url": store.url_of(name), "sha256": name[:64], "size_bytes": len(data)}


def _local(url: str, provider_url: str) -> bool:
    """A provider on this machine hands out addresses of this machine; only a sandbox has one."""
    same = urlsplit(url).hostname == urlsplit(provider_url).hostname
    return bool(settings.CHIMERA.is_sandbox and same)


def _size(data: bytes) -> dict[str, int]:
    try:
        with Image.open(BytesIO(data)) as picture:
            return {"width": picture.width, "height": picture.height}
    except (OSError, Image.DecompressionBombError):
        raise MediaFailure("The result is a broken picture") from None
