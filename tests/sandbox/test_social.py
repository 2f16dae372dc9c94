"""The sandbox platform: its API, its pages, and what it remembers."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import pytest

from chimera.sandbox.social import engagement
from tests.helpers.http import HTTP
from tests.helpers.world import arm_fault, list_posts, open_account, spawn_world, start_world


def send(world: str, handle: str, text: str = "hello", **changes: Any) -> httpx.Response:
    platform = changes.pop("platform", "twitter")
    token = changes.pop("token", None) or open_account(world, platform, handle)
    body = {
        "platform": platform,
        "account": handle,
        "text": text,
        "media": [],
        "client_reference": str(uuid4()),
    } | changes
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    content = json.dumps(body)  # plain ASCII, so that broken Unicode can be sent too
    return HTTP.post(f"{world}/social/posts", content=content, headers=headers)


def handle() -> str:
    return f"h_{uuid4().hex[:12]}"


def get(url: str, **options: Any) -> httpx.Response:
    return HTTP.get(url, **options)


def test_an_account_is_opened_once_per_platform_and_handle(world: str) -> None:
    name = handle()
    first = open_account(world, "twitter", name)
    assert open_account(world, "twitter", f"@{name}") == first
    assert open_account(world, "tiktok", name) != first


def test_a_duplicate_reference_is_refused_without_the_first_id(world: str) -> None:
    name, reference = handle(), str(uuid4())
    first = send(world, name, client_reference=reference)
    second = send(world, name, "another text", client_reference=reference)
    assert (first.status_code, second.status_code) == (201, 403)
    assert second.headers["content-type"] == "application/problem+json"
    assert "duplicate content" in second.json()["detail"]
    assert first.json()["post_id"] not in second.text
    assert len(list_posts(world, name)) == 1


@pytest.mark.parametrize(
    ("changes", "status", "named"),
    [
        ({"text": "a" * 281}, 422, "281 characters"),
        ({"text": ""}, 400, "text"),
        ({"text": "\ud800"}, 400, "text"),
        ({"client_reference": ""}, 400, "client_reference"),
        ({"account": "somebody_else"}, 403, "another account"),
        ({"token": "stolen"}, 401, "bearer"),
        ({"media": [{"url": "javascript:alert(1)", "sha256": "a" * 64}]}, 400, "media.url"),
        ({"media": [{"url": "https://m.example/a.jpg", "sha256": "A"}]}, 400, "media.sha256"),
        ({"media": "none"}, 400, "media"),
    ],
)
def test_a_bad_post_is_refused_by_name_and_not_stored(
    world: str, changes: dict[str, Any], status: int, named: str
) -> None:
    name = handle()
    reply = send(world, name, **changes)
    assert (reply.status_code, named in reply.json()["detail"]) == (status, True)
    assert list_posts(world, name) == []


def test_media_whose_bytes_are_not_the_announced_ones_are_refused(world: str) -> None:
    name = handle()
    media = [{"url": f"{world}/media/{'b' * 64}.jpg", "sha256": "a" * 64}]
    reply = send(world, name, media=media)
    assert (reply.status_code, list_posts(world, name)) == (400, [])


def test_a_body_that_a_browser_form_could_send_is_refused(world: str) -> None:
    reply = HTTP.post(
        f"{world}/faults/",
        content='{"target": "platform", "kind": "down", "count": 1}',
        headers={"Content-Type": "text/plain"},
    )
    assert reply.status_code == 415
    assert get(f"{world}/faults/").json() == {"armed": []}


def test_a_timeline_shows_only_the_accounts_own_posts_since_a_time(world: str) -> None:
    mine, other = handle(), handle()
    token = open_account(world, "twitter", mine)
    post = send(world, mine).json()
    send(world, other)
    headers = {"Authorization": f"Bearer {token}"}
    seen = get(f"{world}/social/posts", headers=headers).json()["results"]
    assert [item["post_id"] for item in seen] == [post["post_id"]]
    future = {"since": (datetime.now(UTC) + timedelta(hours=1)).isoformat()}
    later = get(f"{world}/social/posts", headers=headers, params=future).json()["results"]
    assert later == []
    foreign = get(f"{world}/social/posts", headers=headers, params={"account": other})
    assert foreign.status_code == 403


def test_engagement_grows_with_age_and_never_falls() -> None:
    now = datetime.now(UTC)
    post = {"post_id": "p", "created_at": now.isoformat()}
    ages = [engagement(post, now + timedelta(minutes=30 * step)) for step in range(100)]
    assert ages[0] == {"likes": 0, "comments": 0, "shares": 0}
    for name in ("likes", "comments", "shares"):
        counts = [age[name] for age in ages]
        assert counts == sorted(counts)
        assert counts[-1] > counts[4] > 0


def test_html_in_a_post_is_shown_as_text(world: str) -> None:
    text = '<script>alert(1)</script> & <img src=x onerror=alert(2)> it\'s "#1" #tag'
    post = send(world, handle(), text).json()
    for url in (post["post_url"], world):
        page = get(url)
        assert "<script" not in page.text
        assert "<img src=x" not in page.text
        assert "&lt;script&gt;alert(1)&lt;/script&gt; &amp;" in page.text
        assert 'it&#x27;s &quot;<span class="link">#1</span>&quot;' in page.text
        assert "default-src 'none'" in page.headers["content-security-policy"]


def test_a_post_page_says_that_it_is_a_sandbox_and_keeps_line_breaks(world: str) -> None:
    post = send(world, handle(), "first\nsecond", platform="instagram").json()
    page = get(post["post_url"]).text
    assert "first<br>second" in page
    assert "<strong>Sandbox platform</strong> playing Instagram" in page


def test_the_index_filters_by_platform_and_pages(world: str) -> None:
    name = handle()
    token = open_account(world, "youtube", name)
    for number in range(25):
        send(world, name, f"clip {number:02}", platform="youtube", token=token)
    page = get(f"{world}/?platform=youtube").text
    assert "clip 24" in page
    assert "clip 00" not in page
    older = page.partition('href="/?before=')[2].partition('"')[0].replace("&amp;", "&")
    assert "clip 00" in get(f"{world}/?before={older}").text
    assert name not in get(f"{world}/?platform=tiktok").text


def test_a_page_that_does_not_exist_is_a_404(world: str) -> None:
    for path in ("/posts/none", "/agents/none", "/media/none.jpg", "/media/..%2f..", "/nothing"):
        assert get(f"{world}{path}").status_code == 404


def test_another_host_name_is_refused(world: str) -> None:
    assert get(f"{world}/posts.json", headers={"Host": "evil.example"}).status_code == 400


@pytest.mark.req("X3")
def test_posts_survive_kill_and_restart(tmp_path: Path) -> None:
    process, world = spawn_world(tmp_path)
    name = handle()
    sent = send(world, name).json()
    process.kill()
    process.communicate()
    with start_world(tmp_path) as again:
        (post,) = list_posts(again, name)
        assert post["post_id"] == sent["post_id"]
        assert send(again, name, client_reference=post["intent_id"]).status_code == 403


def test_a_port_in_use_is_said_in_one_line(world: str, tmp_path: Path) -> None:
    port = int(world.rpartition(":")[2])
    with pytest.raises(RuntimeError, match=rf"port {port} is already in use\n$"):
        spawn_world(tmp_path / "other", port)
    assert not (tmp_path / "other").exists()


def test_sigterm_stops_within_two_seconds_even_with_a_slow_reply(tmp_path: Path) -> None:
    process, world = spawn_world(tmp_path)
    name = handle()
    token = open_account(world, "twitter", name)
    arm_fault(world, "platform", "slow")
    headers = {"Authorization": f"Bearer {token}"}
    with HTTP.stream("GET", f"{world}/social/posts", headers=headers):
        started = datetime.now(UTC)
        process.terminate()
        process.communicate(timeout=10)
    assert datetime.now(UTC) - started < timedelta(seconds=2)
