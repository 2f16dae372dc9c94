"""The calls to TikTok: one attempt each, the reply read into a small type.

Every reply of open.tiktokapis.com is `{data, error{code, message, log_id}}` and has succeeded only when
`error.code` is "ok"; the token endpoint answers flat; uploads answer with a bare HTTP status.
"""

from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any
from urllib.parse import urlsplit

from chimera.core.clock import now
from content.platforms.base import (
    Credentials,
    Engagement,
    OutcomeUnknown,
    PlatformFailure,
    PublishIntent,
)
from content.platforms.http import Reply, Step, accept, call, detail, during, retry_after
from content.platforms.tiktok import errors

_JSON = {"Content-Type": "application/json; charset=UTF-8"}
_COUNTS = "id,like_count,comment_count,share_count"


@dataclass(frozen=True)
class Creator:
    """What the account may do now. privacy: the levels it may choose from."""

    username: str
    privacy: tuple[str, ...]
    comment_disabled: bool
    duet_disabled: bool
    stitch_disabled: bool
    max_seconds: float


@dataclass(frozen=True)
class Status:
    """How far a post is. arrived: bytes uploaded; public_id: empty before moderation has ended."""

    name: str
    reason: str
    arrived: int
    public_id: str


def creator_query(intent: PublishIntent) -> Creator:
    """POST /v2/post/publish/creator_info/query/ (20 a minute)."""
    with during("prepare"):
        data = _post(intent, "/v2/post/publish/creator_info/query/", {}, "prepare")
        return Creator(
            username=str(data["creator_username"]),
            privacy=tuple(data["privacy_level_options"]),
            comment_disabled=bool(data.get("comment_disabled")),
            duet_disabled=bool(data.get("duet_disabled")),
            stitch_disabled=bool(data.get("stitch_disabled")),
            max_seconds=float(data.get("max_video_post_duration_sec") or 0),
        )


def video_init(intent: PublishIntent, body: dict[str, Any]) -> tuple[str, str]:
    """(publish_id, upload_url). Nothing is posted before the last byte has been uploaded."""
    with during("prepare"):
        data = _post(intent, "/v2/post/publish/video/init/", body, "prepare")
        return str(data["publish_id"]), _own_upload_url(intent, str(data["upload_url"]))


def photos_init(intent: PublishIntent, body: dict[str, Any]) -> str:
    """The publish_id. This call makes the post: TikTok fetches the photos and goes on by itself."""
    with during("send"):
        data = _post(intent, "/v2/post/publish/content/init/", body, "send")
        if not data["publish_id"]:
            raise ValueError("the reply names no publish_id")
        return str(data["publish_id"])


def status_fetch(intent: PublishIntent, publish_id: str) -> Status:
    """POST /v2/post/publish/status/fetch/ (30 a minute)."""
    with during("read"):
        data = _post(intent, "/v2/post/publish/status/fetch/", {"publish_id": publish_id}, "read")
        ids = data.get("publicaly_available_post_id") or [""]  # spelt so; now and then no list
        return Status(
            name=str(data["status"]),
            reason=str(data.get("fail_reason") or ""),
            arrived=int(data.get("uploaded_bytes") or 0),
            public_id=str(ids[0] if isinstance(ids, list) else ids),
        )


def piece_put(url: str, body: bytes, first: int, total: int, mime: str, *, final: bool) -> bool:
    """Upload one piece; the token is in the URL. False when the URL no longer takes any.

    The final piece makes the post: whatever is unclear about it raises OutcomeUnknown.
    """
    last = first + len(body) - 1
    headers = {"Content-Type": mime, "Content-Range": f"bytes {first}-{last}/{total}"}
    step: Step = "send" if final else "prepare"
    with during(step):
        reply = call("PUT", url, headers=headers, content=body)
    if reply.status in (403, 404):
        return False
    if 400 <= reply.status < 500 and reply.status != 429 and final:
        # A piece that arrived earlier is refused as well: 416 where TikTok has counted other bytes.
        raise OutcomeUnknown(f"TikTok refused the last bytes of the video: HTTP {reply.status}")
    accept(reply, step, _judge_piece)
    return True


