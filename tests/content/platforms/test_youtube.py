"""The YouTube adapter against a server that behaves as YouTube does, in good times and in bad.

Whether a video was made twice is asked of the server, which counts what it makes.
"""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from chimera.core.digest import sha256_hex
from chimera.core.ids import new_id
from content.platforms import http
from content.platforms.base import (
    Credentials,
    Engagement,
    Media,
    OutcomeUnknown,
    PlatformFailure,
    Processing,
    PublishIntent,
)
from content.platforms.registry import adapter_for
from content.platforms.youtube import errors
from tests.content.platforms.driver import Killed, Post
from tests.fakes.fixtures import FakeServer

YOUTUBE = adapter_for("youtube", "live")
UPLOAD, VIDEOS = "/upload/youtube/v3/videos", "/youtube/youtube/v3/videos"
BODY = b"\x00\x00\x00\x18ftypisom" + bytes(range(256)) * 400
VIDEO = Media("https://media.example/a.mp4", sha256_hex(BODY), "video", BODY, 12.0)
TEXT = "Merkato knew first\n\nThree looks, one market. #AddisStyle"


@pytest.fixture
def server(fake: Callable[[str], FakeServer], monkeypatch: pytest.MonkeyPatch) -> FakeServer:
    monkeypatch.setattr(http, "DEADLINE_SEC", 2.0)
    return fake("youtube")


@pytest.fixture
def post(server: FakeServer) -> Post:
    return Post(YOUTUBE, intent_for(server))


def intent_for(server: FakeServer, text: str = TEXT, **choices: str) -> PublishIntent:
    account = server.account()
    return PublishIntent(
        intent_id=new_id(),
        platform="youtube",
        account=account["handle"],
        text=text,
        media=(VIDEO,),
        base_url=server.url,
        credentials=Credentials(
            account["access_token"], account["refresh_token"], account["extra"] | choices
        ),
    )


def put(post: Post) -> None:
    """Open the session and bring the bytes; YouTube processes them."""
    with pytest.raises(Processing):
        post.advance()


# --- the good way -----------------------------------------------------------------------------


@pytest.mark.req("A5.8")
def test_a_video_is_published_once_it_is_processed_with_the_texts_that_were_approved(
    post: Post, server: FakeServer
) -> None:
    put(post)
    found = post.advance()

    (effect,) = server.effects()
    assert (found.post_id, effect["text"]) == (effect["id"], TEXT)
    assert found.post_url == f"{server.url}/watch?v={found.post_id}"
    assert effect["status"] == {
        "uploadStatus": "uploaded",
        "privacyStatus": "public",
        "selfDeclaredMadeForKids": False,
        "containsSyntheticMedia": True,
    } | {"uploadStatus": "processed"}
    assert len(server.calls(UPLOAD, "POST")) == len(server.calls(UPLOAD, "PUT")) == 1


def test_the_accounts_choices_and_a_persons_own_work_are_declared(server: FakeServer) -> None:
    intent = intent_for(server, privacy_status="unlisted", made_for_kids="yes")
    Post(YOUTUBE, replace(intent, made_by_ai=False)).to_the_end()

    status = server.effects()[0]["status"]
    assert status["privacyStatus"] == "unlisted" and status["selfDeclaredMadeForKids"] is True
    assert status["containsSyntheticMedia"] is False


@pytest.mark.req("A5.8")
def test_the_session_is_kept_before_the_first_byte(post: Post, server: FakeServer) -> None:
    YOUTUBE.prepare(post.intent, post.keep)

    assert post.intent.handles["session"].startswith(server.url)
    assert post.intent.handles["size"] == str(len(BODY))
    assert server.calls(UPLOAD, "PUT") == [] and server.effects() == []


def test_a_second_prepare_opens_no_second_session(post: Post, server: FakeServer) -> None:
    for _ in range(3):
        YOUTUBE.prepare(post.intent, post.keep)

    assert len(server.calls(UPLOAD, "POST")) == 1


def test_a_video_of_an_unverified_project_is_published_though_private(
    post: Post, server: FakeServer
) -> None:
    server.arm("private_only")
    post.to_the_end()

    assert server.effects()[0]["status"]["privacyStatus"] == "private"


