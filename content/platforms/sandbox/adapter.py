"""Adapter of the sandbox platform: real HTTP, one attempt, nothing assumed."""

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from content.platforms import limits
from content.platforms.base import (
    Engagement,
    FailureKind,
    Keep,
    Media,
    PlatformAdapter,
    PlatformFailure,
    PublishIntent,
    RemotePost,
)
from content.platforms.http import Reply, accept, call, detail, during, retry_after

MAX_PAGES = 50
_KINDS: dict[int, FailureKind] = {
    400: "content_rejected",
    401: "auth_dead",
    403: "auth_dead",
    413: "content_rejected",
    422: "content_rejected",
    429: "rate_limited",
}


def make(platform: str) -> "SandboxAdapter":
    """The sandbox playing the given platform."""
    return SandboxAdapter(platform)


SETTLE_SEC = 15.0  # longer than a request may take: what is not there by then never arrived


class SandboxAdapter(PlatformAdapter):
    """Posts to, and reads from, the sandbox platform."""

    def __init__(self, platform: str) -> None:
        self.name = platform
        self.settle_seconds = SETTLE_SEC

    def check(self, text: str, media: tuple[Media, ...]) -> list[str]:
        return limits.problems(self.name, text, media)

    def send(self, intent: PublishIntent, keep: Keep) -> RemotePost:
        body = {
            "platform": intent.platform,
            "account": intent.account,
            "text": intent.text,
            "media": [{"url": item.url, "sha256": item.sha256} for item in intent.media],
            "client_reference": str(intent.intent_id),
        }
        token = intent.credentials.access_token
        with during("send"):
            reply = call("POST", _url(intent, "/social/posts"), token=token, json=body)
            return _remote_post(accept(reply, "send", _judge).json())

    def lookup(self, intent: PublishIntent) -> RemotePost | None:
        query = {"account": intent.account} | _since(intent.intent_id)
        for _ in range(MAX_PAGES):
            page = _read(intent, "/social/posts", query)
            with during("read"):
                for post in page["results"]:
                    if post["client_reference"] == str(intent.intent_id):
                        return _remote_post(post)
                if page["next"] is None:
                    return None
                query["before"] = str(page["next"])
        raise PlatformFailure(
            "transient_before_mutation", f"the timeline is longer than {MAX_PAGES} pages"
        )

    def engagement(self, intent: PublishIntent, post_id: str) -> Engagement:
        counts = _read(intent, f"/social/posts/{post_id}", {})
        with during("read"):
            counts = counts["engagement"]
            return Engagement(
                likes=int(counts["likes"]),
                comments=int(counts["comments"]),
                shares=int(counts["shares"]),
            )


def _read(intent: PublishIntent, path: str, query: dict[str, str]) -> dict[str, Any]:
    token = intent.credentials.access_token
    with during("read"):
        reply = call("GET", _url(intent, path), token=token, params=query)
        return accept(reply, "read", _judge).json()


def _url(intent: PublishIntent, path: str) -> str:
    return f"{intent.base_url.rstrip('/')}{path}"


def _judge(reply: Reply) -> PlatformFailure:
    kind: FailureKind = _KINDS.get(reply.status, "permanent")
    if reply.status == 403 and "duplicate" in detail(reply).lower():
        kind = "duplicate_rejected"
    return PlatformFailure(kind, detail(reply), retry_after=retry_after(reply))


def _remote_post(post: dict[str, Any]) -> RemotePost:
    if not post["post_id"]:
        raise ValueError("the reply names no post")
    moment = datetime.fromisoformat(post["created_at"])
    return RemotePost(str(post["post_id"]), str(post["post_url"]), moment)


def _since(intent_id: UUID) -> dict[str, str]:
    """No post is older than its intent, whose UUIDv7 tells the time; an hour for bad clocks."""
    if intent_id.version != 7:
        return {}
    made = datetime.fromtimestamp((intent_id.int >> 80) / 1000, UTC)
    return {"since": (made - timedelta(hours=1)).isoformat()}
