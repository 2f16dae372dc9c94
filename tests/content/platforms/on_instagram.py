"""Posts on the local server of Instagram, and how its tests look at it."""

from typing import Any

from chimera.core.digest import sha256_hex
from content.platforms.base import Media
from content.platforms.registry import adapter_for
from tests.content.platforms.driver import Post, photo, post_on
from tests.fakes.fixtures import FakeServer

INSTAGRAM = adapter_for("instagram", "live")
LIMIT, CREATE, PUBLISH = "/content_publishing_limit", "/media", "/media_publish"
STEPS = [("GET", LIMIT), ("POST", CREATE), ("GET", "/v25.0/178"), ("POST", PUBLISH)]
TEXT = "Merkato knew first, says @selam. #AddisStyle"
MP4 = b"\x00\x00\x00\x18ftypisom"


def video() -> Media:
    return Media("https://media.example/a.mp4", sha256_hex(MP4), "video", MP4, 9.0)


def post_of(server: FakeServer, *media: Media, text: str = TEXT, **wanted: Any) -> Post:
    """A post of these files, or of one photo."""
    return post_on(INSTAGRAM, server, text, media or (photo(),), **wanted)


def created(server: FakeServer) -> int:
    """How many containers the server has made."""
    calls = server.calls(CREATE, "POST")
    return sum(call["status"] == 200 for call in calls if call["path"].endswith(CREATE))
