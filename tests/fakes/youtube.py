"""YouTube Data API v3 and Google's token endpoint, as documented at developers.google.com/youtube/v3
(guides/using_resumable_upload_protocol, docs/videos, docs/errors) and developers.google.com/identity/
protocols/oauth2/web-server, read July 2026.

An effect is a video: the last byte of a session makes it, and a session makes one. A video is `uploaded`
until it is asked for, then `processed`. Kinds of fault beside the common ones:

| kind                 | what happens                                                              |
|----------------------|---------------------------------------------------------------------------|
| part_then_cut        | half of the bytes arrive, then the connection is closed                    |
| part_then_308        | half of the bytes arrive, the reply says so                                |
| session_gone         | the session is unknown: 404                                                |
| still_processing     | videos.list finds the video `uploaded`                                     |
| not_listed           | videos.list does not find the video yet                                    |
| rejected, failed     | the video that is made ends so                                             |
| private_only         | the project is unverified: the video is private                            |
| likes_hidden         | statistics without likeCount                                               |
| a reason of `ERRORS` | the call is refused for it                                                 |
"""

import hashlib
import re
import secrets
from dataclasses import dataclass
from typing import Any

from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response

from chimera.sandbox.cutting import cut
from tests.fakes.base import Account, Endpoint, Fake, Json, Refusal, now_text

UPLOAD, VIDEOS = "/upload/youtube/v3/videos", "/youtube/v3/videos"
SCOPE = "https://www.googleapis.com/auth/youtube.upload https://www.googleapis.com/auth/youtube.readonly"
ERRORS: dict[str, tuple[int, str]] = {
    "uploadLimitExceeded": (400, "The user has exceeded the number of videos they may upload."),
    "quotaExceeded": (403, "The request cannot be completed because you exceeded your quota."),
    "rateLimitExceeded": (403, "The request was rate limited."),
    "youtubeSignupRequired": (401, "The user has no YouTube channel."),
    "insufficientPermissions": (403, "Request had insufficient authentication scopes."),
    "invalidVideoMetadata": (400, "The request metadata is invalid."),
    "failedPrecondition": (400, "Precondition check failed."),
}
_SPAN = re.compile(r"bytes (\*|(\d+)-(\d+))/(\d+)")


def make() -> "YouTube":
    return YouTube()


@dataclass
class Session:
    """An upload session. video: its id once the last byte has arrived."""

    account: Account
    resource: Json
    size: int
    body: bytes = b""
    video: str = ""


