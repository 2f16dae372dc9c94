"""What is particular about X: its timeline, its limits, its media, its refusals."""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any
from uuid import uuid4

import httpx
import pytest

from chimera.core.clock import now
from content.models import Publication
from content.platforms.base import (
    Credentials,
    Engagement,
    Media,
    OutcomeUnknown,
    PlatformFailure,
    Processing,
    PublishIntent,
)
from content.platforms.http import Reply
from content.platforms.registry import adapter_for
from content.platforms.twitter import uploads
from content.platforms.twitter.errors import judge
from content.platforms.twitter.timeline import is_same
from tests.content.platforms.cases.twitter import CASE
from tests.content.platforms.stage import Stage, drive, file_bytes
from tests.fakes.fixtures import FakeServer

pytestmark = pytest.mark.req("A5.8")
X = adapter_for("twitter", "live")
MB = 1024 * 1024
TRICKY = 'Fish & chips < "soup" 🍲 ሰላም https://example.org/a?b=1&c=2 and more'


@pytest.fixture
def x(fake: Callable[[str], FakeServer]) -> FakeServer:
    return fake("twitter")


def _intent(x: FakeServer, text: str = "Merkato knew first.", **changes: Any) -> PublishIntent:
    given = x.account("aurora", **changes.pop("wanted", {}))
    tokens = Credentials(given["access_token"], given["refresh_token"], given["extra"])
    made = PublishIntent(uuid4(), "twitter", "aurora", text, (), x.url, tokens, begun_at=now())
    return replace(made, **changes)


class Kept(dict[str, str]):
    def __call__(self, name: str, value: str) -> None:
        self[name] = value


def _media(ending: str, body: bytes = b"", **more: Any) -> Media:
    kind = "video" if ending == "mp4" else "image"
    return Media(
        f"https://m.example/a.{ending}", "0" * 64, kind, body or file_bytes(ending), **more
    )


# --- looking a post up ----------------------------------------------------------------------------


@pytest.mark.parametrize("text", [TRICKY, "https://example.org", "no links\n\nat all", "a &amp; b"])
@pytest.mark.req("X2")
def test_a_post_is_found_though_the_timeline_escapes_it_and_shortens_its_links(
    x: FakeServer, text: str
) -> None:
    intent, kept = _intent(x, text, media=(_media("jpg"),)), Kept()
    X.prepare(intent, kept)
    sent = X.send(replace(intent, handles=dict(kept)), kept)

    found = X.lookup(intent)

    assert found and (found.post_id, found.post_url) == (sent.post_id, sent.post_url)


@pytest.mark.req("X2")
def test_neither_another_text_nor_an_older_post_nor_a_latest_post_is_taken_for_ours(
    x: FakeServer,
) -> None:
    intent = _intent(x)
    X.send(replace(intent, text="Merkato knew first. And more."), Kept())
    assert X.lookup(intent) is None
    X.send(intent, Kept())

    assert X.lookup(replace(intent, begun_at=now() + timedelta(minutes=5))) is None
    assert X.lookup(replace(intent, begun_at=None)) is None, "nothing was begun"
    assert X.lookup(replace(intent, media=(_media("jpg"),))) is None, "ours has a file"


def test_a_post_beyond_the_first_page_is_found(x: FakeServer) -> None:
    intent = _intent(x)
    sent = X.send(intent, Kept())
    for number in range(101):
        X.send(replace(intent, text=f"later {number}"), Kept())

    found = X.lookup(intent)

    assert found and found.post_id == sent.post_id


@pytest.mark.parametrize(
    ("shown", "urls", "text", "same"),
    [
        ("Look https://t.co/a", [("a", "http://example.org/")], "Look example.org", True),
        ("Look https://t.co/a", [("a", "https://example.org/x")], "Look example.org/y", False),
        ("Look https://t.co/a", [], "Look https://example.org/", True),
        ("1 &lt; 2 &amp; 3", [], "1 < 2 & 3", True),
        ("a.c", [], "abc", False),
    ],
)
def test_links_are_compared_by_where_they_lead(
    shown: str, urls: list[tuple[str, str]], text: str, same: bool
) -> None:
    entities = [{"url": f"https://t.co/{code}", "expanded_url": goal} for code, goal in urls]
    post = {"text": shown, "entities": {"urls": entities}}
    intent = PublishIntent(uuid4(), "twitter", "aurora", text, (), "")

    assert is_same(post, intent) is same