# --- at most one video, whatever happens ------------------------------------------------------

PASSING = ("500_before_effect", "500_after_effect", "cut_before_effect", "cut_after_effect")
CHANNELS = "/youtube/v3/channels"
STEPS = [(CHANNELS, "GET"), (UPLOAD, "POST"), (UPLOAD, "PUT"), (VIDEOS, "GET")]


@pytest.mark.req("X2", "A5.8")
@pytest.mark.parametrize(("path", "method"), STEPS)
@pytest.mark.parametrize(
    "kind",
    [
        *PASSING,
        "slow_drip",
        "html_error",
        "html_after_effect",
        "429",
        "429_seconds",
        "token_expired",
    ],
)
def test_every_fault_at_every_step_leaves_one_video(
    post: Post, server: FakeServer, kind: str, path: str, method: str
) -> None:
    server.arm(kind, path=path, method=method)
    found = post.to_the_end()

    assert [effect["id"] for effect in server.effects()] == [found.post_id]


@pytest.mark.req("X2")
@pytest.mark.parametrize("kind", ["500_after_effect", "cut_after_effect", "html_after_effect"])
def test_a_lost_reply_is_unknown_and_the_session_names_the_video(
    post: Post, server: FakeServer, kind: str
) -> None:
    server.arm(kind)
    with pytest.raises(OutcomeUnknown):
        post.advance()
    found = post.to_the_end()

    assert [effect["id"] for effect in server.effects()] == [found.post_id]
    assert len(server.calls(UPLOAD, "POST")) == 1, "a second session was opened"


@pytest.mark.req("X2")
@pytest.mark.parametrize("kind", ["part_then_cut", "part_then_308"])
def test_an_interrupted_upload_goes_on_in_the_same_session_at_the_byte_it_has_reached(
    post: Post, server: FakeServer, kind: str
) -> None:
    server.arm(kind, 2)
    post.to_the_end()

    assert len(server.effects()) == 1
    assert len(server.calls(UPLOAD, "POST")) == 1


@pytest.mark.req("X2")
@pytest.mark.parametrize("kill_after", [1, 2, 3, 4])
def test_a_worker_killed_after_any_commit_leaves_one_video(
    post: Post, server: FakeServer, kill_after: int
) -> None:
    post.kill_after = kill_after
    with pytest.raises(Killed):
        post.advance()
    found = post.to_the_end()

    assert [effect["id"] for effect in server.effects()] == [found.post_id]
    assert post.kept[:1] == ["size"] and post.kept[-1] == "video"


@pytest.mark.req("X2")
def test_a_send_that_died_before_the_first_byte_is_certain_to_have_made_nothing(
    post: Post, server: FakeServer
) -> None:
    YOUTUBE.prepare(post.intent, post.keep)

    assert YOUTUBE.lookup(post.intent) is None and server.calls(UPLOAD, "PUT") == []


@pytest.mark.req("X2")
def test_a_session_that_no_byte_has_gone_into_is_replaced_when_it_has_lapsed(
    post: Post, server: FakeServer
) -> None:
    server.arm("session_gone")
    with pytest.raises(PlatformFailure) as failure:
        post.advance()
    assert failure.value.kind == "transient_before_mutation"
    post.to_the_end()

    assert len(server.calls(UPLOAD, "POST")) == 2 and len(server.effects()) == 1


@pytest.mark.req("X2")
def test_a_session_that_has_lapsed_after_bytes_went_in_needs_a_person_and_no_second_one_is_opened(
    post: Post, server: FakeServer
) -> None:
    server.arm("cut_after_effect")
    with pytest.raises(OutcomeUnknown):
        post.advance()
    for _ in range(3):
        server.arm("session_gone")
        with pytest.raises(OutcomeUnknown, match="look at the channel @aurora_style"):
            post.advance()

    assert len(server.effects()) == len(server.calls(UPLOAD, "POST")) == 1


