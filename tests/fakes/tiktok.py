"""TikTok's Content Posting API v2, as far as its documents describe it.

Sources, read for July 2026, all of developers.tiktok.com: "Query Creator Info", "Direct Post", "Photo",
"Media Transfer Guide", "Get Post Status", "User Access Token Management", "Query Videos", "API v2 error
handling". Every reply is `{data, error{code, message, log_id}}`; the token endpoint answers flat; an
upload answers with a bare status: 206, at the end 201, and 403 (URL expired), 404 (no such upload) or
416 (not the next bytes). `publicaly_available_post_id` is TikTok's own spelling.

Kinds of fault of its own: `processing` (status/fetch says so once more), `moderation` (complete, but no
public id yet), `upload_expired` (the upload URL is dead from now on), `bytes_lost` (status/fetch counts
no byte), and with a value after a colon `refuse:<error code>` (an init) and `fail:<reason>` (a post
that is given up once its bytes are there).
"""

import hashlib
import re
import secrets
from dataclasses import dataclass, field
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from tests.fakes.base import Account, Endpoint, Fake, Json, Refusal

LEVELS = "PUBLIC_TO_EVERYONE,MUTUAL_FOLLOW_FRIENDS,SELF_ONLY"
MIN_CHUNK, MAX_CHUNK, MAX_LAST = 5_000_000, 64_000_000, 128_000_000
STATUS_OF = {"access_token_invalid": 401, "rate_limit_exceeded": 429, "invalid_params": 400}
RANGE = re.compile(r"bytes (\d+)-(\d+)/(\d+)")


@dataclass
class Publish:
    """One accepted init and what has become of it."""

    id: str
    account: Account
    info: Json
    photos: list[str] = field(default_factory=list)
    size: int = 0
    chunk: int = 0
    count: int = 0
    token: str = field(default_factory=lambda: secrets.token_hex(8))
    data: bytearray = field(default_factory=bytearray)
    url_open: bool = True
    complete: bool = False
    fail_reason: str = ""
    post_id: str = ""


def make() -> "TikTok":
    return TikTok()


