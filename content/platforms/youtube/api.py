"""The calls to YouTube: one attempt each, the reply read into a small type.

An upload is a session: POST opens it and answers with its URI, PUT brings the bytes, PUT without bytes
and with `Content-Range: bytes */SIZE` asks how far it is
(developers.google.com/youtube/v3/guides/using_resumable_upload_protocol).
"""

import re
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from urllib.parse import urljoin, urlsplit

from chimera.core.clock import moment_of
from content.platforms.base import Credentials, Engagement, PlatformFailure, PublishIntent
from content.platforms.http import Reply, accept, call, detail, during
from content.platforms.youtube import errors

BASE_URL = "https://www.googleapis.com"
TOKEN_URL = "https://oauth2.googleapis.com/token"  # noqa: S105  an address
_GONE = (404, 410)
_RANGE = re.compile(r"bytes=0-(\d+)")


@dataclass(frozen=True)
class Video:
    """The parts of a `video` resource that say how it stands. reason: why it failed."""

    id: str
    upload_status: str
    reason: str
    published_at: datetime


@dataclass(frozen=True)
class Progress:
    """How far a session is. gone: YouTube knows it no more; video: set once it is complete."""

    arrived: int = 0
    video: Video | None = None
    gone: bool = False


def channel_names(intent: PublishIntent) -> set[str]:
    """Handle (without @) and title of the token's own channel, in lower case: channels.list, 1 unit."""
    with during("prepare"):
        reply = call(
            "GET",
            _url(intent, "/youtube/v3/channels"),
            token=intent.credentials.access_token,
            params={"part": "snippet", "mine": "true"},
        )
        accept(reply, "prepare", errors.of_reply)
        found = [item["snippet"] for item in reply.json().get("items", [])]
        texts = [snippet.get(name) or "" for snippet in found for name in ("customUrl", "title")]
        return {str(text).removeprefix("@").lower() for text in texts if text}


def session_open(intent: PublishIntent, resource: dict[str, Any], mime: str, size: int) -> str:
    """The URI of a new upload session. No video comes of it before the last byte."""
    headers = {"X-Upload-Content-Type": mime, "X-Upload-Content-Length": str(size)}
    with during("prepare"):
        reply = call(
            "POST",
            _url(intent, "/upload/youtube/v3/videos"),
            token=intent.credentials.access_token,
            headers=headers,
            params={"uploadType": "resumable", "part": "snippet,status"},
            json=resource,
        )
        accept(reply, "prepare", errors.of_reply)
        return _own_session(intent, reply.headers["location"])


def _own_session(intent: PublishIntent, location: str) -> str:
    """The session's URI, if it lies where a token may be sent to: at the network itself."""
    uri = urljoin(_url(intent, "/"), location)
    asked, given = urlsplit(intent.base_url), urlsplit(uri)
    same = (asked.scheme, asked.netloc) == (given.scheme, given.netloc)
    google = given.scheme == "https" and (given.hostname or "").endswith(".googleapis.com")
    if not (same or (google and intent.base_url == BASE_URL)):
        raise ValueError(f"the upload session lies on another server, {given.netloc}")
    return uri


def bytes_put(intent: PublishIntent, uri: str, first: int, mime: str) -> Progress:
    """Bring the bytes from `first` on: the call that makes the video.

    Whatever is unclear about it raises OutcomeUnknown. A session that takes only a part: not done.
    """
    body = intent.media[0].body
    span = f"bytes {first}-{len(body) - 1}/{len(body)}"
    with during("send"):
        reply = call(
            "PUT",
            uri,
            token=intent.credentials.access_token,
            headers={"Content-Type": mime, "Content-Range": span},
            content=body[first:],
        )
        if reply.status in _GONE:
            return Progress(gone=True)
        return Progress(video=_video(accept(reply, "send", errors.of_reply).json()))


def session_ask(intent: PublishIntent, uri: str, size: int) -> Progress:
    """How far the session is; it answers so for about a week, and with the video once complete."""
    with during("read"):
        reply = call(
            "PUT",
            uri,
            token=intent.credentials.access_token,
            headers={"Content-Range": f"bytes */{size}"},
        )
        if reply.status in _GONE:
            return Progress(gone=True)
        if reply.status == 308:
            return Progress(arrived=_arrived(reply))
        return Progress(video=_video(accept(reply, "read", errors.of_reply).json()))


def _arrived(reply: Reply) -> int:
    """Bytes that have arrived; without a Range header none."""
    span = reply.headers.get("range", "")
    if not span:
        return 0
    found = _RANGE.fullmatch(span)
    if not found:
        raise ValueError(f"the session names an unknown range: {span[:60]}")
    return int(found[1]) + 1


def video_fetch(intent: PublishIntent, video_id: str) -> Video | None:
    """videos.list (1 unit of quota; scope youtube.readonly); None while YouTube shows none."""
    with during("read"):
        items = _list(intent, video_id, "snippet,status")
        return _video(items[0]) if items else None


def counts_fetch(intent: PublishIntent, video_id: str) -> Engagement:
    """Likes and comments; a count that the channel hides is 0, shares are not told."""
    with during("read"):
        items = _list(intent, video_id, "statistics")
        if not items:
            raise PlatformFailure("permanent", f"YouTube does not show the video {video_id}")
        counts = items[0]["statistics"]
        return Engagement(
            likes=int(counts.get("likeCount", 0)),
            comments=int(counts.get("commentCount", 0)),
            shares=0,
        )


def _list(intent: PublishIntent, video_id: str, part: str) -> list[dict[str, Any]]:
    reply = call(
        "GET",
        _url(intent, "/youtube/v3/videos"),
        token=intent.credentials.access_token,
        params={"part": part, "id": video_id},
    )
    items = accept(reply, "read", errors.of_reply).json()["items"]
    return [item for item in items if item["id"] == video_id]


def _video(resource: dict[str, Any]) -> Video:
    if not resource["id"]:
        raise ValueError("the reply names no video")
    status = resource["status"]
    return Video(
        id=str(resource["id"]),
        upload_status=str(status["uploadStatus"]),
        reason=str(status.get("rejectionReason") or status.get("failureReason") or ""),
        published_at=moment_of(resource["snippet"]["publishedAt"]),
    )


def token_refresh(intent: PublishIntent) -> Credentials:
    """A new access token (about an hour); Google's refresh token stays the same."""
    held = intent.credentials
    if not (held.refresh_token and held.extra.get("client_id")):
        raise PlatformFailure(
            "auth_dead", "Connect the YouTube account again: it has no refresh token"
        )
    form = {
        "client_id": held.extra["client_id"],
        "client_secret": held.extra.get("client_secret", ""),
        "grant_type": "refresh_token",
        "refresh_token": held.refresh_token,
    }
    live = intent.base_url.rstrip("/") == BASE_URL
    with during("read"):
        reply = call("POST", TOKEN_URL if live else _url(intent, "/token"), data=form)
        if reply.status in (400, 401) and isinstance(reply.fields().get("error"), str):
            why = detail(reply, "error_description", "error")
            raise PlatformFailure("auth_dead", f"{why}; connect the YouTube account again")
        fields = accept(reply, "read", errors.of_reply).json()
        return replace(
            held,
            access_token=str(fields["access_token"]),
            refresh_token=str(fields.get("refresh_token") or held.refresh_token),
        )


def _url(intent: PublishIntent, path: str) -> str:
    return f"{intent.base_url.rstrip('/')}{path}"
