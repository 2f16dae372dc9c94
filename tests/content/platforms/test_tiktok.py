"""The TikTok adapter against a server that behaves as TikTok does, in good times and in bad.

Whether something was posted twice is asked of the server, which counts what it accepts.
"""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
import time_machine
from pytest_httpserver import HTTPServer

from chimera.core.clock import now
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
from content.platforms.tiktok import api, errors
from content.platforms.tiktok.upload import plan
from tests.content.platforms.driver import Post
from tests.fakes.fixtures import FakeServer

TIKTOK = adapter_for("tiktok", "live")
INIT, PHOTOS, STATUS = "/video/init/", "/content/init/", "/status/fetch/"
MP4 = b"\x00\x00\x00\x18ftypisom"
TEXT = "Merkato knew first. #AddisStyle #AIgenerated"


def video(size: int = 60_000) -> Media:
    body = MP4 + bytes(size - len(MP4))
    return Media("https://media.example/a.mp4", sha256_hex(body), "video", body, 12.0)


def photo(name: str = "a.jpg", body: bytes = b"\xff\xd8\xff\xe0") -> Media:
    return Media(f"https://media.example/{name}", sha256_hex(body), "image", body)


def post_of(server: FakeServer, *media: Media, text: str = TEXT, **wanted: Any) -> Post:
    account = server.account(**wanted)
    credentials = Credentials(account["access_token"], account["refresh_token"], account["extra"])
    return Post(
        TIKTOK,
        PublishIntent(
            intent_id=new_id(),
            platform="tiktok",
            account=account["handle"],
            text=text,
            media=media or (video(),),
            base_url=server.url,
            credentials=credentials,
        ),
    )


@pytest.fixture
def server(fake: Callable[[str], FakeServer], monkeypatch: pytest.MonkeyPatch) -> FakeServer:
    monkeypatch.setattr(http, "DEADLINE_SEC", 1.0)
    return fake("tiktok")


def inits(server: FakeServer) -> int:
    """How many inits the server has accepted."""
    return sum(call["status"] == 200 for call in server.calls("/init/"))


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


# --- every fault at every step ----------------------------------------------------------------

FAULTS = [
    *("429", "429_seconds", "429_date", "429_bare", "500_before_effect", "500_after_effect"),
    *("cut_before_effect", "cut_after_effect", "html_error", "html_after_effect"),
    *("slow_drip", "token_expired"),
]


@pytest.mark.req("X2", "A5.5")
@pytest.mark.parametrize("kind", FAULTS)
@pytest.mark.parametrize("path", ["/creator_info/", INIT, "/tiktok/video/", STATUS])
def test_a_video_is_posted_once_whatever_fails(server: FakeServer, path: str, kind: str) -> None:
    post = post_of(server)
    server.arm(kind, path=path)
    found = post.to_the_end()
    (effect,) = server.effects()
    assert found.post_id == effect["id"]
    assert effect["publish_id"] == post.intent.handles["publish_id"]


@pytest.mark.req("X2")
@pytest.mark.parametrize("kind", FAULTS)
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


# --- refusals ---------------------------------------------------------------------------------

CODES = [
    ("scope_not_authorized", "auth_dead"),
    ("scope_permission_missed", "auth_dead"),
    ("rate_limit_exceeded", "rate_limited"),
    ("spam_risk_too_many_posts", "quota_exhausted"),
    ("spam_risk_too_many_pending_share", "quota_exhausted"),
    ("reached_active_user_cap", "quota_exhausted"),
    ("spam_risk_user_banned_from_posting", "auth_dead"),
    ("spam_risk_text", "content_rejected"),
    ("invalid_file_upload", "content_rejected"),
    ("invalid_param", "permanent"),
    ("invalid_params", "permanent"),
    ("url_ownership_unverified", "permanent"),
    ("unaudited_client_can_only_post_to_private_accounts", "permanent"),
    ("a_code_of_tomorrow", "permanent"),
]


@pytest.mark.req("A5.5")
@pytest.mark.parametrize("media", [(video(),), (photo(),)], ids=["video", "photo"])
@pytest.mark.parametrize(("code", "kind"), CODES)
def test_each_error_code_has_its_kind_and_nothing_is_posted(
    server: FakeServer, media: tuple[Media, ...], code: str, kind: str
) -> None:
    post = post_of(server, *media)
    server.arm(f"refuse:{code}")
    with pytest.raises(PlatformFailure, match=code) as failure:
        post.advance()
    assert failure.value.kind == kind
    if kind in ("rate_limited", "quota_exhausted"):
        assert failure.value.retry_after in (60.0, 86_400.0)
    assert server.effects() == []


REASONS = [
    ("file_format_check_failed", "content_rejected"),
    ("duration_check_failed", "content_rejected"),
    ("frame_rate_check_failed", "content_rejected"),
    ("picture_size_check_failed", "content_rejected"),
    ("spam_risk", "content_rejected"),
    ("publish_cancelled", "permanent"),
    ("a_reason_of_tomorrow", "permanent"),
]


