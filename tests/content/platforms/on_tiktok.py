"""Posts on the local server of TikTok, and how its tests look at it."""

from typing import Any

from chimera.core.digest import sha256_hex
from content.platforms.base import Media
from content.platforms.registry import adapter_for
from tests.content.platforms.driver import Post, post_on
from tests.fakes.fixtures import FakeServer

TIKTOK = adapter_for("tiktok", "live")
INIT, PHOTOS, STATUS = "/video/init/", "/content/init/", "/status/fetch/"
MP4 = b"\x00\x00\x00\x18ftypisom"
TEXT = "Merkato knew first. #AddisStyle #AIgenerated"


def video(size: int = 60_000) -> Media:
    body = MP4 + bytes(size - len(MP4))
    return Media("https://media.example/a.mp4", sha256_hex(body), "video", body, 12.0)


def post_of(server: FakeServer, *media: Media, text: str = TEXT, **wanted: Any) -> Post:
    """A post of these files, or of one video."""
    return post_on(TIKTOK, server, text, media or (video(),), **wanted)


def inits(server: FakeServer) -> int:
    """How many inits the server has accepted."""
    return sum(call["status"] == 200 for call in server.calls("/init/"))
