"""The Instagram adapter against a server that behaves as Instagram does, in good times and in bad.

Whether something was posted twice is asked of the server, which counts what it accepts.
"""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import httpx
import pytest
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
from content.platforms.http import Reply
from content.platforms.instagram import errors
from tests.content.platforms.driver import JPEG, PNG, photo
from tests.content.platforms.on_instagram import (
    INSTAGRAM,
    PUBLISH,
    STEPS,
    TEXT,
    created,
    post_of,
    video,
)
from tests.fakes.fixtures import FakeServer
from tests.helpers.http import HTTP


@pytest.fixture
def server(fake: Callable[[str], FakeServer], monkeypatch: pytest.MonkeyPatch) -> FakeServer:
    monkeypatch.setattr(http, "DEADLINE_SEC", 1.0)
    return fake("instagram")


# --- the good way -----------------------------------------------------------------------------


@pytest.mark.req("A5.8")
def test_a_photo_is_posted_with_its_caption_and_the_ai_label(server: FakeServer) -> None:
    post = post_of(server)
    found = post.advance()
    (effect,) = server.effects()
    assert (effect["text"], effect["is_ai_generated"]) == (TEXT, True)
    assert effect["files"] == ["https://media.example/a.jpg"]
    assert (found.post_id, found.post_url) == (
        effect["id"],
        f"https://www.instagram.com/p/{effect['id']}/",
    )
    assert abs(found.published_at - now()) < timedelta(minutes=1)
    assert INSTAGRAM.lookup(post.intent) == found


def test_a_persons_own_work_is_not_labelled(server: FakeServer) -> None:
    post = post_of(server)
    post.intent = replace(post.intent, made_by_ai=False)
    post.advance()
    assert server.effects()[0]["is_ai_generated"] is False


def test_a_video_is_posted_as_a_reel(server: FakeServer) -> None:
    post_of(server, video()).advance()
    assert server.effects()[0]["files"] == ["https://media.example/a.mp4"]


@pytest.mark.req("A5.8")
def test_a_carousel_has_its_files_in_order_and_one_label(server: FakeServer) -> None:
    post = post_of(server, photo("a.jpg"), video(), photo("c.jpg"))
    post.advance()
    (effect,) = server.effects()
    names = [url.rsplit("/", 1)[1] for url in effect["files"]]
    assert (names, effect["is_ai_generated"]) == (["a.jpg", "a.mp4", "c.jpg"], True)
    assert created(server) == 4


@pytest.mark.req("A5.9")
def test_engagement_is_read_from_the_post(server: FakeServer) -> None:
    post = post_of(server)
    found = post.advance()
    assert INSTAGRAM.engagement(post.intent, found.post_id) == Engagement(17, 4, 0)


# --- quota, limits, tokens --------------------------------------------------------------------


@pytest.mark.req("A5.5")
def test_a_used_up_quota_is_asked_for_before_anything_is_made(server: FakeServer) -> None:
    post = post_of(server)
    server.arm("quota")
    with pytest.raises(PlatformFailure, match="24 hours") as failure:
        post.advance()
    assert (failure.value.kind, failure.value.retry_after) == ("quota_exhausted", 3600.0)
    assert (created(server), server.effects()) == (0, [])


@pytest.mark.req("A5.5")
@pytest.mark.parametrize(
    ("kind", "seconds"), [("429", 120.0), ("429_seconds", 2.0), ("429_bare", 300.0)]
)
def test_a_business_limit_comes_as_400_and_is_a_rate_limit(
    server: FakeServer, kind: str, seconds: float
) -> None:
    post = post_of(server)
    server.arm(kind, path=PUBLISH)
    with pytest.raises(PlatformFailure) as failure:
        post.advance()
    assert (failure.value.kind, failure.value.retry_after) == ("rate_limited", seconds)
    assert server.calls(PUBLISH)[0]["status"] == 400
    assert server.effects() == []


