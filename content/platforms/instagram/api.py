"""The calls to Instagram: one attempt each, the reply read into a small type."""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from chimera.core.clock import iso, now
from content.platforms.base import Credentials, Engagement, PlatformFailure, PublishIntent
from content.platforms.http import Step, accept, call, during
from content.platforms.instagram import errors

VERSION = "v25.0"
LISTED = 25


@dataclass(frozen=True)
class Container:
    """status_code: IN_PROGRESS, FINISHED, PUBLISHED, ERROR or EXPIRED; status: words or a subcode."""

    status_code: str
    status: str


@dataclass(frozen=True)
class MediaItem:
    """A post of the account. at: when it was published."""

    media_id: str
    caption: str
    permalink: str
    at: datetime


def account_number(intent: PublishIntent) -> str:
    """The number of the professional account; PlatformFailure auth_dead where none is kept."""
    number = intent.credentials.extra.get("ig_user_id", "")
    if not number.isdecimal():
        raise PlatformFailure(
            "auth_dead", "The account has no ig_user_id: connect the Instagram account again"
        )
    return number


def username_get(intent: PublishIntent) -> str:
    """The name of the account that the token is for."""
    with during("prepare"):
        return str(_get(intent, "me", {"fields": "user_id,username"}, "prepare")["username"])


def quota_left(intent: PublishIntent) -> int:
    """Posts that the rolling day still allows, as Instagram counts them (documents disagree)."""
    with during("prepare"):
        path = f"{account_number(intent)}/content_publishing_limit"
        (entry,) = _get(intent, path, {"fields": "config,quota_usage"}, "prepare")["data"]
        return int(entry["config"]["quota_total"]) - int(entry["quota_usage"])


def container_create(intent: PublishIntent, body: dict[str, Any]) -> str:
    """The id of a new container. One that is never published vanishes after 24 hours."""
    with during("prepare"):
        reply = call(
            "POST",
            _url(intent, f"{account_number(intent)}/media"),
            token=intent.credentials.access_token,
            json=body,
        )
        return _id(accept(reply, "prepare", errors.judge).json())


def container_get(intent: PublishIntent, container: str) -> Container:
    """How far a container is."""
    with during("read"):
        fields = _get(intent, container, {"fields": "status_code,status"}, "read")
        return Container(str(fields["status_code"]), str(fields.get("status") or ""))


def container_publish(intent: PublishIntent, container: str) -> str:
    """The id of the post. The one call that makes it; a container can be published once."""
    with during("send"):
        reply = call(
            "POST",
            _url(intent, f"{account_number(intent)}/media_publish"),
            token=intent.credentials.access_token,
            json={"creation_id": container},
        )
        return _id(accept(reply, "send", errors.judge_publish).json())


def media_get(intent: PublishIntent, media_id: str) -> MediaItem:
    """A post with its address."""
    with during("read"):
        return _item(_get(intent, media_id, {"fields": "id,caption,permalink,timestamp"}, "read"))


def media_list(intent: PublishIntent) -> list[MediaItem]:
    """The newest posts of the account."""
    with during("read"):
        query = {"fields": "id,caption,permalink,timestamp", "limit": str(LISTED)}
        page = _get(intent, f"{account_number(intent)}/media", query, "read")
        return [_item(entry) for entry in page["data"]]


def counts_get(intent: PublishIntent, media_id: str) -> Engagement:
    """Counts of a post; Instagram leaves likes out where the account hides them."""
    with during("read"):
        fields = _get(intent, media_id, {"fields": "like_count,comments_count"}, "read")
        return Engagement(
            likes=int(fields.get("like_count") or 0),
            comments=int(fields.get("comments_count") or 0),
            shares=0,
        )


def token_refresh(intent: PublishIntent) -> Credentials:
    """A long-lived token renewed for 60 days; only one that has not expired can be renewed."""
    held = intent.credentials
    with during("read"):
        reply = call(
            "GET",
            f"{intent.base_url.rstrip('/')}/refresh_access_token",
            params={"grant_type": "ig_refresh_token", "access_token": held.access_token},
        )
        try:
            fields = accept(reply, "read", errors.judge).json()
        except PlatformFailure as failure:
            if failure.kind in ("auth_refresh", "auth_dead"):
                text = "The token has expired: connect the Instagram account again"
                raise PlatformFailure("auth_dead", text) from failure
            raise
        lapse = now() + timedelta(seconds=int(fields["expires_in"]))
        return replace(
            held,
            access_token=str(fields["access_token"]),
            extra={**held.extra, "expires_at": str(iso(lapse))},
        )


def _get(intent: PublishIntent, path: str, query: dict[str, str], step: Step) -> dict[str, Any]:
    token = intent.credentials.access_token
    reply = call("GET", _url(intent, path), token=token, params=query)
    return accept(reply, step, errors.judge).json()


def _url(intent: PublishIntent, path: str) -> str:
    return f"{intent.base_url.rstrip('/')}/{VERSION}/{path}"


def _id(fields: dict[str, Any]) -> str:
    if not fields["id"]:
        raise ValueError("the reply names no id")
    return str(fields["id"])


def _item(entry: dict[str, Any]) -> MediaItem:
    return MediaItem(
        media_id=str(entry["id"]),
        caption=str(entry.get("caption") or ""),
        permalink=str(entry["permalink"]),
        at=datetime.strptime(entry["timestamp"], "%Y-%m-%dT%H:%M:%S%z"),
    )
