"""The TikTok adapter against a server that behaves as TikTok does, in good times and in bad.

Whether something was posted twice is asked of the server, which counts what it accepts.
"""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

import pytest
import time_machine
from pytest_httpserver import HTTPServer

from chimera.core.clock import now
from content.platforms import http
from content.platforms.base import (
    Credentials,
    Engagement,
    Media,
    OutcomeUnknown,
    PlatformFailure,
    Processing,
)
from content.platforms.tiktok import api
from content.platforms.tiktok.upload import plan
from tests.content.platforms.driver import FAULTS, photo
from tests.content.platforms.on_tiktok import INIT, STATUS, TEXT, TIKTOK, inits, post_of, video
from tests.fakes.fixtures import FakeServer


@pytest.fixture
def server(fake: Callable[[str], FakeServer], monkeypatch: pytest.MonkeyPatch) -> FakeServer:
    monkeypatch.setattr(http, "DEADLINE_SEC", 1.0)
    return fake("tiktok")


# --- the good way -----------------------------------------------------------------------------


@pytest.mark.req("A5.8")
def test_a_video_is_posted_with_its_text_its_audience_and_the_ai_label(server: FakeServer) -> None:
    post = post_of(server)
    with pytest.raises(Processing, match="processing it"):
        post.advance()
    found = post.advance()

    (effect,) = server.effects()
    assert (effect["text"], effect["media"]) == (TEXT, [post.intent.media[0].sha256])
    assert (effect["privacy"], effect["is_aigc"]) == ("PUBLIC_TO_EVERYONE", True)
    assert found.post_id == effect["id"]
    assert found.post_url == f"https://www.tiktok.com/@aurora_style/video/{effect['id']}"
    assert inits(server) == 1


def test_a_persons_own_work_is_not_labelled(server: FakeServer) -> None:
    post = post_of(server)
    post.intent = replace(post.intent, made_by_ai=False)
    post.to_the_end()
    assert server.effects()[0]["is_aigc"] is False


@pytest.mark.req("A5.8")
def test_photos_are_posted_by_their_addresses(server: FakeServer) -> None:
    post = post_of(server, photo("a.jpg"), photo("b.jpg"))
    found = post.to_the_end()
    (effect,) = server.effects()
    assert effect["photos"] == ["https://media.example/a.jpg", "https://media.example/b.jpg"]
    assert effect["text"] == TEXT
    assert found.post_url == f"https://www.tiktok.com/@aurora_style/photo/{effect['id']}"


@pytest.mark.req("X2")
def test_the_handles_are_kept_before_the_first_byte(server: FakeServer) -> None:
    post = post_of(server)
    TIKTOK.prepare(post.intent, post.keep)
    assert post.intent.handles["publish_id"].startswith("v_pub_file~")
    assert "upload_token=" in post.intent.handles["upload_url"]
    assert server.calls("/video/", "PUT") == []
    assert server.effects() == []


@pytest.mark.req("A5.9")
def test_engagement_is_read_for_the_public_video(server: FakeServer) -> None:
    post = post_of(server)
    found = post.to_the_end()
    assert TIKTOK.engagement(post.intent, found.post_id) == Engagement(41, 5, 2)


# --- pieces -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("size", "chunk", "pieces"),
    [
        (1, 1, [(0, 0)]),
        (4_999_999, 4_999_999, [(0, 4_999_998)]),
        (5_000_000, 5_000_000, [(0, 4_999_999)]),
        (10_000_000, 10_000_000, [(0, 9_999_999)]),
        (19_999_999, 10_000_000, [(0, 19_999_998)]),
        (20_000_000, 10_000_000, [(0, 9_999_999), (10_000_000, 19_999_999)]),
        (
            50_000_123,  # TikTok's own example
            10_000_000,
            [
                *[(n * 10_000_000, n * 10_000_000 + 9_999_999) for n in range(4)],
                (40_000_000, 50_000_122),
            ],
        ),
    ],
)
def test_a_video_is_cut_by_tiktoks_rules(
    size: int, chunk: int, pieces: list[tuple[int, int]]
) -> None:
    cut = plan(size)
    assert (cut.chunk, cut.count, list(cut.pieces_from(0))) == (chunk, len(pieces), pieces)


def test_the_largest_video_stays_within_the_limits() -> None:
    cut = plan(4 * 1024**3)
    lengths = [last - first + 1 for first, last in cut.pieces_from(0)]
    assert sum(lengths) == 4 * 1024**3 and len(lengths) <= 1000
    assert set(lengths[:-1]) == {10_000_000} and 10_000_000 <= lengths[-1] <= 128_000_000


@pytest.mark.parametrize("size", [0, 4 * 1024**3 + 1])
def test_a_video_without_bytes_or_with_too_many_is_not_cut(size: int) -> None:
    with pytest.raises(ValueError, match="a video has 1 to"):
        plan(size)


def test_the_pieces_arrive_in_order_and_whole(server: FakeServer) -> None:
    post = post_of(server, video(35_000_123))
    post.to_the_end()
    assert [call["status"] for call in server.calls("/video/", "PUT")] == [206, 206, 201]
    assert server.effects()[0]["media"] == [post.intent.media[0].sha256]


