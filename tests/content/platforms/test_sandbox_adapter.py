"""The sandbox adapter against the real sandbox platform, in good times and in bad."""

import socket
import threading
from uuid import UUID, uuid4

import httpx
import pytest

from chimera.core.errors import ChimeraError
from chimera.core.ids import new_id
from content.platforms import http
from content.platforms.base import (
    Credentials,
    Engagement,
    Media,
    OutcomeUnknown,
    PlatformFailure,
    PublishIntent,
)
from content.platforms.limits import LIMITS
from content.platforms.registry import adapter_for
from tests.helpers.http import HTTP
from tests.helpers.world import arm_fault, list_posts, open_account

SANDBOX = adapter_for("twitter", "sandbox")


def no_handle(name: str, value: str) -> None:
    raise AssertionError(f"the sandbox keeps no handle, not {name}")


def make_intent(
    world: str, text: str = "Merkato knew first.", *, intent_id: UUID | None = None
) -> PublishIntent:
    handle = f"aurora_{uuid4().hex[:12]}"
    token = open_account(world, "twitter", handle)
    return PublishIntent(
        intent_id or new_id(), "twitter", handle, text, (), world, Credentials(token)
    )


@pytest.mark.req("A5.8")
def test_a_sent_post_is_on_the_platform_and_found_again(world: str) -> None:
    intent = make_intent(world, "Two lines\nand a #tag")
    sent = SANDBOX.send(intent, no_handle)
    assert SANDBOX.lookup(intent) == sent
    (post,) = list_posts(world, intent.account)
    assert (post["post_id"], post["intent_id"]) == (sent.post_id, str(intent.intent_id))
    assert post["text"] == "Two lines\nand a #tag"
    assert HTTP.get(sent.post_url).status_code == 200


def test_lookup_before_sending_finds_nothing(world: str) -> None:
    assert SANDBOX.lookup(make_intent(world)) is None


def test_lookup_finds_a_post_beyond_the_first_page(world: str) -> None:
    first = make_intent(world, intent_id=uuid4())
    sent = SANDBOX.send(first, no_handle)
    headers = {"Authorization": f"Bearer {first.credentials.access_token}"}
    with httpx.Client(base_url=world, headers=headers, trust_env=False) as client:
        for number in range(51):
            body = {
                "platform": "twitter",
                "account": first.account,
                "text": f"later {number}",
                "client_reference": f"later-{number}",
            }
            assert client.post("/social/posts", json=body).status_code == 201
    assert SANDBOX.lookup(first) == sent


@pytest.mark.req("X2")
@pytest.mark.parametrize("kind", ["cut_after_effect", "500_after_effect", "malformed"])
def test_a_lost_reply_is_unknown_and_lookup_finds_the_one_post(world: str, kind: str) -> None:
    intent = make_intent(world)
    arm_fault(world, "platform", kind)
    with pytest.raises(OutcomeUnknown):
        SANDBOX.send(intent, no_handle)
    found = SANDBOX.lookup(intent)
    assert found is not None
    assert [post["post_id"] for post in list_posts(world, intent.account)] == [found.post_id]


@pytest.mark.req("X2")
def test_a_dripping_reply_is_unknown_within_the_deadline(
    world: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http, "DEADLINE_SEC", 1.0)
    intent = make_intent(world)
    arm_fault(world, "platform", "slow")
    with pytest.raises(OutcomeUnknown, match="within 1 s"):
        SANDBOX.send(intent, no_handle)
    assert SANDBOX.lookup(intent) is not None
    assert len(list_posts(world, intent.account)) == 1


@pytest.mark.req("X2")
def test_a_platform_that_is_down_is_unknown_and_nothing_is_posted(world: str) -> None:
    intent = make_intent(world)
    arm_fault(world, "platform", "down")
    with pytest.raises(OutcomeUnknown, match="503"):
        SANDBOX.send(intent, no_handle)
    assert SANDBOX.lookup(intent) is None


def test_a_rate_limit_says_how_long_to_wait_and_nothing_is_posted(world: str) -> None:
    intent = make_intent(world)
    arm_fault(world, "platform", "429")
    with pytest.raises(PlatformFailure) as failure:
        SANDBOX.send(intent, no_handle)
    assert (failure.value.kind, failure.value.retry_after) == ("rate_limited", 2.0)
    assert list_posts(world, intent.account) == []


@pytest.mark.req("A5.3")
def test_a_second_send_of_one_intent_is_a_duplicate_and_changes_nothing(world: str) -> None:
    intent = make_intent(world)
    sent = SANDBOX.send(intent, no_handle)
    with pytest.raises(PlatformFailure) as failure:
        SANDBOX.send(intent, no_handle)
    assert failure.value.kind == "duplicate_rejected"
    assert sent.post_id not in str(failure.value)
    assert len(list_posts(world, intent.account)) == 1


