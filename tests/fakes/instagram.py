"""Instagram's content publishing (Instagram API with Instagram Login), as its documents describe it.

Sources, all of developers.facebook.com: "Content Publishing", "IG User Media", "IG Container", "IG User
Media Publish", "IG User Content Publishing Limit", "Error Codes" (2 June 2026), the changelog of
22 June 2026 (`is_ai_generated`), "Refresh Access Token" (17 July 2025), "Graph API rate limiting".
Errors are `{"error": {message, type, code, error_subcode, is_transient, fbtrace_id}}`, business limits
come with HTTP 400, and `is_transient` is false throughout, as it was seen to be. A file is fetched when
a container is made; a host that ends in `.example` cannot be asked, so there the ending of the name counts.

Kinds of fault of its own: `in_progress` (a container says so once more), `expired` (a container asked
for has passed its 24 hours), `unlisted` (the list of media is empty), `quota` (the day's posts are used
up), and with a value after a colon `create:<code>/<subcode>` (a container is refused), `failed:<subcode>`
(a container asked for is in ERROR) and `publish:<code>/<subcode>` (media_publish is refused).
"""

import hashlib
import secrets
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import httpx
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from tests.fakes.base import Account, Endpoint, Fake, Json, Refusal, fresh

VERSION = "v25.0"
JPEG = b"\xff\xd8\xff"


@dataclass
class Container:
    """A container and, once published, its post."""

    id: str
    account: Account
    body: Json
    status_code: str = "FINISHED"
    status: str = "Finished: Media has been uploaded and it is ready to be published."
    media_id: str = ""
    at: str = ""
    children: list[str] = field(default_factory=list)
    sha256: str = ""


def make() -> "Instagram":
    return Instagram()