@pytest.mark.req("X2")
def test_a_token_is_renewed_before_it_lapses_and_the_post_goes_on(server: FakeServer) -> None:
    soon = (now() + timedelta(days=5)).isoformat()
    post = post_of(server, expires_at=soon)
    old = post.intent.credentials
    post.advance()
    fresh = post.intent.credentials
    assert fresh.access_token != old.access_token
    assert fresh.extra["ig_user_id"] == old.extra["ig_user_id"]
    assert fresh.extra["expires_at"] > (now() + timedelta(days=59)).isoformat()
    assert len(server.calls("/refresh_access_token")) == len(server.effects()) == 1


@pytest.mark.req("X2")
@pytest.mark.parametrize(("method", "path"), [*STEPS, ("GET", "/v25.0/179")])
def test_an_expired_token_cannot_be_renewed_and_a_new_one_goes_on_with_the_same_post(
    server: FakeServer, method: str, path: str
) -> None:
    post = post_of(server)
    server.arm("token_expired", path=path, method=method)
    with pytest.raises((PlatformFailure, Processing)):
        post.advance()
    with pytest.raises(PlatformFailure, match="connect the Instagram account again") as failure:
        post.advance()
    assert failure.value.kind == "auth_dead"
    made = post.intent.handles.get("container")

    connected = HTTP.post(f"{server.url}/_reconnect", json={"handle": post.intent.account}).json()
    fresh = replace(post.intent.credentials, access_token=connected["access_token"])
    post.intent = replace(post.intent, credentials=fresh)
    post.to_the_end()
    assert len(server.effects()) == 1
    assert made in (None, server.effects()[0]["container"])


def test_an_account_without_its_number_is_connected_again(server: FakeServer) -> None:
    post = post_of(server)
    post.intent = replace(post.intent, credentials=Credentials("token"))
    with pytest.raises(PlatformFailure, match="no ig_user_id") as failure:
        post.advance()
    assert failure.value.kind == "auth_dead"
    assert server.calls() == []


# --- error codes, by the step -----------------------------------------------------------------

BEFORE = [
    ("-2/2207003", "transient_before_mutation"),
    ("-1/2207001", "transient_before_mutation"),
    ("-1/2207032", "transient_before_mutation"),
    ("9004/2207052", "transient_before_mutation"),
    ("2/0", "transient_before_mutation"),
    ("80002/0", "rate_limited"),
    ("4/0", "rate_limited"),
    ("17/0", "rate_limited"),
    ("9/2207042", "quota_exhausted"),
    ("25/2207050", "auth_dead"),
    ("10/0", "auth_dead"),
    ("200/0", "auth_dead"),
    ("190/460", "auth_dead"),
    ("4/2207051", "permanent"),
    ("100/0", "permanent"),
    ("352/2207026", "content_rejected"),
    ("36000/2207004", "content_rejected"),
    ("36001/2207005", "content_rejected"),
    ("36003/2207009", "content_rejected"),
    ("36004/2207010", "content_rejected"),
]


@pytest.mark.req("A5.5")
@pytest.mark.parametrize(("codes", "kind"), BEFORE)
def test_each_error_of_a_container_has_its_kind_and_nothing_is_posted(
    server: FakeServer, codes: str, kind: str
) -> None:
    post = post_of(server)
    server.arm(f"create:{codes}")
    with pytest.raises(PlatformFailure, match=f"refused with {codes}") as failure:
        post.advance()
    assert failure.value.kind == kind
    assert server.effects() == []


@pytest.mark.req("A5.5", "X2")
@pytest.mark.parametrize(
    ("codes", "kind"),
    [
        ("80002/0", "rate_limited"),
        ("9/2207042", "quota_exhausted"),
        ("25/2207050", "auth_dead"),
        ("4/2207051", "permanent"),
        ("9007/2207027", "transient_before_mutation"),
        ("352/2207026", "content_rejected"),
    ],
)
def test_some_errors_of_the_publishing_call_are_certain(
    server: FakeServer, codes: str, kind: str
) -> None:
    post = post_of(server)
    server.arm(f"publish:{codes}")
    with pytest.raises(PlatformFailure, match=f"refused with {codes}") as failure:
        post.advance()
    assert failure.value.kind == kind
    assert server.effects() == []


