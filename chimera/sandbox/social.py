"""A small social platform that plays X, TikTok, Instagram and YouTube behind one HTTP API.

It behaves like the real ones where that matters: a bearer token per account, text limits, a
duplicate is refused without naming the first post, and the only way to learn what became of a
post is to read the account's own timeline.
"""

import math
import re
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urlsplit

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from twitter_text import parse_tweet

from chimera.sandbox.chance import seeded
from chimera.sandbox.faults import Faults
from chimera.sandbox.replies import Refused, problem, read_object, text_field
from chimera.sandbox.store import DuplicatePost, Row, Store

TEXT_LIMITS = {"twitter": 280, "tiktok": 2200, "instagram": 2200, "youtube": 5000}
MAX_MEDIA = 10
PAGE = 50
_HANDLE = re.compile(r"[A-Za-z0-9_.]{1,60}")
_SHA256 = re.compile(r"[0-9a-f]{64}")
_SATURATION_HOURS = 8.0


class SocialPlatform:
    """The API under /social/ and the list of all posts. base_url: of the world, no final slash."""

    def __init__(self, store: Store, base_url: str) -> None:
        self._store = store
        self._base_url = base_url

    def routes(self, faults: Faults) -> list[Route]:
        def route(path: str, endpoint: Any, method: str) -> Route:
            return Route(path, faults.around("platform", endpoint), methods=[method])

        return [
            route("/social/accounts", self.open_account, "POST"),
            route("/social/posts", self.create, "POST"),
            route("/social/posts", self.timeline, "GET"),
            route("/social/posts/{post_id}", self.read, "GET"),
            Route("/posts.json", self.everything),
        ]

    async def open_account(self, request: Request) -> Response:
        body = await read_object(request)
        platform = body.get("platform")
        if platform not in TEXT_LIMITS:
            raise Refused(400, f"platform must be one of {', '.join(TEXT_LIMITS)}")
        handle = text_field(body, "handle", limit=61).removeprefix("@")
        if not _HANDLE.fullmatch(handle):
            raise Refused(400, "handle may hold 1 to 60 letters, digits, dots and underscores")
        account = self._store.account_open(platform, handle)
        return JSONResponse(account, 201)

    async def create(self, request: Request) -> Response:
        account = self._account(request)
        body = await read_object(request)
        _check_target(body, account)
        reference = text_field(body, "client_reference", limit=128)
        media = [self._checked_media(item) for item in _list(body, "media")]
        text = text_field(body, "text", limit=20_000, least=0 if media else 1)
        check_length(account["platform"], text)
        try:
            post = self._store.post_add(account, text=text, media=media, reference=reference)
        except DuplicatePost:
            detail = "You are not allowed to create a post with duplicate content."
            return problem(403, "Forbidden", detail)
        return JSONResponse(self._handle_of(post), 201)

    async def timeline(self, request: Request) -> Response:
        """The account's own posts, newest first; `next` is the query of the following page."""
        account = self._account(request)
        if request.query_params.get("account", account["handle"]) != account["handle"]:
            raise Refused(403, "the token belongs to another account")
        posts = self._store.posts(
            account_id=account["account_id"],
            since=_moment(request.query_params.get("since", "")),
            before=request.query_params.get("before", ""),
            limit=PAGE,
        )
        following = posts[-1]["post_id"] if len(posts) == PAGE else None
        return JSONResponse({"results": [self._own(post) for post in posts], "next": following})

    async def read(self, request: Request) -> Response:
        account = self._account(request)
        post = self._store.post(request.path_params["post_id"])
        if post is None or post["account_id"] != account["account_id"]:
            raise Refused(404, "this account has no such post")
        return JSONResponse(self._own(post) | {"engagement": engagement(post)})

    async def everything(self, request: Request) -> Response:
        return JSONResponse(
            [
                {
                    "post_id": post["post_id"],
                    "intent_id": post["client_reference"],
                    "platform": post["platform"],
                    "account": post["handle"],
                    "text": post["text"],
                    "media": post["media"],
                    "at": post["created_at"],
                }
                for post in self._store.posts()
            ]
        )

    def _account(self, request: Request) -> Row:
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        account = self._store.account_by_token(token) if scheme.lower() == "bearer" else None
        if account is None:
            raise Refused(401, "send the account's access token as a bearer token")
        return account

    def _checked_media(self, item: Any) -> Row:
        url, digest = (item.get("url"), item.get("sha256")) if isinstance(item, dict) else (0, 0)
        if not isinstance(url, str) or urlsplit(url).scheme not in ("http", "https"):
            raise Refused(400, "media.url must be an http or https address")
        if not isinstance(digest, str) or not _SHA256.fullmatch(digest):
            raise Refused(400, "media.sha256 must be 64 lower-case hexadecimal digits")
        if url.startswith(f"{self._base_url}/media/") and (
            urlsplit(url).path.rpartition("/")[2].partition(".")[0] != digest
            or not self._store.media_file(digest)
        ):
            raise Refused(400, f"media.sha256 does not match the file at {url}")
        return {"url": url, "sha256": digest}

    def _handle_of(self, post: Row) -> Row:
        return {
            "post_id": post["post_id"],
            "post_url": f"{self._base_url}/posts/{post['post_id']}",
            "created_at": post["created_at"],
        }

    def _own(self, post: Row) -> Row:
        shown = ("client_reference", "platform", "text", "media")
        return self._handle_of(post) | {name: post[name] for name in shown}


def check_length(platform: str, text: str) -> None:
    """Refuse a text above the platform's limit; X counts weighted characters."""
    length = parse_tweet(text).weightedLength if platform == "twitter" else len(text)
    if length > TEXT_LIMITS[platform]:
        raise Refused(
            422, f"text has {length} characters, {platform} allows {TEXT_LIMITS[platform]}"
        )


def engagement(post: Row, now: datetime | None = None) -> dict[str, int]:
    """Counts that start at nothing, never fall, and level off after a day."""
    age = (now or datetime.now(UTC)) - datetime.fromisoformat(post["created_at"])
    grown = 1 - math.exp(-max(0.0, age / timedelta(hours=_SATURATION_HOURS)))
    chance = seeded(post["post_id"])
    likes = chance.randint(80, 4200)
    counts = {
        "likes": likes,
        "comments": round(likes * chance.uniform(0.03, 0.12)),
        "shares": round(likes * chance.uniform(0.05, 0.2)),
    }
    return {name: int(count * grown) for name, count in counts.items()}


def _check_target(body: Row, account: Row) -> None:
    if body.get("platform") != account["platform"]:
        raise Refused(400, f"platform must be {account['platform']}, as the account is there")
    if body.get("account") != account["handle"]:
        raise Refused(403, "the token belongs to another account")


def _list(body: Row, name: str) -> list[Any]:
    value = body.get(name, [])
    if not isinstance(value, list) or len(value) > MAX_MEDIA:
        raise Refused(400, f"{name} must be a list of at most {MAX_MEDIA} items")
    return value


def _moment(text: str) -> str:
    """A query's point in time in the form in which times are stored."""
    if not text:
        return ""
    try:
        moment = datetime.fromisoformat(text).astimezone(UTC)
    except ValueError:
        raise Refused(400, "since must be an ISO 8601 time") from None
    return moment.isoformat(timespec="microseconds").replace("+00:00", "Z")