@pytest.mark.req("X2")
def test_a_person_who_has_looked_can_have_it_sent_again_in_a_new_session(
    post: Post, server: FakeServer
) -> None:
    server.arm("part_then_cut")
    for kind in ("", "session_gone"):
        if kind:
            server.arm(kind)
        with pytest.raises(OutcomeUnknown):
            post.advance()
    post.armed = False  # the person's verdict: it was not posted
    server.arm("session_gone")
    found = post.to_the_end()

    assert [effect["id"] for effect in server.effects()] == [found.post_id]
    assert len(server.calls(UPLOAD, "POST")) == 2


def test_a_video_that_is_not_listed_yet_is_waited_for(post: Post, server: FakeServer) -> None:
    put(post)
    for kind in ("not_listed", "still_processing"):
        server.arm(kind)
        with pytest.raises(Processing) as wait:
            post.advance()
        assert wait.value.retry_after == 15.0
    post.advance()

    assert len(server.effects()) == 1


@pytest.mark.parametrize(("kind", "reason"), [("rejected", "duplicate"), ("failed", "codec")])
def test_a_video_that_youtube_gives_up_is_refused_with_its_reason(
    post: Post, server: FakeServer, kind: str, reason: str
) -> None:
    put(post)
    server.arm(kind)
    with pytest.raises(PlatformFailure, match=reason) as failure:
        post.advance()

    assert failure.value.kind == "content_rejected"


def test_a_lookup_that_is_refused_is_no_verdict(post: Post, server: FakeServer) -> None:
    put(post)
    for kind in ("invalidVideoMetadata", "html_error", "500_before_effect"):
        server.arm(kind)
        with pytest.raises(PlatformFailure) as failure:
            YOUTUBE.lookup(post.intent)
        assert failure.value.kind == "transient_before_mutation"


# --- what YouTube refuses ---------------------------------------------------------------------


@pytest.mark.req("A5.8", "A5.5")
@pytest.mark.parametrize(
    ("reason", "kind"),
    [
        ("uploadLimitExceeded", "quota_exhausted"),
        ("quotaExceeded", "quota_exhausted"),
        ("rateLimitExceeded", "rate_limited"),
        ("youtubeSignupRequired", "auth_dead"),
        ("insufficientPermissions", "auth_dead"),
        ("invalidVideoMetadata", "content_rejected"),
        ("failedPrecondition", "permanent"),
    ],
)
def test_every_refusal_has_its_kind_and_nothing_is_posted(
    post: Post, server: FakeServer, reason: str, kind: str
) -> None:
    server.arm(reason)
    with pytest.raises(PlatformFailure, match=reason) as failure:
        post.advance()

    assert failure.value.kind == kind and server.effects() == []
    assert (failure.value.retry_after is not None) == (kind == "quota_exhausted")
    assert post.intent.credentials.access_token not in str(failure.value)


def test_a_channels_limit_lasts_a_day_and_the_quota_until_midnight_in_california() -> None:
    summer = datetime(2026, 7, 15, 6, 0, tzinfo=UTC)  # 23:00 the day before, UTC-7
    winter = datetime(2026, 12, 15, 8, 0, tzinfo=UTC)  # midnight, UTC-8
    spring = datetime(2026, 3, 8, 9, 0, tzinfo=UTC)  # 01:00 on the day that has 23 hours

    assert errors.seconds_to_new_quota(summer) == 3600
    assert errors.seconds_to_new_quota(winter) == 86_400
    assert errors.seconds_to_new_quota(spring) == 22 * 3600


@pytest.mark.parametrize("text", ["<b>Bold</b>\n\nok", "x" * 101, "ok\n\n" + "ሰ" * 1667])
def test_what_check_finds_the_server_refuses_too(server: FakeServer, text: str) -> None:
    assert len(YOUTUBE.check(text, (VIDEO,))) in (1, 2)
    with pytest.raises(PlatformFailure) as failure:
        Post(YOUTUBE, intent_for(server, text)).advance()

    assert failure.value.kind == "content_rejected" and server.effects() == []


