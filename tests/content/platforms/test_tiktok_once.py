"""On TikTok a post is made once, whatever fails and however often it has to be begun anew.

Whether something was posted twice is asked of the server, which counts what it accepts.
"""

from collections.abc import Callable
from datetime import timedelta

import pytest
import time_machine

from chimera.core.clock import now
from content.platforms import http
from content.platforms.base import Media, OutcomeUnknown
from tests.content.platforms.driver import FAULTS, photo
from tests.content.platforms.on_tiktok import INIT, PHOTOS, STATUS, TIKTOK, inits, post_of, video
from tests.fakes.fixtures import FakeServer


@pytest.fixture
def server(fake: Callable[[str], FakeServer], monkeypatch: pytest.MonkeyPatch) -> FakeServer:
    monkeypatch.setattr(http, "DEADLINE_SEC", 1.0)
    return fake("tiktok")


# --- every fault at every step ----------------------------------------------------------------


@pytest.mark.req("X2", "A5.5")
@pytest.mark.parametrize("kind", [*FAULTS, "token_expired"])
@pytest.mark.parametrize("path", ["/creator_info/", INIT, "/tiktok/video/", STATUS])
def test_a_video_is_posted_once_whatever_fails(server: FakeServer, path: str, kind: str) -> None:
    post = post_of(server)
    server.arm(kind, path=path)
    found = post.to_the_end()
    (effect,) = server.effects()
    assert found.post_id == effect["id"]
    assert effect["publish_id"] == post.intent.handles["publish_id"]


@pytest.mark.req("X2")
@pytest.mark.parametrize("kind", [*FAULTS, "token_expired"])
@pytest.mark.parametrize("path", ["/creator_info/", PHOTOS, STATUS])
def test_photos_are_never_posted_twice_whatever_fails(
    server: FakeServer, path: str, kind: str
) -> None:
    post = post_of(server, photo())
    server.arm(kind, path=path)
    unclear = path == PHOTOS and (
        kind.endswith("after_effect") or kind.startswith(("5", "c", "h", "s"))
    )
    if unclear:
        with pytest.raises(AssertionError, match="OutcomeUnknown"):
            post.to_the_end()
        assert len(server.calls(PHOTOS)) <= 1
    else:
        assert post.to_the_end().post_id == server.effects()[0]["id"]
    assert len(server.effects()) <= 1


@pytest.mark.req("X2")
def test_photos_whose_answer_was_lost_are_left_to_a_person(server: FakeServer) -> None:
    post = post_of(server, photo())
    server.arm("cut_after_effect", path=PHOTOS)
    with pytest.raises(OutcomeUnknown):
        post.advance()
    for _ in range(3):
        with pytest.raises(OutcomeUnknown, match="look at @aurora_style"):
            post.advance()
    assert len(server.effects()) == 1


@pytest.mark.req("X2")
@pytest.mark.parametrize("media", [(video(),), (photo(),)], ids=["video", "photo"])
@pytest.mark.parametrize("commit", range(1, 7))
def test_a_worker_that_dies_after_any_commit_leaves_one_post(
    server: FakeServer, media: tuple[Media, ...], commit: int
) -> None:
    post = post_of(server, *media)
    post.kill_after = commit
    post.to_the_end()
    assert len(server.effects()) == 1
    assert server.effects()[0]["publish_id"] == post.intent.handles["publish_id"]


# --- new starts -------------------------------------------------------------------------------


@pytest.mark.req("X2")
def test_an_upload_url_that_has_died_is_replaced_and_one_post_made(server: FakeServer) -> None:
    post = post_of(server)
    server.arm("upload_expired")
    post.to_the_end()
    assert inits(server) == 2  # the first one can never become a post: it has no bytes
    assert len(server.effects()) == 1


def test_an_upload_that_was_left_for_more_than_an_hour_is_opened_anew(server: FakeServer) -> None:
    post = post_of(server)
    TIKTOK.prepare(post.intent, post.keep)
    TIKTOK.prepare(post.intent, post.keep)
    assert inits(server) == 1
    with time_machine.travel(now() + timedelta(hours=1), tick=True):
        post.to_the_end()
    assert inits(server) == 2 and len(server.effects()) == 1


@pytest.mark.req("X2")
@pytest.mark.parametrize("commit", range(8, 15))
def test_a_worker_that_dies_in_a_new_start_never_mixes_two_uploads(
    server: FakeServer, commit: int
) -> None:
    post = post_of(server)
    post.kill_after = commit
    server.arm("upload_expired")
    post.to_the_end()
    (effect,) = server.effects()
    assert effect["publish_id"] == post.intent.handles["publish_id"]
    assert len(post.kept) >= commit


@pytest.mark.req("X2")
@pytest.mark.parametrize("reason", ["internal", "video_pull_failed"])
def test_a_failure_of_tiktoks_own_is_followed_by_a_new_start(
    server: FakeServer, reason: str
) -> None:
    post = post_of(server)
    server.arm(f"fail:{reason}")
    post.to_the_end()
    assert inits(server) == 2 and len(server.effects()) == 1


@pytest.mark.req("X2")
def test_bytes_that_tiktok_miscounts_make_no_second_post(server: FakeServer) -> None:
    post = post_of(server)
    server.arm("processing", count=2)
    server.arm("bytes_lost", count=2)
    post.to_the_end()
    assert inits(server) == len(server.effects()) == 1


@pytest.mark.req("X2")
def test_a_closed_upload_after_a_lost_reply_is_never_begun_anew(server: FakeServer) -> None:
    """TikTok counts no bytes although all have arrived: the second try of the last piece meets a 404."""
    post = post_of(server)
    server.arm("cut_after_effect", path="/tiktok/video/")
    server.arm("processing", count=8)
    server.arm("bytes_lost", count=8)
    with pytest.raises(OutcomeUnknown):
        post.advance()
    with pytest.raises(OutcomeUnknown, match="may have arrived"):
        post.advance()
    with time_machine.travel(now() + timedelta(hours=3), tick=True):
        for _ in range(4):
            with pytest.raises(OutcomeUnknown, match="whether the last bytes"):
                post.advance()
        post.to_the_end()
    assert inits(server) == len(server.effects()) == 1


@pytest.mark.req("X2")
def test_after_a_person_has_seen_that_there_is_no_post_it_is_begun_anew(server: FakeServer) -> None:
    post = post_of(server)
    TIKTOK.prepare(post.intent, post.keep)
    post.keep("final_sent", "lost")
    post.armed = True
    with pytest.raises(OutcomeUnknown):
        post.advance()
    post.armed = False  # what the decision does
    post.to_the_end()
    assert inits(server) == 2 and len(server.effects()) == 1
