"""Ideogram API v2, "Generate with Ideogram 4.5", as developer.ideogram.ai had it on 2026-10-05.

Sources: developer.ideogram.ai/api-reference/images/generate/ideogram-4-5 (path, Api-Key header, fields,
`generation_id`, `seed`, `data[]`; 402 and 429 with `error` and `reject_reason`; 422 for a prompt that
the safety checks refuse; an unsafe picture is 200 with `is_image_safe: false` and no url). Addresses of
pictures pass: here each can be read until the fault `expired_url` takes it away.

An account's access_token is its API key. Kinds of fault of its own: `unsafe_prompt` (422), `unsafe`
(200, not safe), `no_credit` (402), `expired_url` (the picture is gone), `html_picture` (its address
gives a page).
"""

import secrets
from io import BytesIO
from typing import Any

from PIL import Image
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from tests.fakes import faults
from tests.fakes.base import Endpoint, Fake, Json

SIZES = {"1024x1024", "896x1120", "1120x896", "1280x720", "720x1280", "1248x832", "832x1248"}
FIELDS = {"prompt", "magic_prompt", "size", "quality", "seed", "num_images", "async"}


def make() -> "Ideogram":
    return Ideogram()


class Ideogram(Fake):
    """The server. An effect is a generation, which is paid for."""

    name = "ideogram"

    def __init__(self) -> None:
        super().__init__()
        self.pictures: dict[str, bytes] = {}

    def endpoints(self) -> list[tuple[str, str, Endpoint]]:
        return [
            ("POST", "/v2/image/generate/ideogram-4-5", self.generate),
            ("GET", "/api/images/ephemeral/{name}", self.picture),
        ]

    def limited(self) -> Response:
        why = {"error": "Too many requests in progress", "reject_reason": "inflight_limit"}
        return JSONResponse(why | {"max_inflight_requests": 10}, 429)

    def broken(self) -> Response:
        return JSONResponse({"error": "Internal server error"}, 500)

    def unauthorized(self) -> Response:
        return JSONResponse({"error": "Not authorized"}, 401)

    async def generate(self, request: Request) -> Response:
        account = self.account_of(request, request.headers.get("api-key", "-"))
        body = await request.json()
        wrong = _wrong(body)
        if wrong:
            return JSONResponse({"error": wrong}, 400)
        if self.take("no_credit"):
            why = {"error": "No credit left", "reject_reason": "insufficient_funds"}
            return JSONResponse(why, 402)
        if self.take("unsafe_prompt"):
            return JSONResponse({"error": "The prompt did not pass safety checks."}, 422)
        safe = not self.take("unsafe")
        generation = secrets.token_urlsafe(16)
        self.effect(id=generation, account=account.id, text=body["prompt"])
        made = [self._picture(request, body, safe) for _ in range(body.get("num_images", 1))]
        return JSONResponse({"generation_id": generation, "seed": 12345, "data": made})

    def _picture(self, request: Request, body: Json, safe: bool) -> Json:
        name, size = f"{secrets.token_urlsafe(16)}.png", body.get("size", "1024x1024")
        if safe:
            width, height = map(int, size.split("x"))
            target = BytesIO()
            Image.new("RGB", (width, height), (len(self.pictures), 90, 160)).save(target, "PNG")
            self.pictures[name] = target.getvalue()
        url = f"{request.base_url}ideogram/api/images/ephemeral/{name}?exp=1790000000&sig=5e1f"
        about = {"prompt": body["prompt"], "resolution": size, "seed": 12345}
        return about | {"is_image_safe": safe, "url": url if safe else None}

    async def picture(self, request: Request) -> Response:
        if self.take("html_picture"):
            return faults.html(200)
        found = self.pictures.get(request.path_params["name"])
        if found is None or self.take("expired_url"):
            return Response("URL signature expired", 403, media_type="text/plain")
        return Response(found, media_type="image/png")


def _wrong(body: Any) -> str:
    """What the provider objects to; '' for nothing."""
    if not isinstance(body, dict) or set(body) - FIELDS:
        return "unknown fields"
    if not isinstance(body.get("prompt"), str) or not 1 <= len(body["prompt"]) <= 10_000:
        return "prompt is required"
    if body.get("size", "1024x1024") not in SIZES:
        return "size is not a supported preset"
    if body.get("quality", "high") not in ("low", "medium", "high"):
        return "quality is not supported"
    return "" if body.get("num_images", 1) in range(1, 9) else "num_images must be 1 to 8"