@pytest.mark.req("X2")
@pytest.mark.parametrize("kind", ["cut_before_effect", "cut_after_effect", "500_after_effect"])
def test_an_upload_that_broke_off_goes_on_where_it_stopped(server: FakeServer, kind: str) -> None:
    post = post_of(server, video(25_000_000))
    server.arm(kind, path="/video/", method="PUT")
    with pytest.raises(PlatformFailure) as failure:
        post.advance()
    assert failure.value.kind == "transient_before_mutation"
    assert server.effects() == []

    post.to_the_end()
    assert inits(server) == len(server.effects()) == 1
    assert server.effects()[0]["media"] == [post.intent.media[0].sha256]


@pytest.mark.req("X2")
def test_a_piece_out_of_order_is_unknown_only_where_it_was_the_last(httpserver: HTTPServer) -> None:
    httpserver.expect_request("/video/", method="PUT").respond_with_data(status=416)
    url = httpserver.url_for("/video/")
    with pytest.raises(OutcomeUnknown):
        api.piece_put(url, b"last", 8, 12, "video/mp4", final=True)
    with pytest.raises(PlatformFailure) as failure:
        api.piece_put(url, b"first", 0, 12, "video/mp4", final=False)
    assert failure.value.kind == "transient_before_mutation"


# --- tokens -----------------------------------------------------------------------------------


@pytest.mark.req("X2")
@pytest.mark.parametrize("media", [(video(),), (photo(),)], ids=["video", "photo"])
def test_a_token_that_expires_while_waiting_goes_on_with_the_same_post(
    server: FakeServer, media: tuple[Media, ...]
) -> None:
    post = post_of(server, *media)
    server.arm("processing", count=2)
    with pytest.raises(Processing):
        post.advance()
    begun = post.intent.handles["publish_id"]
    old = post.intent.credentials
    server.arm("token_expired", path=STATUS)

    post.to_the_end()
    assert post.intent.handles["publish_id"] == begun
    assert inits(server) == len(server.effects()) == 1
    fresh = post.intent.credentials
    assert fresh.access_token != old.access_token and fresh.refresh_token != old.refresh_token
    assert fresh.extra["client_key"] == old.extra["client_key"]


@pytest.mark.req("X2")
@pytest.mark.parametrize("kind", [*FAULTS[:5], "cut_before_effect", "html_error"])
def test_a_renewal_that_fails_in_passing_is_tried_again(server: FakeServer, kind: str) -> None:
    post = post_of(server)
    server.arm("token_expired", path=INIT)
    server.arm(kind, path="/oauth/token/")
    post.to_the_end()
    assert inits(server) == len(server.effects()) == 1


@pytest.mark.req("X2")
@pytest.mark.parametrize("kind", ["cut_after_effect", "html_after_effect", "500_after_effect"])
def test_a_renewal_whose_answer_is_lost_uses_the_refresh_token_up_and_needs_a_person(
    server: FakeServer, kind: str
) -> None:
    post = post_of(server)
    server.arm("token_expired", path=INIT)
    server.arm(kind, path="/oauth/token/")
    with pytest.raises(PlatformFailure) as failure:
        post.advance()
    assert failure.value.kind == "transient_before_mutation"
    with pytest.raises(PlatformFailure, match="connect the account again") as failure:
        post.advance()
    assert failure.value.kind == "auth_dead"
    assert server.effects() == []


def test_a_refresh_token_that_is_no_longer_good_needs_a_person(server: FakeServer) -> None:
    post = post_of(server)
    spent = replace(post.intent.credentials, refresh_token="gone")
    post.intent = replace(post.intent, credentials=spent)
    server.arm("token_expired", path=INIT)
    with pytest.raises(PlatformFailure, match="Refresh token is invalid") as failure:
        post.advance()
    assert failure.value.kind == "auth_dead"
    assert server.effects() == []


def test_without_a_refresh_token_the_account_is_connected_again(server: FakeServer) -> None:
    intent = replace(post_of(server).intent, credentials=Credentials("only"))
    with pytest.raises(PlatformFailure, match="connect the TikTok account again") as failure:
        TIKTOK.refresh(intent)
    assert failure.value.kind == "auth_dead"
    assert server.calls("/oauth/") == []


def test_a_token_of_another_account_posts_nothing(server: FakeServer) -> None:
    post = post_of(server)
    post.intent = replace(post.intent, account="somebody_else")
    with pytest.raises(PlatformFailure, match="belongs to @aurora_style") as failure:
        post.advance()
    assert failure.value.kind == "auth_dead"
    assert inits(server) == 0


# --- waiting and moderation -------------------------------------------------------------------


@pytest.mark.req("A5.9")
def test_a_post_in_moderation_is_published_and_gets_its_public_id_later(
    server: FakeServer,
) -> None:
    post = post_of(server)
    server.arm("moderation", count=2)
    found = post.to_the_end()
    assert found.post_id == post.intent.handles["publish_id"]
    assert found.post_url == "https://www.tiktok.com/@aurora_style"
    with pytest.raises(PlatformFailure, match="later"):
        TIKTOK.engagement(post.intent, found.post_id)
    assert TIKTOK.engagement(post.intent, found.post_id) == Engagement(41, 5, 2)


@pytest.mark.req("X2")
def test_hours_of_processing_never_lead_to_a_second_upload(server: FakeServer) -> None:
    post = post_of(server)
    server.arm("processing", count=6)
    with pytest.raises(Processing):
        post.advance()
    with time_machine.travel(now() + timedelta(hours=5)):
        for _ in range(6):
            with pytest.raises(Processing, match="PROCESSING_UPLOAD") as wait:
                post.advance()
            assert wait.value.retry_after == 10.0
        post.advance()
    assert inits(server) == len(server.effects()) == 1