def test_a_wrong_token_is_dead_and_nothing_is_posted(world: str) -> None:
    good = make_intent(world)
    bad = PublishIntent(
        good.intent_id, "twitter", good.account, "x", (), world, Credentials("stolen")
    )
    with pytest.raises(PlatformFailure) as failure:
        SANDBOX.send(bad, no_handle)
    assert failure.value.kind == "auth_dead"
    assert list_posts(world, good.account) == []


def test_a_text_over_the_limit_is_rejected_by_check_and_by_the_platform(world: str) -> None:
    intent = make_intent(world, "ሰ" * 141)  # weighs double on X
    assert SANDBOX.check(intent.text, ()) == ["the text has 282 characters, twitter allows 280"]
    with pytest.raises(PlatformFailure) as failure:
        SANDBOX.send(intent, no_handle)
    assert failure.value.kind == "content_rejected"
    assert list_posts(world, intent.account) == []


@pytest.mark.parametrize(
    ("platform", "fits"),
    [("twitter", 280), ("tiktok", 2200), ("instagram", 2200), ("youtube", 5000)],
)
def test_check_allows_exactly_the_limit(platform: str, fits: int) -> None:
    adapter = adapter_for(platform, "sandbox")
    assert adapter.name == platform
    assert adapter.check("a" * fits, ()) == []
    assert len(adapter.check("a" * (fits + 1), ())) == 1


def test_check_names_an_empty_post_and_too_many_media() -> None:
    assert SANDBOX.check(" ", ()) == ["a post needs a text or media"]
    many = tuple(Media("https://media.example/a.jpg", "a" * 64) for _ in range(5))
    assert SANDBOX.check("ok", many) == ["the post has 5 media files, twitter allows 4"]


@pytest.mark.req("A5.9")
def test_engagement_of_a_fresh_post_starts_near_nothing(world: str) -> None:
    intent = make_intent(world)
    counts = SANDBOX.engagement(intent, SANDBOX.send(intent, no_handle).post_id)
    assert isinstance(counts, Engagement)
    assert 0 <= counts.likes < 50


def test_a_refused_connection_is_certain_to_have_sent_nothing() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound, not listening: connections are refused
        url = f"http://127.0.0.1:{taken.getsockname()[1]}"
        intent = PublishIntent(new_id(), "twitter", "aurora", "x", (), url, Credentials("token"))
        with pytest.raises(PlatformFailure) as failure:
            SANDBOX.send(intent, no_handle)
    assert failure.value.kind == "transient_before_mutation"


@pytest.mark.parametrize(
    "reply", [b"HTTP/1.1 201 Created\r\nContent-Length: 2\r\n\r\n{}", b"not http at all\r\n\r\n"]
)
def test_a_reply_without_a_post_id_is_unknown_and_sent_once(reply: bytes) -> None:
    seen: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as server:

        def answer() -> None:
            connection, _ = server.accept()
            seen.append(connection.recv(65_536))
            connection.sendall(reply)
            connection.close()

        thread = threading.Thread(target=answer)
        thread.start()
        url = f"http://127.0.0.1:{server.getsockname()[1]}"
        with pytest.raises(OutcomeUnknown):
            SANDBOX.send(PublishIntent(new_id(), "twitter", "aurora", "x", (), url), no_handle)
        thread.join()
        server.settimeout(0.2)
        with pytest.raises(TimeoutError):
            server.accept()
    assert len(seen) == 1


def test_a_failed_lookup_is_no_verdict(world: str) -> None:
    intent = make_intent(world)
    SANDBOX.send(intent, no_handle)
    for kind in ("down", "malformed"):
        arm_fault(world, "platform", kind)
        with pytest.raises(PlatformFailure) as failure:
            SANDBOX.lookup(intent)
        assert failure.value.kind == "transient_before_mutation"


def test_the_token_is_not_in_the_printed_intent(world: str) -> None:
    intent = make_intent(world)
    assert intent.credentials.access_token not in repr(intent)


def test_a_network_without_an_adapter_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(LIMITS, "threads", LIMITS["twitter"])
    with pytest.raises(ChimeraError, match="connect it") as refusal:
        adapter_for("threads", "production")
    assert refusal.value.code == "PLATFORM_UNAVAILABLE"
    with pytest.raises(ChimeraError) as unknown:
        adapter_for("../sandbox", "production")
    assert unknown.value.code == "INVALID_PLATFORM"