@pytest.mark.req("A5.5")
@pytest.mark.parametrize(("reason", "kind"), REASONS)
def test_a_post_that_tiktok_gave_up_for_good_is_not_begun_again(
    server: FakeServer, reason: str, kind: str
) -> None:
    post = post_of(server)
    server.arm(f"fail:{reason}")
    with pytest.raises(Processing):
        post.advance()
    for _ in range(2):
        with pytest.raises(PlatformFailure, match=reason) as failure:
            post.advance()
        assert failure.value.kind == kind
    assert (inits(server), server.effects()) == (1, [])


@pytest.mark.parametrize(
    ("reason", "kind"),
    [
        ("spam_risk_too_many_posts", "quota_exhausted"),
        ("spam_risk_user_banned_from_posting", "auth_dead"),
        ("auth_removed", "auth_dead"),
        ("photo_pull_failed", "transient_before_mutation"),
    ],
)
def test_reasons_that_may_pass_have_their_kind(reason: str, kind: str) -> None:
    assert errors.of_reason(reason).kind == kind


@pytest.mark.req("A5.5")
def test_an_application_without_an_audit_is_told_so_and_nothing_is_begun(
    server: FakeServer,
) -> None:
    post = post_of(server, levels="SELF_ONLY", audited="no")
    with pytest.raises(PlatformFailure, match="until it has audited the application") as failure:
        post.advance()
    assert failure.value.kind == "permanent"
    assert inits(server) == 0


def test_an_application_without_an_audit_may_post_for_the_account_itself(
    server: FakeServer,
) -> None:
    post = post_of(server, levels="SELF_ONLY", audited="no", privacy_level="SELF_ONLY")
    found = post.to_the_end()
    assert server.effects()[0]["privacy"] == "SELF_ONLY"
    assert found.post_id == post.intent.handles["publish_id"]


def test_a_video_longer_than_the_account_may_post_is_refused_before_the_upload(
    server: FakeServer,
) -> None:
    post = post_of(server, replace(video(), seconds=601.0))
    with pytest.raises(PlatformFailure, match="lasts 601 s") as failure:
        post.advance()
    assert failure.value.kind == "content_rejected"
    assert inits(server) == 0


def test_the_bytes_go_to_tiktok_alone(server: FakeServer) -> None:
    post = post_of(server, upload_host="uploads.elsewhere.example")
    with pytest.raises(PlatformFailure, match="does not lead to TikTok") as failure:
        post.advance()
    assert failure.value.kind == "transient_before_mutation"
    assert server.calls("/tiktok/video/", "PUT") == []


# --- before anybody approves ------------------------------------------------------------------


def test_what_fits_is_fine() -> None:
    assert TIKTOK.check(TEXT, (video(),)) == []
    assert TIKTOK.check(TEXT, (photo(), photo("b.webp", b"RIFF\x00\x00\x00\x00WEBP"))) == []


@pytest.mark.req("A5.8")
@pytest.mark.parametrize(
    ("text", "media", "reason"),
    [
        (TEXT, (), "no post without a video or photos"),
        (TEXT, (video(), photo()), "one video alone"),
        ("🎬" * 1101 + TEXT, (video(),), "2246 characters as TikTok counts"),
        ("x" * 2201, (video(),), "tiktok allows 2200"),
        (TEXT, (Media("https://media.example/a.avi", "0" * 64, "video"),), "MP4, MOV or WebM"),
        (TEXT, (photo("a.png", b"\x89PNG\r\n\x1a\n"),), "JPEG or WebP, not as image/png"),
        (TEXT, (Media("https://media.example/a.png", "0" * 64),), "JPEG or WebP, not as image/png"),
        (TEXT, (Media("http://media.example/a.jpg", "0" * 64),), "public https address"),
        (TEXT, (Media("https://10.0.0.7/a.jpg", "0" * 64),), "inside this network"),
        (TEXT, (Media("https://localhost/a.jpg", "0" * 64),), "inside this network"),
        (TEXT, (photo(),) * 11, "11 media files"),
        ("Three looks, one market.", (photo(),), "no AI label for photos"),
    ],
)
def test_what_tiktok_would_refuse_is_said_before_the_approval(
    text: str, media: tuple[Media, ...], reason: str
) -> None:
    found = TIKTOK.check(text, media)
    assert any(reason in problem for problem in found), found


def test_the_same_is_refused_when_only_the_bytes_tell(server: FakeServer) -> None:
    post = post_of(server, photo("a.jpg", b"\x89PNG\r\n\x1a\n"))
    with pytest.raises(PlatformFailure, match="JPEG or WebP") as failure:
        post.advance()
    assert failure.value.kind == "content_rejected"
    assert inits(server) == 0