class Instagram(Fake):
    """The server."""

    name = "instagram"

    def __init__(self) -> None:
        super().__init__()
        self.containers: dict[str, Container] = {}

    def endpoints(self) -> list[tuple[str, str, Endpoint]]:
        own = f"/{VERSION}/{{id}}"
        return [
            ("GET", "/refresh_access_token", self.refresh),
            ("POST", "/_reconnect", self.reconnect),
            ("GET", f"{own}/content_publishing_limit", self.limit),
            ("POST", f"{own}/media", self.create),
            ("GET", f"{own}/media", self.list_media),
            ("POST", f"{own}/media_publish", self.publish),
            ("GET", f"/{VERSION}/me", self.me),
            ("GET", own, self.node),
        ]

    # --- refusals ---

    def limited(self) -> Response:
        reply = error(80002, 0, "There have been too many calls to this Instagram account.")
        reply.headers["X-Business-Use-Case-Usage"] = (
            '{"17841": [{"type": "instagram", "call_count": 100, "total_cputime": 20, '
            '"total_time": 20, "estimated_time_to_regain_access": 2}]}'
        )
        return reply

    def broken(self) -> Response:
        return error(2, 0, "An unexpected error has occurred. Please retry later.", 500)

    def unauthorized(self) -> Response:
        return error(190, 463, "Error validating access token: Session has expired.", 401)

    def extra_of(self, account: Account, wanted: Json) -> dict[str, str]:
        """wanted: expires_at (when the token lapses, as the account knows it)."""
        known = {"expires_at": wanted["expires_at"]} if "expires_at" in wanted else {}
        return {"ig_user_id": account.id} | known

    def _value(self, prefix: str) -> str:
        """What follows the colon of an armed fault of this kind; uses one count of it up."""
        for fault in self.faults.armed:
            if fault.kind.startswith(f"{prefix}:"):
                self.take(fault.kind)
                return fault.kind.partition(":")[2]
        return ""

    def _refuse_as_armed(self, prefix: str) -> None:
        codes = self._value(prefix)
        if codes:
            code, _, subcode = codes.partition("/")
            raise Refusal(error(int(code), int(subcode or 0), f"refused with {codes}"))

    # --- who ---

    async def refresh(self, request: Request) -> Response:
        """A long-lived token that has not expired yet is good for 60 more days."""
        if request.query_params.get("grant_type") != "ig_refresh_token":
            return error(100, 0, "Invalid parameter")
        account = self.account_of(request, request.query_params.get("access_token", "none"))
        account.access_token = fresh("access")
        granted = {"token_type": "bearer", "expires_in": 5_184_000}
        return JSONResponse(granted | {"access_token": account.access_token})

    async def reconnect(self, request: Request) -> Response:
        """A person has connected the account again: a control path, not one of Instagram's."""
        handle = (await request.json())["handle"]
        account = next(each for each in self.accounts if each.handle == handle)
        account.access_token = fresh("access")
        return JSONResponse(account.credentials())

    async def me(self, request: Request) -> Response:
        account = self.account_of(request)
        return JSONResponse({"user_id": account.id, "username": account.handle})

    def _own(self, request: Request) -> Account:
        account = self.account_of(request)
        if request.path_params["id"] != account.id:
            raise Refusal(error(10, 0, "Application does not have permission for this action", 403))
        return account

    def _used(self, account: Account) -> int:
        return sum(effect["account"] == account.handle for effect in self.effects)

    async def limit(self, request: Request) -> Response:
        used = 100 if self.take("quota") else self._used(self._own(request))
        config = {"quota_total": 100, "quota_duration": 86400}
        return JSONResponse({"data": [{"quota_usage": used, "config": config}]})

    # --- containers ---

    async def create(self, request: Request) -> Response:
        account, body = self._own(request), await request.json()
        self._refuse_as_armed("create")
        if len(body.get("caption", "")) > 2200:
            return error(36004, 2207010, "The caption was too long.")
        if body.get("is_carousel_item") and "is_ai_generated" in body:
            return error(100, 0, "is_ai_generated is set on the carousel container only")
        made = Container(f"178{secrets.randbits(45)}", account, body)
        if body.get("media_type") == "CAROUSEL":
            self._gather(made)
        else:
            await self._fetch(made)
        self.containers[made.id] = made
        return JSONResponse({"id": made.id})

    def _gather(self, made: Container) -> None:
        made.children = str(made.body.get("children", "")).split(",")
        if not 2 <= len(made.children) <= 10:
            raise Refusal(error(100, 2207028, "A carousel has 2 to 10 items."))
        for child in made.children:
            found = self.containers.get(child)
            if not (found and found.body.get("is_carousel_item") and found.account is made.account):
                raise Refusal(error(100, 0, f"The child {child} is invalid"))
            if found.status_code != "FINISHED":
                raise Refusal(error(9007, 2207027, "The media is not ready to be published."))

    async def _fetch(self, made: Container) -> None:
        """Meta fetches the file itself: photos at once, videos while the container is in progress."""
        url, video = made.body.get("image_url"), made.body.get("video_url")
        if (url is None) == (video is None):
            raise Refusal(error(100, 0, "Give image_url or video_url"))
        if video and made.body.get("media_type") not in ("REELS", "VIDEO"):
            raise Refusal(error(100, 2207023, "The media type is unknown."))
        body = await fetched(str(url or video))
        if body is None and url:
            raise Refusal(error(9004, 2207052, "The media could not be fetched from this URI."))
        if body is None:
            made.status_code = "ERROR"
            made.status = "Error: Media upload has failed with error code 2207052"
        made.sha256 = hashlib.sha256(body or b"").hexdigest()
        if url and body is not None and not body.startswith(JPEG):
            raise Refusal(error(36001, 2207005, "The image format is not supported."))

    async def node(self, request: Request) -> Response:
        """A container or a post by its id, with the fields that were asked for."""
        self.account_of(request)
        id, fields = request.path_params["id"], request.query_params.get("fields", "id").split(",")
        for container in self.containers.values():
            if container.id == id:
                return picked(self._container(container), fields)
            if container.media_id == id:
                return picked(self._media(container), fields)
        return error(100, 33, f"Object with ID '{id}' does not exist")

    def _container(self, made: Container) -> Json:
        subcode = self._value("failed")
        if subcode:
            made.status_code = "ERROR"
            made.status = f"Error: Media upload has failed with error code {subcode}"
        if not made.media_id and self.take("expired"):
            made.status_code, made.status = "EXPIRED", "Expired: Not published within 24 hours."
        if self.take("in_progress"):
            return {"id": made.id, "status_code": "IN_PROGRESS", "status": "In Progress"}
        return {"id": made.id, "status_code": made.status_code, "status": made.status}

    # --- posts ---

    async def publish(self, request: Request) -> Response:
        account, body = self._own(request), await request.json()
        self._refuse_as_armed("publish")
        made = self.containers.get(str(body.get("creation_id", "")))
        if made is None or made.account is not account:
            return error(24, 2207006, "The media could not be found.")
        if made.status_code == "EXPIRED":
            return error(-2, 2207020, "The media you are trying to access has expired.")
        if made.status_code != "FINISHED":
            return error(9007, 2207027, "The media is not ready to be published.")
        if self._used(account) >= 100:
            return error(9, 2207042, "You reached the maximum number of posts.")
        made.status_code, made.status = "PUBLISHED", "Published: Media has been published."
        made.media_id = f"179{secrets.randbits(45)}"
        made.at = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S+0000")
        self._count(made)
        return JSONResponse({"id": made.media_id})

    def _count(self, made: Container) -> None:
        parts = [self.containers[child] for child in made.children] or [made]
        self.effect(
            id=made.media_id,
            account=made.account.handle,
            text=made.body.get("caption", ""),
            container=made.id,
            is_ai_generated=made.body.get("is_ai_generated", False),
            files=[part.body.get("image_url") or part.body.get("video_url") for part in parts],
            media=[part.sha256 for part in parts],
        )

    async def list_media(self, request: Request) -> Response:
        account, hidden = self._own(request), self.take("unlisted")
        fields = request.query_params.get("fields", "id").split(",")
        posts = [
            {name: self._media(made).get(name) for name in fields}
            for made in reversed(self.containers.values())
            if made.media_id and made.account is account and not hidden
        ]
        return JSONResponse({"data": posts[: int(request.query_params.get("limit", "25"))]})

    def _media(self, made: Container) -> Json:
        return {
            "id": made.media_id,
            "caption": made.body.get("caption", "").replace("@", ""),
            "permalink": f"https://www.instagram.com/p/{made.media_id}/",
            "timestamp": made.at,
            "like_count": 17,
            "comments_count": 4,
            "is_ai_generated": made.body.get("is_ai_generated", False),
        }


async def fetched(url: str) -> bytes | None:
    """The bytes behind a URL, None when they cannot be had."""
    host = httpx.URL(url).host
    if host.endswith(".example"):
        return JPEG if url.endswith((".jpg", ".jpeg")) else b"other"
    try:
        async with httpx.AsyncClient(trust_env=False, timeout=5) as client:
            reply = await client.get(url)
    except httpx.HTTPError:
        return None
    return reply.content if reply.status_code == 200 else None


def picked(node: Json, fields: list[str]) -> Response:
    return JSONResponse({name: node[name] for name in {"id", *fields} if name in node})


def error(code: int, subcode: int, message: str, status: int = 400) -> Response:
    body: dict[str, Any] = {
        "message": message,
        "type": "OAuthException",
        "code": code,
        "is_transient": False,
        "fbtrace_id": "A" + secrets.token_hex(8),
    }
    if subcode:
        body["error_subcode"] = subcode
    return JSONResponse({"error": body}, status)
