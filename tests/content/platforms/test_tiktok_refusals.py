"""What TikTok refuses and what is said of it, before the approval and after."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from content.platforms import http
from content.platforms.base import Media, PlatformFailure, Processing
from content.platforms.tiktok import errors
from tests.content.platforms.driver import photo
from tests.content.platforms.on_tiktok import TEXT, TIKTOK, inits, post_of, video
from tests.fakes.fixtures import FakeServer


@pytest.fixture
def server(fake: Callable[[str], FakeServer], monkeypatch: pytest.MonkeyPatch) -> FakeServer:
    monkeypatch.setattr(http, "DEADLINE_SEC", 1.0)
    return fake("tiktok")


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