@pytest.mark.req("X2")
@pytest.mark.parametrize("codes", ["-1/2207001", "1/0", "2/0", "-2/2207020", "24/2207006", "100/0"])
def test_the_others_are_unknown_until_the_container_has_been_read(
    server: FakeServer, codes: str
) -> None:
    post = post_of(server)
    server.arm(f"publish:{codes}")
    with pytest.raises(OutcomeUnknown, match=f"refused with {codes}"):
        post.advance()
    post.to_the_end()
    assert created(server) == len(server.effects()) == 1


@pytest.mark.parametrize("value", ["", "no json", "[]", '{"1": [{}]}', '{"1": 5}'])
def test_a_usage_header_that_says_nothing_leaves_the_usual_wait(value: str) -> None:
    headers = httpx.Headers({"x-business-use-case-usage": value})
    reply = Reply(400, headers, b'{"error": {"code": 80002}}')
    assert errors.judge(reply).retry_after == 300.0


# --- the files, which Instagram fetches itself ------------------------------------------------


def test_a_file_that_is_not_there_is_asked_for_again_and_posted_once(
    server: FakeServer, httpserver: HTTPServer, settings: Any
) -> None:
    settings.CHIMERA = settings.CHIMERA.model_copy(update={"chimera_platform": "local"})
    httpserver.expect_ordered_request("/a.jpg").respond_with_data(status=503)
    httpserver.expect_ordered_request("/a.jpg").respond_with_data(JPEG)
    local = replace(photo(), url=httpserver.url_for("/a.jpg"))
    post = post_of(server, local)
    with pytest.raises(PlatformFailure, match="could not be fetched") as failure:
        post.advance()
    assert failure.value.kind == "transient_before_mutation"
    post.advance()
    assert server.effects()[0]["files"] == [local.url]


def test_a_video_that_is_not_there_fails_in_its_container(
    server: FakeServer, httpserver: HTTPServer, settings: Any
) -> None:
    settings.CHIMERA = settings.CHIMERA.model_copy(update={"chimera_platform": "local"})
    post = post_of(server, replace(video(), url=httpserver.url_for("/gone.mp4")))
    with pytest.raises(PlatformFailure, match="could not make the post") as failure:
        post.advance()
    assert failure.value.kind == "transient_before_mutation"
    assert server.effects() == []


# --- before anybody approves ------------------------------------------------------------------


def test_what_fits_is_fine() -> None:
    assert INSTAGRAM.check(TEXT, (photo(), video())) == []
    assert INSTAGRAM.check("#tag " * 30, (photo(),)) == []


@pytest.mark.req("A5.8")
@pytest.mark.parametrize(
    ("text", "media", "reason"),
    [
        (TEXT, (), "no post without a photo or a video"),
        ("x" * 2201, (photo(),), "instagram allows 2200"),
        ("🎬" * 1101, (photo(),), "2202 characters as Instagram counts"),
        ("#tag " * 31, (photo(),), "31 hashtags, Instagram allows 30"),
        ("@you " * 21, (photo(),), "21 mentions, Instagram allows 20"),
        (TEXT, (photo(),) * 11, "11 media files"),
        (TEXT, (photo("a.png", PNG),), "JPEG alone, not as image/png"),
        (TEXT, (Media("https://media.example/a.png", "0" * 64),), "JPEG alone, not as image/png"),
        (TEXT, (photo("a.jpg", JPEG + bytes(8 * 1024**2)),), "up to 8 MB"),
        (TEXT, (Media("https://media.example/a.webm", "0" * 64, "video"),), "MP4 or MOV"),
        (TEXT, (Media("http://media.example/a.jpg", "0" * 64),), "public https address"),
        (TEXT, (Media("https://127.0.0.1/a.jpg", "0" * 64),), "inside this network"),
        (TEXT, (Media("https://files.internal/a.jpg", "0" * 64),), "inside this network"),
    ],
)
def test_what_instagram_would_refuse_is_said_before_the_approval(
    text: str, media: tuple[Media, ...], reason: str
) -> None:
    found = INSTAGRAM.check(text, media)
    assert any(reason in problem for problem in found), found


def test_the_same_is_refused_when_only_the_bytes_tell(server: FakeServer) -> None:
    post = post_of(server, photo("a.jpg", PNG))
    with pytest.raises(PlatformFailure, match="JPEG alone") as failure:
        post.advance()
    assert failure.value.kind == "content_rejected"
    assert server.calls() == []
