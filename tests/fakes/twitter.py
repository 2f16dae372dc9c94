"""X API v2 as its documents describe it, read on 2026-11-21.

Sources: OpenAPI 2.167 (POST /2/tweets with made_with_ai, the dedicated media endpoints of 2025-04-30,
no idempotency key), docs.x.com response-codes, rate-limits and media best-practices; the duplicate
403 from iembot #163 and node-twitter-api-v2 #469 (the existing id is not returned); the wrapping of
links in t.co and the escaping of &, < and > in `text` as the timelines give them.

Kinds of fault of its own: `usage-capped` (429 of the application's month), `lag` (the timeline shows
nothing yet), `media_failed` (the processing of a video fails), `no_id` (201 without data), `rejected`
(400: X does not take this post).
"""

import base64
import hashlib
import html
import re
import secrets
import time
from dataclasses import dataclass, field
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from tests.fakes.base import Account, Endpoint, Fake, Json, Refusal, now_text

PROBLEM = "https://api.twitter.com/2/problems/"
LINK = re.compile(r"https?://\S+")
CATEGORIES = {"tweet_image", "tweet_gif", "tweet_video"}
TWEET_FIELDS = {"text", "media", "reply", "made_with_ai", "reply_settings", "paid_partnership"}
MOST_BYTES = {
    "tweet_image": 5 * 1024 * 1024,
    "tweet_gif": 15 * 1024 * 1024,
    "tweet_video": 512 * 1024 * 1024,
}


@dataclass
class Upload:
    """A file on its way up. polls: how often its processing has been asked about."""

    id: str
    owner: str
    total: int
    category: str
    segments: dict[int, bytes] = field(default_factory=dict)
    finalized: bool = False
    polls: int = 0

    def key(self) -> str:
        return f"3_{self.id}"

    def sha256(self) -> str:
        whole = b"".join(self.segments[number] for number in sorted(self.segments))
        return hashlib.sha256(whole).hexdigest()


def make() -> "Twitter":
    return Twitter()