class TikTok(Fake):
    """The server."""

    name = "tiktok"

    def __init__(self) -> None:
        super().__init__()
        self.publishes: dict[str, Publish] = {}
        self.wanted: dict[str, Json] = {}

    def endpoints(self) -> list[tuple[str, str, Endpoint]]:
        return [
            ("POST", "/v2/oauth/token/", self.token),
            ("POST", "/v2/post/publish/creator_info/query/", self.creator),
            ("POST", "/v2/post/publish/video/init/", self.video_init),
            ("POST", "/v2/post/publish/content/init/", self.photo_init),
            ("POST", "/v2/post/publish/status/fetch/", self.status),
            ("PUT", "/video/", self.upload),
            ("POST", "/v2/video/query/", self.query),
        ]

    # --- refusals ---

    def limited(self) -> Response:
        return error("rate_limit_exceeded", "The API rate limit was exceeded.", 429)

    def broken(self) -> Response:
        return error("internal_error", "Something is wrong. Please try again later.", 500)

    def unauthorized(self) -> Response:
        return error("access_token_invalid", "The access token is invalid.", 401)

    def duplicate(self) -> Response:
        return error("invalid_params", "TikTok knows no duplicates.", 400)

    def extra_of(self, account: Account, wanted: Json) -> dict[str, str]:
        """wanted: levels (what creator_info offers), audited ("no"), privacy_level,
        upload_host (where upload URLs lead, if not here)."""
        self.wanted[account.id] = wanted
        chosen = {"privacy_level": wanted["privacy_level"]} if "privacy_level" in wanted else {}
        return {"client_key": "awk1", "client_secret": "shh"} | chosen

    def _of(self, account: Account, name: str, default: Any) -> Any:
        return self.wanted[account.id].get(name, default)

    def _value(self, prefix: str) -> str:
        """What follows the colon of an armed fault of this kind; uses one count of it up."""
        for fault in self.faults.armed:
            if fault.kind.startswith(f"{prefix}:"):
                self.take(fault.kind)
                return fault.kind.partition(":")[2]
        return ""

    # --- who ---

    async def token(self, request: Request) -> Response:
        form = await request.form()
        if (form.get("client_key"), form.get("client_secret")) != ("awk1", "shh"):
            return flat_error("invalid_client", "Client key or secret is incorrect.", 401)
        if form.get("grant_type") != "refresh_token":
            return flat_error("unsupported_grant_type", "Grant type is not supported.", 400)
        account = self.rotate(str(form.get("refresh_token", "")))
        if account is None:
            return flat_error("invalid_grant", "Refresh token is invalid or expired.", 400)
        return JSONResponse(
            {
                "access_token": account.access_token,
                "expires_in": 86400,
                "open_id": account.id,
                "refresh_expires_in": 31536000,
                "refresh_token": account.refresh_token,
                "scope": "user.info.basic,video.publish,video.list",
                "token_type": "Bearer",
            }
        )

    async def creator(self, request: Request) -> Response:
        account = self.account_of(request)
        return answer(
            {
                "creator_avatar_url": "https://p16.tiktokcdn.example/avatar.webp",
                "creator_username": account.handle,
                "creator_nickname": account.handle.title(),
                "privacy_level_options": self._levels(account),
                "comment_disabled": False,
                "duet_disabled": False,
                "stitch_disabled": True,
                "max_video_post_duration_sec": 600,
            }
        )

    def _levels(self, account: Account) -> list[str]:
        return str(self._of(account, "levels", LEVELS)).split(",")

    # --- posts ---

    async def video_init(self, request: Request) -> Response:
        account, body = self.account_of(request), await request.json()
        info, source = body["post_info"], body["source_info"]
        self._refuse_post(account, info, "title", 2200)
        if source["source"] != "FILE_UPLOAD":
            raise Refusal(invalid("this server takes uploads"))
        wrong = wrong_cut(source["video_size"], source["chunk_size"], source["total_chunk_count"])
        if wrong:
            raise Refusal(invalid(wrong))
        made = self._publish("v_pub_file~v2-1.", account, info)
        made.size, made.chunk = source["video_size"], source["chunk_size"]
        made.count = source["total_chunk_count"]
        host = self._of(account, "upload_host", "")
        base = f"https://{host}" if host else str(request.url).partition("/v2/")[0]
        url = f"{base}/video/?upload_id={made.id}&upload_token={made.token}"
        return answer({"publish_id": made.id, "upload_url": url})

    async def photo_init(self, request: Request) -> Response:
        account, body = self.account_of(request), await request.json()
        info, source = body["post_info"], body["source_info"]
        self._refuse_post(account, info, "description", 4000)
        if (body.get("media_type"), body.get("post_mode")) != ("PHOTO", "DIRECT_POST"):
            raise Refusal(invalid("media_type is PHOTO, post_mode DIRECT_POST"))
        if "is_aigc" in info or source["source"] != "PULL_FROM_URL":
            raise Refusal(invalid("The request post info is empty or incorrect"))
        made = self._publish("p_pub_url~v2.", account, info)
        made.photos = source["photo_images"]
        if not 1 <= len(made.photos) <= 35:
            raise Refusal(invalid("photo_images has 1 to 35 URLs"))
        if any(url.endswith(".png") for url in made.photos):
            made.fail_reason = "file_format_check_failed"
        self._complete(made)
        return answer({"publish_id": made.id})

    def _refuse_post(self, account: Account, info: Json, field: str, most: int) -> None:
        code = self._value("refuse")
        if code:
            raise Refusal(error(code, f"refused with {code}", STATUS_OF.get(code, 403)))
        level = info.get("privacy_level")
        if level not in self._levels(account):
            raise Refusal(error("privacy_level_option_mismatch", "Not an option.", 403))
        if self._of(account, "audited", "yes") == "no" and level != "SELF_ONLY":
            code = "unaudited_client_can_only_post_to_private_accounts"
            raise Refusal(error(code, "The client is not audited.", 403))
        if len(info.get(field, "").encode("utf-16-le")) // 2 > most:
            raise Refusal(invalid(f"{field} is too long"))

    def _publish(self, prefix: str, account: Account, info: Json) -> Publish:
        made = Publish(f"{prefix}{secrets.randbits(60)}", account, info)
        self.publishes[made.id] = made
        return made

    async def upload(self, request: Request) -> Response:
        """PUT of one piece: no bearer token, the upload_token of the URL is the credential."""
        query, body = request.query_params, await request.body()
        made = self.publishes.get(query.get("upload_id", ""))
        if made is None or made.token != query.get("upload_token") or made.complete:
            return Response(status_code=404)
        if self.take("upload_expired"):
            made.url_open = False
        if not made.url_open:
            return Response(status_code=403)
        found = RANGE.fullmatch(request.headers.get("content-range", ""))
        first, last, total = (int(part) for part in found.groups()) if found else (0, 0, 0)
        if total != made.size or last - first + 1 != len(body) or not self._fits(made, first, last):
            return Response(status_code=400)
        if first != len(made.data):
            return Response(status_code=416)
        made.data += body
        progress = {"Content-Range": f"bytes 0-{last}/{total}"}
        if len(made.data) < made.size:
            return Response(status_code=206, headers=progress)
        self._complete(made)
        return Response(status_code=201, headers=progress)

    def _fits(self, made: Publish, first: int, last: int) -> bool:
        """Each piece is one of those that the init announced."""
        index = min(first // made.chunk, made.count - 1)
        end = made.size - 1 if index == made.count - 1 else (index + 1) * made.chunk - 1
        return first == index * made.chunk and last == end

    def _complete(self, made: Publish) -> None:
        made.complete = True
        made.fail_reason = made.fail_reason or self._value("fail")
        if made.fail_reason:
            return
        made.post_id = str(7_000_000_000_000_000_000 + secrets.randbits(58))
        self.effect(
            id=made.post_id,
            account=made.account.handle,
            text=made.info.get("title") or made.info.get("description", ""),
            publish_id=made.id,
            privacy=made.info["privacy_level"],
            is_aigc=made.info.get("is_aigc"),
            media=[hashlib.sha256(made.data).hexdigest()] if made.data else [],
            photos=made.photos,
        )

    async def status(self, request: Request) -> Response:
        account, body = self.account_of(request), await request.json()
        made = self.publishes.get(body.get("publish_id", ""))
        if made is None:
            raise Refusal(error("invalid_publish_id", "The publish_id does not exist.", 400))
        if made.account is not account:
            code = "token_not_authorized_for_specified_publish_id"
            raise Refusal(error(code, "Not this user's.", 400))
        arrived = 0 if self.take("bytes_lost") else len(made.data)
        data: Json = {"status": self._progress(made), "uploaded_bytes": arrived}
        if data["status"] == "FAILED":
            data["fail_reason"] = made.fail_reason
        public = made.info["privacy_level"] == "PUBLIC_TO_EVERYONE"
        if data["status"] == "PUBLISH_COMPLETE" and public and not self.take("moderation"):
            data["publicaly_available_post_id"] = [int(made.post_id)]
        return answer(data)

    def _progress(self, made: Publish) -> str:
        working = "PROCESSING_DOWNLOAD" if made.photos else "PROCESSING_UPLOAD"
        if not made.complete or self.take("processing"):
            return working
        return "FAILED" if made.fail_reason else "PUBLISH_COMPLETE"

    async def query(self, request: Request) -> Response:
        account, body = self.account_of(request), await request.json()
        wanted = body["filters"]["video_ids"]
        counts: Json = {"like_count": 41, "comment_count": 5, "share_count": 2, "view_count": 900}
        fields = request.query_params["fields"].split(",")
        videos = [
            {name: ({"id": made.post_id} | counts)[name] for name in fields}
            for made in self.publishes.values()
            if made.post_id in wanted and made.account is account
        ]
        return answer({"videos": videos})


def wrong_cut(size: int, chunk: int, count: int) -> str:
    """Why a video may not be cut so; the rules of the media transfer guide."""
    if size < MIN_CHUNK:
        return "" if (chunk, count) == (size, 1) else "below 5 MB a video goes in one piece"
    if not MIN_CHUNK <= chunk <= MAX_CHUNK:
        return "a piece has 5 to 64 MB"
    if count != size // chunk or not 1 <= count <= 1000:
        return "total_chunk_count is video_size / chunk_size, rounded down"
    last = size - (count - 1) * chunk
    return "the last piece has at most 128 MB" if last > MAX_LAST else ""


def log_id() -> str:
    return f"20260721{secrets.token_hex(9).upper()}"


def answer(data: Json) -> Response:
    return JSONResponse({"data": data, "error": {"code": "ok", "message": "", "log_id": log_id()}})


def error(code: str, message: str, status: int) -> Response:
    return JSONResponse(
        {"data": {}, "error": {"code": code, "message": message, "log_id": log_id()}}, status
    )


def invalid(message: str) -> Response:
    """The posting endpoints spell it so; the others say invalid_params."""
    return error("invalid_param", message, 400)


def flat_error(code: str, message: str, status: int) -> Response:
    body = {"error": code, "error_description": message, "log_id": log_id()}
    return JSONResponse(body, status)