def test_check_names_every_flaw() -> None:
    assert YOUTUBE.check("x" * 100 + "\n\n" + "y" * 5000, (VIDEO,)) == []
    assert YOUTUBE.check(" ", (VIDEO,)) == ["a video on youtube needs a title"]
    assert "title has 101" in YOUTUBE.check("x" * 101, (VIDEO,))[0]
    assert "one line" in YOUTUBE.check("two\nlines\n\nmore", (VIDEO,))[0]
    assert "5001 bytes" in YOUTUBE.check("x\n\n" + "y" * 5001, (VIDEO,))[0]
    image = Media("https://media.example/a.png", "a" * 64)
    for media in ((), (image,), (VIDEO, VIDEO)):
        assert YOUTUBE.check("x", media) == ["a post on youtube is exactly one video"]
    text = replace(VIDEO, body=b"not a video")
    assert "video/mp4" in YOUTUBE.check("x", (text,))[0]


def test_a_session_on_another_server_gets_neither_token_nor_bytes(
    post: Post, monkeypatch: pytest.MonkeyPatch
) -> None:
    def elsewhere(*_: Any, **__: Any) -> http.Reply:
        headers = {"location": "http://thief.example/upload?upload_id=1"}
        return http.Reply(200, http.httpx.Headers(headers), b"")

    monkeypatch.setattr(
        "content.platforms.youtube.api.channel_names", lambda intent: {intent.account}
    )
    monkeypatch.setattr("content.platforms.youtube.api.call", elsewhere)
    with pytest.raises(PlatformFailure, match=r"thief\.example"):
        YOUTUBE.prepare(post.intent, post.keep)
    assert "session" not in post.intent.handles


@pytest.mark.req("A5.2")
def test_a_token_of_another_channel_posts_nothing(post: Post, server: FakeServer) -> None:
    post.intent = replace(post.intent, account="somebody_else")
    with pytest.raises(PlatformFailure, match=r"aurora_style.*, not for @somebody_else") as failure:
        post.advance()

    assert failure.value.kind == "auth_dead" and server.calls(UPLOAD) == []


# --- tokens -----------------------------------------------------------------------------------


def test_a_refresh_gives_a_new_access_token_and_leaves_the_refresh_token(post: Post) -> None:
    before = post.intent.credentials
    after = YOUTUBE.refresh(post.intent)

    assert after.access_token not in ("", before.access_token)
    assert (after.refresh_token, after.extra) == (before.refresh_token, before.extra)


@pytest.mark.parametrize("change", [{"refresh_token": "stolen"}, {"extra": {"client_id": "other"}}])
def test_a_refresh_that_google_refuses_needs_a_person(post: Post, change: dict[str, Any]) -> None:
    broken = replace(post.intent, credentials=replace(post.intent.credentials, **change))
    with pytest.raises(PlatformFailure) as failure:
        YOUTUBE.refresh(broken)
    assert failure.value.kind == "auth_dead"


def test_a_refresh_that_google_cannot_answer_is_no_verdict_on_the_account(
    post: Post, server: FakeServer
) -> None:
    server.arm("500_before_effect", path="/token")
    with pytest.raises(PlatformFailure) as failure:
        YOUTUBE.refresh(post.intent)
    assert failure.value.kind == "transient_before_mutation"


def test_an_account_without_refresh_token_needs_a_person(post: Post) -> None:
    bare = replace(post.intent, credentials=Credentials("expired"))
    with pytest.raises(PlatformFailure, match="Connect the YouTube account again") as failure:
        YOUTUBE.refresh(bare)
    assert failure.value.kind == "auth_dead"


# --- engagement -------------------------------------------------------------------------------


@pytest.mark.req("A5.9")
def test_likes_and_comments_are_read_and_hidden_likes_are_none(
    post: Post, server: FakeServer
) -> None:
    video = post.to_the_end().post_id

    assert YOUTUBE.engagement(post.intent, video) == Engagement(likes=3, comments=1, shares=0)
    server.arm("likes_hidden")
    assert YOUTUBE.engagement(post.intent, video) == Engagement(likes=0, comments=1, shares=0)


def test_counts_of_a_video_that_is_gone_are_refused(post: Post) -> None:
    with pytest.raises(PlatformFailure) as failure:
        YOUTUBE.engagement(post.intent, "no-such-video")
    assert failure.value.kind == "permanent"