class Twitter(Fake):
    """The server."""

    name = "twitter"

    def __init__(self) -> None:
        super().__init__()
        self.uploads: dict[str, Upload] = {}
        self.tweets: list[Json] = []
        self.remaining = 100

    def endpoints(self) -> list[tuple[str, str, Endpoint]]:
        return [
            ("POST", "/2/oauth2/token", self.token),
            ("GET", "/2/users/me", self.me),
            ("POST", "/2/media/upload/initialize", self.initialize),
            ("POST", "/2/media/upload/{id}/append", self.append),
            ("POST", "/2/media/upload/{id}/finalize", self.finalize),
            ("GET", "/2/media/upload", self.status),
            ("POST", "/2/tweets", self.create),
            ("GET", "/2/users/{id}/tweets", self.timeline),
            ("GET", "/2/tweets/{id}", self.read),
        ]

    # --- refusals ---

    def limited(self) -> Response:
        reply = problem(429, "Too Many Requests", "Too Many Requests", "about:blank")
        reply.headers["x-rate-limit-limit"] = "100"
        reply.headers["x-rate-limit-remaining"] = "0"
        reply.headers["x-rate-limit-reset"] = str(int(time.time()) + 3)
        return reply

    def broken(self) -> Response:
        return problem(500, "Internal Server Error", "Something is broken.", "about:blank")

    def unauthorized(self) -> Response:
        return problem(401, "Unauthorized", "Unauthorized", "about:blank")

    def duplicate(self) -> Response:
        detail = "You are not allowed to create a Tweet with duplicate content."
        return problem(403, "Forbidden", detail, "about:blank")

    def extra_of(self, account: Account, wanted: Json) -> dict[str, str]:
        return {"client_id": "client", "client_secret": wanted.get("client_secret", "")}

    # --- who ---

    async def token(self, request: Request) -> Response:
        """OAuth 2.0: refresh tokens are good for one use."""
        form = await request.form()
        if form.get("grant_type") != "refresh_token":
            return JSONResponse({"error": "unsupported_grant_type"}, 400)
        client, secret = _client(request, form)
        account = self.rotate(str(form.get("refresh_token", "")))
        if account is None:
            why = "Value passed for the token was invalid."
            return JSONResponse({"error": "invalid_request", "error_description": why}, 400)
        if (client, secret) != (account.extra["client_id"], account.extra["client_secret"]):
            return JSONResponse({"error": "unauthorized_client"}, 401)
        granted = {"token_type": "bearer", "expires_in": 7200, "scope": "tweet.read tweet.write"}
        pair = {"access_token": account.access_token, "refresh_token": account.refresh_token}
        return JSONResponse(granted | pair)

    async def me(self, request: Request) -> Response:
        account = self.account_of(request)
        user = {"id": account.id, "name": account.handle, "username": account.handle}
        return self.answer({"data": user})

    # --- media ---

    async def initialize(self, request: Request) -> Response:
        account, body = self.account_of(request), await request.json()
        total, category = body.get("total_bytes"), body.get("media_category")
        if category not in CATEGORIES or not isinstance(total, int) or not body.get("media_type"):
            return invalid("media_category, media_type and total_bytes are required")
        if total > MOST_BYTES[category]:
            return invalid(f"total_bytes is larger than {MOST_BYTES[category]}")
        upload = Upload(str(secrets.randbits(60)), account.id, total, category)
        self.uploads[upload.id] = upload
        return self.answer(
            {"data": {"id": upload.id, "media_key": upload.key(), "expires_after_secs": 86400}}
        )

    def _upload(self, request: Request, id: str) -> Upload:
        account, found = self.account_of(request), self.uploads.get(id)
        if found is None or found.owner != account.id:
            raise Refusal(invalid(f"The media id {id} is invalid"))
        return found

    async def append(self, request: Request) -> Response:
        upload = self._upload(request, request.path_params["id"])
        form = await request.form()
        chunk: Any = form["media"]
        body = await chunk.read()
        if len(body) > 5 * 1024 * 1024 or upload.finalized:
            return invalid("a segment has at most 5 MB, and none comes after finalize")
        upload.segments[int(str(form["segment_index"]))] = body
        return self.answer({"data": {"expires_at": int(time.time()) + 86400}})

    async def finalize(self, request: Request) -> Response:
        upload = self._upload(request, request.path_params["id"])
        if sum(map(len, upload.segments.values())) != upload.total:
            return invalid("the segments are not the whole file")
        upload.finalized = True
        return self.answer({"data": self._media(upload)})

    async def status(self, request: Request) -> Response:
        upload = self._upload(request, request.query_params.get("media_id", ""))
        upload.polls += 1
        return self.answer({"data": self._media(upload)})

    def _media(self, upload: Upload) -> Json:
        data = {"id": upload.id, "media_key": upload.key(), "size": upload.total}
        if upload.category == "tweet_image":
            return data
        return data | {"processing_info": self._processing(upload)}

    def _processing(self, upload: Upload) -> Json:
        if self.take("media_failed"):
            error = {"code": 1, "name": "InvalidMedia", "message": "Unsupported codec"}
            return {"state": "failed", "error": error}
        if upload.polls < 2:
            state = "in_progress" if upload.polls else "pending"
            return {"state": state, "check_after_secs": 1, "progress_percent": 50 * upload.polls}
        return {"state": "succeeded", "progress_percent": 100}

    # --- posts ---

    async def create(self, request: Request) -> Response:
        account, body = self.account_of(request), await request.json()
        if self.take("usage-capped"):
            detail = "Usage cap exceeded: Monthly product cap"
            return problem(429, "UsageCapExceeded", detail, f"{PROBLEM}usage-capped")
        wrong = "Your post is not allowed." if self.take("rejected") else self._wrong(account, body)
        if wrong:
            return invalid(wrong)
        text, media = body.get("text", ""), (body.get("media") or {}).get("media_ids", [])
        if any(e["text"] == text and e["account"] == account.handle for e in self.effects):
            return self.duplicate()
        id = str(time.time_ns())
        files = [self.uploads[item] for item in media]
        self.effect(
            id=id,
            account=account.handle,
            text=text,
            media=[f.sha256() for f in files],
            made_with_ai=body.get("made_with_ai"),
        )
        shown = self._shown(id, account, text, files)
        self.tweets.append(shown)
        if self.take("no_id"):
            return self.answer({"errors": [{"title": "Partial"}]}, 201)
        return self.answer({"data": {"id": id, "text": shown["text"]}}, 201)

    def _wrong(self, account: Account, body: Json) -> str:
        unknown = set(body) - TWEET_FIELDS
        if unknown:
            return f"unknown fields {sorted(unknown)}"
        if not isinstance(body.get("made_with_ai", False), bool):
            return "made_with_ai must be a boolean"
        text, media = body.get("text", ""), (body.get("media") or {}).get("media_ids", [])
        if not text and not media:
            return "text or media is required"
        if len(LINK.sub("x" * 23, text)) > 280:
            return "the text is too long"
        if len(media) > 4 or any(item not in self.uploads for item in media):
            return "Your media IDs are invalid."
        files = [self.uploads[item] for item in media]
        if any(f.owner != account.id or not f.finalized for f in files):
            return "Your media IDs are invalid."
        if any(f.category != "tweet_image" and (f.polls < 2 or len(files) > 1) for f in files):
            return "Your media IDs are invalid."
        return ""

    def _shown(self, id: str, account: Account, text: str, files: list[Upload]) -> Json:
        """The post as timelines give it: links behind t.co, the media as a last link, escaped."""
        urls: list[Json] = []

        def shorten(found: re.Match[str]) -> str:
            short = f"https://t.co/{secrets.token_hex(5)}"
            urls.append({"url": short, "expanded_url": found.group(), "display_url": "…"})
            return short

        shown = html.escape(LINK.sub(shorten, text), quote=False)
        if files:
            short = f"https://t.co/{secrets.token_hex(5)}"
            page = f"https://x.com/{account.handle}/status/{id}/photo/1"
            urls += [{"url": short, "expanded_url": page, "media_key": f.key()} for f in files]
            shown = f"{shown} {short}".strip()
        return {
            "id": id,
            "author_id": account.id,
            "text": shown,
            "created_at": now_text(),
            "entities": {"urls": urls},
            "attachments": {"media_keys": [f.key() for f in files]},
            "public_metrics": {
                **{"like_count": 3, "reply_count": 2, "retweet_count": 1, "quote_count": 1},
                **{"bookmark_count": 0, "impression_count": 40},
            },
        }

    async def timeline(self, request: Request) -> Response:
        account, query = self.account_of(request), request.query_params
        since, size = query.get("start_time", ""), int(query.get("max_results", "10"))
        if not 5 <= size <= 100:
            return invalid("max_results is not between 5 and 100")
        own = [
            tweet
            for tweet in reversed(self.tweets)
            if tweet["author_id"] == request.path_params["id"] and tweet["created_at"] >= since
        ]
        if account.id != request.path_params["id"] or self.take("lag"):
            own = []
        start = int(query.get("pagination_token", "0"))
        page = own[start : start + size]
        meta: Json = {"result_count": len(page)}
        if len(own) > start + size:
            meta["next_token"] = str(start + size)
        return self.answer({"data": page, "meta": meta} if page else {"meta": meta})

    async def read(self, request: Request) -> Response:
        self.account_of(request)
        for tweet in self.tweets:
            if tweet["id"] == request.path_params["id"]:
                return self.answer({"data": tweet})
        error = {"title": "Not Found Error", "type": f"{PROBLEM}resource-not-found"}
        return self.answer({"errors": [error | {"detail": "Could not find tweet."}]})

    def answer(self, body: Json, status: int = 200) -> Response:
        """Rate-limit headers stand on every response."""
        self.remaining -= 1
        headers = {
            "x-rate-limit-limit": "10000",
            "x-rate-limit-remaining": str(10_000 + self.remaining),
            "x-rate-limit-reset": str(int(time.time()) + 900),
        }
        return JSONResponse(body, status, headers)


def problem(status: int, title: str, detail: str, kind: str) -> Response:
    body = {"title": title, "detail": detail, "type": kind, "status": status}
    return JSONResponse(body, status, media_type="application/problem+json")


def invalid(message: str) -> Response:
    body = {
        "errors": [{"message": message}],
        "title": "Invalid Request",
        "detail": "One or more parameters to your request was invalid.",
        "type": f"{PROBLEM}invalid-request",
    }
    return JSONResponse(body, 400, media_type="application/problem+json")


def _client(request: Request, form: Any) -> tuple[str, str]:
    """A confidential client signs in with Basic, a public one names itself in the form."""
    basic = request.headers.get("authorization", "").removeprefix("Basic ")
    if basic:
        client, _, secret = base64.b64decode(basic).decode().partition(":")
        return client, secret
    return str(form.get("client_id", "")), ""