# --- refusals -------------------------------------------------------------------------------------

P = "https://api.twitter.com/2/problems/"


@pytest.mark.parametrize(
    ("status", "problem", "detail", "kind"),
    [
        (401, "about:blank", "Unauthorized", "auth_refresh"),
        (402, "about:blank", "CreditsDepleted", "quota_exhausted"),
        (403, "about:blank", "… create a Tweet with duplicate content.", "duplicate_rejected"),
        (403, f"{P}client-forbidden", "", "auth_dead"),
        (403, f"{P}not-authorized-for-resource", "", "auth_dead"),
        (403, "about:blank", "Your account is suspended", "auth_dead"),
        (403, "about:blank", "You are not permitted to do this", "permanent"),
        (400, f"{P}invalid-request", "One or more parameters", "content_rejected"),
        (429, f"{P}usage-capped", "Usage cap exceeded", "quota_exhausted"),
        (429, "about:blank", "Too Many Requests", "rate_limited"),
        (404, f"{P}resource-not-found", "", "permanent"),
    ],
)
def test_a_refusal_has_the_meaning_that_the_documents_give_it(
    status: int, problem: str, detail: str, kind: str
) -> None:
    body = httpx.Response(status, json={"type": problem, "detail": detail, "title": "t"}).content

    assert judge(Reply(status, httpx.Headers(), body)).kind == kind


@pytest.mark.parametrize(
    ("names", "least"),
    [({"x-rate-limit": 60}, 58), ({"x-rate-limit": 60, "x-app-limit-24hour": 7200}, 7190)],
)
def test_the_longest_window_that_is_used_up_says_when_to_come_back(
    names: dict[str, int], least: float
) -> None:
    headers = httpx.Headers()
    for name, seconds in names.items():
        headers[f"{name}-remaining"] = "0"
        headers[f"{name}-reset"] = str(int(now().timestamp()) + seconds)

    failure = judge(Reply(429, headers, b"{}"))

    assert failure.retry_after and least <= failure.retry_after <= least + 11


def test_a_used_up_month_is_no_post_and_no_retry_in_vain(x: FakeServer) -> None:
    x.arm("usage-capped")
    with pytest.raises(PlatformFailure) as failure:
        X.send(_intent(x), Kept())
    assert failure.value.kind == "quota_exhausted" and x.effects() == []


@pytest.mark.req("X2")
def test_a_success_that_names_no_post_is_unknown_and_then_found(x: FakeServer) -> None:
    intent = _intent(x)
    x.arm("no_id")
    with pytest.raises(OutcomeUnknown):
        X.send(intent, Kept())
    found = X.lookup(intent)
    assert found and [post["id"] for post in x.effects()] == [found.post_id]


@pytest.mark.parametrize("secret", ["", "hush"], ids=["public", "confidential"])
def test_a_refresh_token_is_exchanged_once_for_a_new_pair(x: FakeServer, secret: str) -> None:
    intent = _intent(x, wanted={"client_secret": secret})

    fresh = X.refresh(intent)

    assert fresh.refresh_token != intent.credentials.refresh_token
    assert fresh.extra == intent.credentials.extra
    X.send(replace(intent, credentials=fresh), Kept())
    with pytest.raises(PlatformFailure) as failure:
        X.refresh(intent)
    assert failure.value.kind == "auth_dead"


def test_the_token_is_in_no_message(x: FakeServer) -> None:
    intent = replace(_intent(x), credentials=Credentials("sesame", "sesame-too"))
    for call in (lambda: X.send(intent, Kept()), lambda: X.refresh(intent)):
        with pytest.raises(PlatformFailure) as failure:
            call()
        assert "sesame" not in f"{failure.value!r}{failure.value}{intent!r}"


