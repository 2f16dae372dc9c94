"""On Instagram a post is made once, whatever fails: the container, which is kept, is published once.

Whether something was posted twice is asked of the server, which counts what it accepts.
"""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

import pytest
import time_machine

from chimera.core.clock import now
from chimera.core.ids import new_id
from content.platforms import http
from content.platforms.base import OutcomeUnknown, PlatformFailure, Processing
from tests.content.platforms.driver import FAULTS, Post, bare, photo
from tests.content.platforms.on_instagram import INSTAGRAM, PUBLISH, STEPS, created, post_of, video
from tests.fakes.fixtures import FakeServer


@pytest.fixture
def server(fake: Callable[[str], FakeServer], monkeypatch: pytest.MonkeyPatch) -> FakeServer:
    monkeypatch.setattr(http, "DEADLINE_SEC", 1.0)
    return fake("instagram")


# --- every fault at every step ----------------------------------------------------------------


@pytest.mark.req("X2", "A5.5")
@pytest.mark.parametrize("kind", FAULTS)
@pytest.mark.parametrize(("method", "path"), STEPS)
def test_a_photo_is_posted_once_whatever_fails(
    server: FakeServer, method: str, path: str, kind: str
) -> None:
    post = post_of(server)
    server.arm(kind, path=path, method=method)
    found = post.to_the_end()
    (effect,) = server.effects()
    assert found.post_id == effect["id"]
    assert effect["container"] == post.intent.handles["container"]


@pytest.mark.req("X2")
@pytest.mark.parametrize("kind", FAULTS)
def test_an_address_that_cannot_be_read_does_not_undo_the_post(
    server: FakeServer, kind: str
) -> None:
    post = post_of(server)
    server.arm(kind, path="/v25.0/179", method="GET")
    with pytest.raises(Processing, match="has published the post"):
        post.advance()
    assert post.intent.handles["media_id"] == server.effects()[0]["id"]
    assert post.advance().post_id == server.effects()[0]["id"]
    assert len(server.calls(PUBLISH)) == 1


@pytest.mark.req("X2")
@pytest.mark.parametrize("kind", FAULTS)
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_a_carousel_is_posted_once_whatever_fails(
    server: FakeServer, method: str, kind: str
) -> None:
    post = post_of(server, photo("a.jpg"), photo("b.jpg"))
    server.arm(kind, method=method, path="/v25.0/")
    post.to_the_end()
    assert len(server.effects()) == 1


@pytest.mark.req("X2")
@pytest.mark.parametrize("media", [1, 3])
@pytest.mark.parametrize("commit", range(1, 6))
def test_a_worker_that_dies_after_any_commit_leaves_one_post(
    server: FakeServer, media: int, commit: int
) -> None:
    post = post_of(server, *(photo(f"{number}.jpg") for number in range(media)))
    post.kill_after = commit
    post.to_the_end()
    assert len(server.effects()) == 1
    assert created(server) == (1 if media == 1 else 4)


# --- the container is the guard ---------------------------------------------------------------


@pytest.mark.req("X2")
def test_after_a_lost_reply_the_container_is_read_and_not_published_again(
    server: FakeServer,
) -> None:
    post = post_of(server)
    server.arm("cut_after_effect")
    with pytest.raises(OutcomeUnknown):
        post.advance()
    assert "media_id" not in post.intent.handles
    server.arm("unlisted")
    with pytest.raises(Processing, match="does not list it yet"):
        INSTAGRAM.lookup(bare(post.intent))
    found = INSTAGRAM.lookup(bare(post.intent))
    assert found and found.post_id == server.effects()[0]["id"]
    assert len(server.calls(PUBLISH)) == 1


@pytest.mark.req("X2")
def test_a_newer_post_of_the_account_is_not_taken_for_ours(server: FakeServer) -> None:
    post = post_of(server)
    server.arm("cut_after_effect")
    with pytest.raises(OutcomeUnknown):
        post.advance()
    other = replace(post.intent, intent_id=new_id(), text="Another day", handles={})
    Post(INSTAGRAM, other).advance()

    assert post.advance().post_id == server.effects()[0]["id"]