class YouTube(Fake):
    """The server. videos: id -> its resource, whole."""

    name = "youtube"

    def __init__(self) -> None:
        super().__init__()
        self.sessions: dict[str, Session] = {}
        self.videos: dict[str, Json] = {}

    def endpoints(self) -> list[tuple[str, str, Endpoint]]:
        return [
            ("POST", UPLOAD, self.open_session),
            ("PUT", UPLOAD, self.put_bytes),
            ("GET", VIDEOS, self.list_videos),
            ("GET", "/youtube/v3/channels", self.list_channels),
            ("POST", "/token", self.token),
            ("GET", "/watch", self.watch),
        ]

    def extra_of(self, account: Account, wanted: Json) -> dict[str, str]:
        return {"client_id": "local.apps.googleusercontent.com", "client_secret": "GOCSPX-local"}

    def limited(self) -> Response:
        return error(429, "rateLimitExceeded", "Resource has been exhausted (e.g. check quota).")

    def broken(self) -> Response:
        return error(500, "backendError", "Internal error encountered.")

    def unauthorized(self) -> Response:
        reply = error(401, "authError", "Request had invalid authentication credentials.")
        reply.headers["WWW-Authenticate"] = 'Bearer realm="https://accounts.google.com/"'
        return reply

    async def open_session(self, request: Request) -> Response:
        account = self._caller(request)
        resource = await request.json()
        _check(request, resource)
        key = secrets.token_urlsafe(32)
        size = int(request.headers["x-upload-content-length"])
        self.sessions[key] = Session(account, resource, size)
        uri = request.url.include_query_params(upload_id=key)
        return Response(headers={"Location": str(uri), "X-GUploader-UploadID": key})

    async def put_bytes(self, request: Request) -> Response:
        account = self._caller(request)
        session = self.sessions.get(request.query_params.get("upload_id", ""))
        if session is None or session.account is not account or self.take("session_gone"):
            return error(404, "notFound", "Not Found")
        span = _SPAN.fullmatch(request.headers.get("content-range", ""))
        body = await request.body()
        if span is None or int(span[4]) != session.size:
            return error(400, "badRequest", "Failed to parse Content-Range header.")
        if span[1] == "*" or session.video:
            return self._state(session)
        first, last = int(span[2]), int(span[3])
        if first > len(session.body) or last - first + 1 != len(body):
            return error(400, "badRequest", "Invalid Content-Range header.")
        return await self._take_in(request, session, body[len(session.body) - first :])

    async def _take_in(self, request: Request, session: Session, body: bytes) -> Response:
        broken_off = self.take("part_then_cut")
        if broken_off or self.take("part_then_308"):
            session.body += body[: len(body) // 2]
            return await cut(request) if broken_off else self._state(session)
        session.body += body
        if len(session.body) == session.size:
            self._make_video(session)
        return self._state(session)

    def _state(self, session: Session) -> Response:
        if session.video:
            return JSONResponse(_parts(self.videos[session.video], "snippet,status"), 201)
        span = {"Range": f"bytes=0-{len(session.body) - 1}"} if session.body else {}
        return Response(status_code=308, headers=span)

    def _make_video(self, session: Session) -> None:
        session.video = secrets.token_urlsafe(8)
        status = {"uploadStatus": "uploaded", **session.resource["status"]}
        if self.take("private_only"):
            status["privacyStatus"] = "private"
        self.videos[session.video] = {
            "kind": "youtube#video",
            "etag": secrets.token_urlsafe(16),
            "id": session.video,
            "snippet": {
                **session.resource["snippet"],
                "publishedAt": now_text(),
                "channelId": f"UC{session.account.id}",
                "channelTitle": session.account.handle,
            },
            "status": status,
            "statistics": {"viewCount": "41", "likeCount": "3", "commentCount": "1"},
        }
        snippet = session.resource["snippet"]
        text = f"{snippet['title']}\n\n{snippet.get('description', '')}".strip()
        self.effect(
            id=session.video,
            account=session.account.handle,
            text=text,
            media=[hashlib.sha256(session.body).hexdigest()],
            status=status,
        )

    async def list_channels(self, request: Request) -> Response:
        account = self._caller(request)
        channel = {
            "kind": "youtube#channel",
            "etag": secrets.token_urlsafe(16),
            "id": f"UC{account.id}",
            "snippet": {"title": f"{account.handle}, live", "customUrl": f"@{account.handle}"},
        }
        return JSONResponse(
            {"kind": "youtube#channelListResponse", "etag": channel["etag"], "items": [channel]}
        )

    async def list_videos(self, request: Request) -> Response:
        account = self._caller(request)
        video = self.videos.get(request.query_params.get("id", ""))
        found = [] if video is None or self.take("not_listed") else [self._seen(video, account)]
        parts = request.query_params["part"]
        return JSONResponse(
            {
                "kind": "youtube#videoListResponse",
                "etag": secrets.token_urlsafe(16),
                "items": [_parts(item, parts) for item in found],
                "pageInfo": {"totalResults": len(found), "resultsPerPage": len(found)},
            }
        )

    def _seen(self, video: Json, account: Account) -> Json:
        status = video["status"]
        if status["uploadStatus"] == "uploaded" and not self.take("still_processing"):
            status["uploadStatus"] = "processed"
            if self.take("rejected"):
                status |= {"uploadStatus": "rejected", "rejectionReason": "duplicate"}
            if self.take("failed"):
                status |= {"uploadStatus": "failed", "failureReason": "codec"}
        if self.take("likes_hidden"):
            video["statistics"].pop("likeCount", None)
        return video

    async def token(self, request: Request) -> Response:
        form = await request.form()
        known = self.extra_of(Account("", "", "", ""), {})
        if any(form.get(name) != value for name, value in known.items()):
            return oauth_error(401, "invalid_client", "Unauthorized")
        if form.get("grant_type") != "refresh_token":
            return oauth_error(400, "unsupported_grant_type", "Invalid grant_type")
        account = self.rotate(str(form.get("refresh_token", "")), rotating=False)
        if account is None:
            return oauth_error(400, "invalid_grant", "Token has been expired or revoked.")
        return JSONResponse(
            {
                "access_token": account.access_token,
                "expires_in": 3599,
                "scope": SCOPE,
                "token_type": "Bearer",
            }
        )

    async def watch(self, request: Request) -> Response:
        """What a person sees who follows a link to the video."""
        made = [each for each in self.effects if each["id"] == request.query_params.get("v")]
        shown = "".join(
            f"<p>{_plain(each['account'])}: {_plain(each['text'])}</p>" for each in made
        )
        return HTMLResponse(shown or "<p>Video unavailable</p>", 200 if made else 404)

    def _caller(self, request: Request) -> Account:
        account = self.account_of(request)
        for reason, (status, message) in ERRORS.items():
            if self.take(reason):
                raise Refusal(error(status, reason, message))
        return account


def _check(request: Request, resource: Json) -> None:
    """Refuse what YouTube refuses when a session is opened."""
    if request.query_params.get("uploadType") != "resumable":
        raise Refusal(error(400, "mediaBodyRequired", "The request does not include the video."))
    if not request.headers.get("x-upload-content-length", "").isdecimal():
        raise Refusal(error(400, "badRequest", "X-Upload-Content-Length is missing."))
    snippet, status = resource.get("snippet", {}), resource.get("status", {})
    title, description = snippet.get("title", ""), snippet.get("description", "")
    if not title or len(title) > 100 or set(title) & set("<>"):
        raise Refusal(
            error(400, "invalidTitle", "The request metadata has an invalid video title.")
        )
    if len(description.encode()) > 5000 or set(description) & set("<>"):
        raise Refusal(error(400, "invalidDescription", "The metadata has an invalid description."))
    if status.get("privacyStatus") not in ("public", "unlisted", "private"):
        raise Refusal(error(400, "invalidVideoMetadata", "The request metadata is invalid."))


def _parts(video: Json, parts: str) -> Json:
    wanted = {"kind", "etag", "id", *parts.split(",")}
    return {name: value for name, value in video.items() if name in wanted}


def _plain(text: Any) -> str:
    return str(text).replace("&", "&amp;").replace("<", "&lt;")


def error(status: int, reason: str, message: str) -> Response:
    """An error body of the Data API."""
    cause = {"message": message, "domain": "youtube.common", "reason": reason}
    return JSONResponse(
        {"error": {"code": status, "message": message, "errors": [cause]}}, status_code=status
    )


def oauth_error(status: int, name: str, message: str) -> Response:
    """An error body of the token endpoint."""
    return JSONResponse({"error": name, "error_description": message}, status_code=status)