# --- media ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("ending", ["gif", "mp4"])
def test_a_gif_or_a_video_is_posted_once_its_processing_is_over(
    stage_of: Callable[..., Stage], ending: str
) -> None:
    stage = stage_of(CASE)
    publication = stage.begin(stage.content(files=(ending,)))

    codes = drive(publication)

    assert codes and set(codes) == {"OUTCOME_UNKNOWN"}, "it was waited for"
    assert publication.state == Publication.State.PUBLISHED and publication.attempts == 1
    assert len(stage.server.calls("/initialize")) == len(stage.posted(publication)) == 1


def test_a_video_that_cannot_be_processed_is_refused_and_nothing_is_posted(x: FakeServer) -> None:
    intent, kept = _intent(x, media=(_media("mp4"),)), Kept()
    x.arm("media_failed")
    with pytest.raises(PlatformFailure, match="Unsupported codec") as failure:
        X.prepare(intent, kept)
    assert failure.value.kind == "content_rejected" and x.effects() == []


def test_a_large_file_goes_up_in_segments_and_on_from_the_one_that_failed(
    x: FakeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(uploads, "SEGMENT_BYTES", 1000)
    body = file_bytes("mp4") * 2
    intent, kept = _intent(x, media=(_media("mp4", body),)), Kept()
    X_calls = lambda: len(x.calls("/append", "POST"))  # noqa: E731
    x.arm("500_before_effect", path="/append")
    with pytest.raises(PlatformFailure):
        X.prepare(intent, kept)
    assert kept["media.0.sent"] == "0" and X_calls() == 1

    with pytest.raises(Processing):
        X.prepare(replace(intent, handles=dict(kept)), kept)

    assert X_calls() == 1 + -(-len(body) // 1000) and len(x.calls("/initialize")) == 1


def test_an_upload_that_x_has_dropped_is_begun_anew(x: FakeServer) -> None:
    intent, kept = _intent(x, media=(_media("jpg"),)), Kept()
    soon = str(int(now().timestamp()) + 60)
    old = {"media.0.id": "17", "media.0.state": "ready", "media.0.until": soon}

    X.prepare(replace(intent, handles=old), kept)

    assert kept["media.0.state"] == "ready" and kept["media.0.id"] != "17"


@pytest.mark.parametrize(
    ("text", "media", "word"),
    [
        ("$AAPL or $TSLA?", (), "cashtags"),
        ("x" * 281, (), "281"),
        ("", (), "needs a text or media"),
        ("ok", (_media("png", b"%PDF-1.7"),), "neither"),
        ("ok", (_media("jpg", file_bytes("jpg") + b"0" * 5 * MB),), "bytes"),
        ("ok", (_media("gif", file_bytes("gif") + b"0" * 15 * MB),), "bytes"),
        ("ok", (_media("mp4", seconds=141.0),), "lasts"),
        ("ok", (_media("mp4", seconds=0.2),), "lasts"),
        ("ok", (_media("gif"), _media("jpg")), "stands alone"),
        ("ok", (_media("jpg"),) * 5, "5 media files"),
    ],
)
def test_what_x_would_refuse_is_said_before_it_is_asked(
    text: str, media: tuple[Media, ...], word: str
) -> None:
    found = X.check(text, media)
    assert len(found) == 1 and word in found[0]


@pytest.mark.parametrize(
    ("text", "media"),
    [
        ("One $AAPL costs $20 or US$30", ()),
        ("", (_media("jpg"),)),
        ("ok", (_media("jpg"), _media("png"), _media("jpg"), _media("png"))),
        ("ok", (_media("mp4", seconds=140.0),)),
    ],
)
def test_what_x_takes_is_let_through(text: str, media: tuple[Media, ...]) -> None:
    assert X.check(text, media) == []


@pytest.mark.req("A5.9")
def test_reposts_and_quotes_are_shares(x: FakeServer) -> None:
    intent = _intent(x)
    post = X.send(intent, Kept())
    assert X.engagement(intent, post.post_id) == Engagement(likes=3, comments=2, shares=2)