@pytest.mark.req("X2")
def test_of_two_posts_with_one_caption_none_is_guessed(server: FakeServer) -> None:
    post = post_of(server)
    server.arm("cut_after_effect")
    with pytest.raises(OutcomeUnknown):
        post.advance()
    Post(INSTAGRAM, replace(post.intent, intent_id=new_id(), handles={})).advance()

    with pytest.raises(Processing, match="does not list it yet"):
        post.advance()
    with time_machine.travel(now() + timedelta(minutes=11)):
        found = post.advance()
    assert found.post_id == f"container:{post.intent.handles['container']}"
    assert found.post_url == "https://www.instagram.com/aurora_style/"
    assert len(server.effects()) == 2
    with pytest.raises(PlatformFailure, match="did not name the post"):
        INSTAGRAM.engagement(post.intent, found.post_id)


def test_an_older_post_with_the_same_caption_is_not_taken_for_ours(server: FakeServer) -> None:
    first = post_of(server)
    first.advance()
    with time_machine.travel(now() + timedelta(hours=1), tick=True):
        again = replace(first.intent, intent_id=new_id(), handles={}, begun_at=now())
        later = Post(INSTAGRAM, again)
        server.arm("cut_after_effect")
        with pytest.raises(OutcomeUnknown):
            later.advance()
        assert later.advance().post_id == server.effects()[1]["id"]


@pytest.mark.req("X2")
def test_a_container_found_published_at_the_send_is_not_published_again(
    server: FakeServer,
) -> None:
    post = post_of(server)
    found = post.advance()
    container = post.intent.handles["container"]
    blank = Post(INSTAGRAM, replace(post.intent, handles={"container": container}))
    assert blank.advance().post_id == found.post_id
    assert len(server.calls(PUBLISH)) == len(server.effects()) == 1


@pytest.mark.req("X2")
def test_a_container_that_has_expired_is_made_anew_and_posted_once(server: FakeServer) -> None:
    post = post_of(server, photo("a.jpg"), photo("b.jpg"))
    INSTAGRAM.prepare(post.intent, post.keep)
    first = post.intent.handles["container"]
    server.arm("expired", count=3)  # the carousel and both files
    post.to_the_end()
    (effect,) = server.effects()
    assert effect["container"] == post.intent.handles["container"] != first
    assert created(server) == 6


@pytest.mark.req("X2")
def test_a_container_that_was_published_is_never_replaced(server: FakeServer) -> None:
    post = post_of(server)
    server.arm("cut_after_effect")
    with pytest.raises(OutcomeUnknown):
        post.advance()
    server.arm("expired", count=9)  # touches only what was not published
    post.advance()
    assert created(server) == len(server.effects()) == 1


def test_a_container_in_progress_is_waited_for(server: FakeServer) -> None:
    post = post_of(server, video())
    server.arm("in_progress", count=2)
    for _ in range(2):
        with pytest.raises(Processing, match="fetching the files") as wait:
            post.advance()
        assert wait.value.retry_after == 30.0
    post.advance()
    assert created(server) == len(server.effects()) == 1


@pytest.mark.parametrize("subcode", ["2207052", "2207032", "2207053", "2207001", "2207003"])
def test_a_container_that_failed_in_passing_is_made_anew(server: FakeServer, subcode: str) -> None:
    post = post_of(server)
    server.arm(f"failed:{subcode}")
    post.to_the_end()
    assert (created(server), len(server.effects())) == (2, 1)


@pytest.mark.parametrize("subcode", ["2207026", "2207009", "2207010", "0000000"])
def test_a_container_that_failed_for_its_content_is_not_made_anew(
    server: FakeServer, subcode: str
) -> None:
    post = post_of(server)
    server.arm(f"failed:{subcode}")
    for _ in range(2):
        with pytest.raises(PlatformFailure, match=subcode) as failure:
            post.advance()
        assert failure.value.kind == "content_rejected"
    assert (created(server), server.effects()) == (1, [])