def counts_query(intent: PublishIntent, video_id: str) -> Engagement:
    """POST /v2/video/query/, scope video.list."""
    with during("read"):
        path = f"/v2/video/query/?fields={_COUNTS}"
        data = _post(intent, path, {"filters": {"video_ids": [video_id]}}, "read")
        (video,) = data["videos"]
        return Engagement(
            likes=int(video["like_count"]),
            comments=int(video["comment_count"]),
            shares=int(video["share_count"]),
        )


def token_refresh(intent: PublishIntent) -> Credentials:
    """New credentials by the refresh token (365 days); the old refresh token may be void at once."""
    held = intent.credentials
    if not (held.refresh_token and held.extra.get("client_key")):
        raise PlatformFailure(
            "auth_dead", "There is no refresh token: connect the TikTok account again"
        )
    form = {
        "client_key": held.extra["client_key"],
        "client_secret": held.extra.get("client_secret", ""),
        "grant_type": "refresh_token",
        "refresh_token": held.refresh_token,
    }
    with during("read"):
        reply = call("POST", _url(intent, "/v2/oauth/token/"), data=form)
        if reply.status < 429 and isinstance(reply.fields().get("error"), str):
            why = detail(reply, "error_description", "error")
            raise PlatformFailure(
                "auth_dead", f"The token cannot be renewed ({why}): connect the account again"
            )
        fields = accept(reply, "read", _judge).json()
        lapse = now() + timedelta(seconds=int(fields["expires_in"]))
        return replace(
            held,
            access_token=str(fields["access_token"]),
            refresh_token=str(fields.get("refresh_token") or held.refresh_token),
            extra={**held.extra, "expires_at": lapse.isoformat()},
        )


def _post(intent: PublishIntent, path: str, body: dict[str, Any], step: Step) -> dict[str, Any]:
    """The `data` of a reply that has succeeded."""
    token = intent.credentials.access_token
    reply = call("POST", _url(intent, path), token=token, headers=_JSON, json=body)
    accept(_with_true_status(reply), step, _judge)
    data = reply.json()["data"]
    if not isinstance(data, dict):
        raise ValueError("the reply has no data")
    return data


def _with_true_status(reply: Reply) -> Reply:
    """TikTok may put an error into a reply with HTTP 200."""
    code = _error(reply).get("code", "ok")
    if not reply.is_success or code == "ok":
        return reply
    return replace(reply, status=500 if code == "internal_error" else 400)


def _error(reply: Reply) -> dict[str, Any]:
    error = reply.fields().get("error")
    return error if isinstance(error, dict) else {}


def _judge(reply: Reply) -> PlatformFailure:
    error = _error(reply)
    code = str(error.get("code") or f"http_{reply.status}")
    return errors.of_code(
        code, str(error.get("message", ""))[:300], str(error.get("log_id", "")), retry_after(reply)
    )


def _judge_piece(reply: Reply) -> PlatformFailure:
    if reply.status == 416:
        return PlatformFailure("transient_before_mutation", "TikTok has other bytes than were sent")
    if reply.status == 429:
        return PlatformFailure(
            "rate_limited", "TikTok takes no bytes now", retry_after=retry_after(reply)
        )
    return PlatformFailure("permanent", f"TikTok refused a piece of the video: HTTP {reply.status}")


def _url(intent: PublishIntent, path: str) -> str:
    return intent.base_url.rstrip("/") + path


def _own_upload_url(intent: PublishIntent, url: str) -> str:
    """The upload URL, if it leads to TikTok: the approved bytes go nowhere else."""
    parts, base = urlsplit(url), urlsplit(intent.base_url)
    to_tiktok = parts.scheme == "https" and (parts.hostname or "").endswith(".tiktokapis.com")
    if not to_tiktok and parts.netloc != base.netloc:
        raise ValueError("the upload URL does not lead to TikTok")
    return url
