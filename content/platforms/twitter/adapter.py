"""Adapter of X: API v2 with an OAuth 2.0 user token.

Scopes: tweet.read, tweet.write, users.read, media.write, offline.access. X knows no idempotency key
and does not name the post that a duplicate repeats, so a post is looked up in the account's own
timeline: the same text, made since the post was begun. Source: OpenAPI 2.167, docs.x.com, 2026-11.
"""

import base64
from datetime import datetime, timedelta
from typing import Any

from chimera.core.clock import now
from content.platforms.base import (
    Credentials,
    Engagement,
    Keep,
    Media,
    PlatformAdapter,
    PlatformFailure,
    PublishIntent,
    RemotePost,
)
from content.platforms.http import Reply, accept, call, during
from content.platforms.twitter import rules, uploads
from content.platforms.twitter.errors import judge
from content.platforms.twitter.timeline import is_same

MAX_PAGES = 10
CLOCK_SLACK = timedelta(minutes=2)


def make(platform: str) -> "TwitterAdapter":
    """The adapter of X."""
    return TwitterAdapter()


class TwitterAdapter(PlatformAdapter):
    """Posts to X."""

    name = "twitter"
    base_url = "https://api.x.com"
    settle_seconds = 120.0
    # The own timeline shows a post within seconds, and X refuses the same text a second time.
    absence_is_proof = True
    finds_by_text = True

    def check(self, text: str, media: tuple[Media, ...]) -> list[str]:
        return rules.problems(text, media)

    def prepare(self, intent: PublishIntent, keep: Keep) -> None:
        user_id = _own_id(intent)  # each time: the account may have been connected anew since
        if intent.handles.get("user_id") != user_id:
            keep("user_id", user_id)
        for number in range(len(intent.media)):
            uploads.upload(intent, number, keep)

    def send(self, intent: PublishIntent, keep: Keep) -> RemotePost:
        body: dict[str, Any] = {"text": intent.text, "made_with_ai": intent.made_by_ai}
        if intent.media:
            body["media"] = {"media_ids": uploads.media_ids(intent)}
        with during("send"):
            reply = _call(intent, "POST", "/2/tweets", json=body)
            data = accept(reply, "send", judge).json()["data"]
            return _remote_post(intent, str(data["id"]), now())

    def lookup(self, intent: PublishIntent) -> RemotePost | None:
        if intent.begun_at is None:
            return None
        since = (intent.begun_at - CLOCK_SLACK).strftime("%Y-%m-%dT%H:%M:%SZ")
        query = {
            "max_results": "100",
            "start_time": since,
            "tweet.fields": "created_at,entities,attachments",
        }
        path = f"/2/users/{intent.handles.get('user_id') or _own_id(intent)}/tweets"
        for _ in range(MAX_PAGES):
            with during("read"):
                page = _read(intent, path, query)
                for post in page.get("data") or []:
                    if str(post["id"]) not in intent.taken and is_same(post, intent):
                        made = datetime.fromisoformat(post["created_at"])
                        return _remote_post(intent, str(post["id"]), made)
                following = page["meta"].get("next_token")
            if not following:
                return None
            query["pagination_token"] = str(following)
        raise PlatformFailure("transient_before_mutation", "The timeline is too long to search")

    def refresh(self, intent: PublishIntent) -> Credentials:
        old = intent.credentials
        if not old.refresh_token:
            raise PlatformFailure("auth_dead", "The account must be connected again")
        client, secret = old.extra.get("client_id", ""), old.extra.get("client_secret", "")
        form = {"grant_type": "refresh_token", "refresh_token": old.refresh_token}
        basic = base64.b64encode(f"{client}:{secret}".encode()).decode()
        headers = {"Authorization": f"Basic {basic}"} if secret else {}
        url = f"{intent.base_url.rstrip('/')}/2/oauth2/token"
        with during("prepare"):
            form |= {} if secret else {"client_id": client}
            given = accept(call("POST", url, headers=headers, data=form), "prepare", _dead).json()
            return Credentials(
                str(given["access_token"]),
                str(given.get("refresh_token") or old.refresh_token),
                old.extra,
            )

    def engagement(self, intent: PublishIntent, post_id: str) -> Engagement:
        with during("read"):
            found = _read(intent, f"/2/tweets/{post_id}", {"tweet.fields": "public_metrics"})
            counts = found["data"]["public_metrics"]
            return Engagement(
                likes=int(counts["like_count"]),
                comments=int(counts["reply_count"]),
                shares=int(counts["retweet_count"]) + int(counts.get("quote_count", 0)),
            )


def _own_id(intent: PublishIntent) -> str:
    """The id of the account behind the token, which must be the account that was approved."""
    with during("read"):
        data = _read(intent, "/2/users/me", {})["data"]
        name, user_id = str(data["username"]), str(data["id"])
    if name.lower() != intent.account.lower():
        raise PlatformFailure(
            "auth_dead", f"The token is one of @{name}, not of @{intent.account}; connect it again"
        )
    return user_id


def _read(intent: PublishIntent, path: str, query: dict[str, str]) -> dict[str, Any]:
    return accept(_call(intent, "GET", path, params=query), "read", judge).json()


def _call(intent: PublishIntent, method: str, path: str, **options: Any) -> Reply:
    url = f"{intent.base_url.rstrip('/')}{path}"
    return call(method, url, token=intent.credentials.access_token, **options)


def _dead(reply: Reply) -> PlatformFailure:
    """A refresh token that is refused is used up or revoked; a busy server is only busy."""
    if reply.status == 429:
        return judge(reply)
    fields = reply.fields()
    why = fields.get("error_description") or fields.get("error") or f"HTTP {reply.status}"
    return PlatformFailure("auth_dead", f"The account must be connected again: {why}")


def _remote_post(intent: PublishIntent, post_id: str, made: datetime) -> RemotePost:
    return RemotePost(post_id, f"https://x.com/{intent.account}/status/{post_id}", made)
