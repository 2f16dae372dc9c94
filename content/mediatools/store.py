"""Generated media as files named by their hash, and the public address of each.

The web server hands them out under /media/generated/; whoever runs here reads the file itself.
"""

import os
import re
import tempfile
from pathlib import Path

from django.conf import settings

from chimera.core.digest import sha256_hex

PREFIX = "/media/generated/"
TYPES = {
    "png": "image/png",
    "jpg": "image/jpeg",
    "webp": "image/webp",
    "mp4": "video/mp4",
}
NAME = re.compile(r"[0-9a-f]{64}\.(?:" + "|".join(TYPES) + ")")


def kind_of(data: bytes) -> str | None:
    """The extension that the first bytes stand for; None for anything we do not publish."""
    if data.startswith(b"\x89PNG\r\n\x1a\n"):
        return "png"
    if data.startswith(b"\xff\xd8\xff"):
        return "jpg"
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "webp"
    return "mp4" if data[4:8] == b"ftyp" else None


def put(data: bytes, extension: str) -> str:
    """Keep the bytes; the name they have from now on."""
    folder = _folder()
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{sha256_hex(data)}.{extension}"
    with tempfile.NamedTemporaryFile(dir=folder, delete=False) as fresh:
        fresh.write(data)
        fresh.flush()
        os.fsync(fresh.fileno())
    Path(fresh.name).chmod(0o644)
    Path(fresh.name).replace(path)
    return path.name


def find(name: str) -> Path | None:
    """The file of a name, if there is one."""
    path = _folder() / name
    return path if NAME.fullmatch(name) and path.is_file() else None


def url_of(name: str) -> str:
    """Where everybody can read the file."""
    return f"{settings.CHIMERA.chimera_web_url.rstrip('/')}{PREFIX}{name}"


def own_bytes(url: str) -> bytes | None:
    """The bytes behind one of our own addresses, read from the file; None for any other address."""
    begin = url_of("")
    path = find(url.removeprefix(begin)) if url.startswith(begin) else None
    return path.read_bytes() if path else None


def _folder() -> Path:
    return Path(settings.CHIMERA.data_dir) / "generated"
