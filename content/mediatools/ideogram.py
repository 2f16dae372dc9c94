"""Pictures from Ideogram 4.5: one synchronous call, its passing addresses downloaded at once.

Source: developer.ideogram.ai, "Generate with Ideogram 4.5", as of 2026-10-05. The reply waits for the
pictures; an unsafe one comes with status 200, `is_image_safe: false` and no url, an unsafe prompt
with 422, an account at its limit with 429 or 402 and a `reject_reason`.
"""

from typing import Any

from django.conf import settings

from content.mediatools.downloads import download
from content.mediatools.failures import MediaFailure, refused_as_unsafe
from content.mediatools.orders import order_done, order_failed, order_open, settled
from content.mediatools.shapes import PictureOrder
from content.mediatools.wire import Lost, Provider, Reply

TOOL = "ideogram"
PATH = "/v2/image/generate/ideogram-4-5"
SECONDS = 28.0
SIZES = {
    "1:1": "1024x1024",
    "4:5": "896x1120",
    "16:9": "1280x720",
    "9:16": "720x1280",
    "3:2": "1248x832",
}


def draw(wanted: PictureOrder, *, caller: str) -> dict[str, Any]:
    """`{task_id, images: [{url, sha256, size_bytes, width, height, is_image_safe}]}`.

    The same caller gets the same pictures for the same order. A call whose reply is lost may be made
    again, as Ideogram offers no look-up without it; MediaFailure otherwise.
    """
    order = order_open(caller=caller, tool=TOOL, wanted=wanted)
    kept = settled(order)
    if kept is not None:
        return kept
    try:
        result = _ordered(wanted)
    except MediaFailure as failure:
        if failure.final:
            order_failed(order, failure)
        raise
    order_done(order, result)
    return result


def _ordered(wanted: PictureOrder) -> dict[str, Any]:
    body = {
        "prompt": wanted.prompt,
        "size": SIZES[wanted.aspect_ratio],
        "quality": "medium",
        "num_images": wanted.count,
    }
    try:
        reply = _provider().call("POST", PATH, body, seconds=SECONDS)
    except Lost as problem:
        raise MediaFailure(f"The reply was lost: {problem}") from None
    if reply.status != 200:
        raise _refusal(reply)
    items = reply.data.get("data")
    if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
        raise MediaFailure("Ideogram answered nonsense")
    return {
        "task_id": str(reply.data.get("generation_id", "")),
        "images": [_picture(item) for item in items[: wanted.count]],
    }


def _picture(item: dict[str, Any]) -> dict[str, Any]:
    url = item.get("url")
    if item.get("is_image_safe") is not True or not isinstance(url, str) or not url:
        return {"url": None, "sha256": None, "size_bytes": 0, "is_image_safe": False}
    found = download(url, provider_url=settings.CHIMERA.chimera_ideogram_url, video=False)
    return found | {"is_image_safe": True}


def _refusal(reply: Reply) -> MediaFailure:
    reason = str(reply.data.get("reject_reason", ""))
    if reply.status == 422:
        return refused_as_unsafe()
    if reply.status == 429:
        message = f"Ideogram is busy: {reason or 'too many requests'}"
        return MediaFailure(message, "RATE_LIMITED", retry_after=reply.retry_after)
    if reply.status >= 500:
        return MediaFailure(f"Ideogram answered {reply.status}")
    message = f"Ideogram refused the order with {reply.status} {reason}".rstrip()
    return MediaFailure(message, final=True)


def _provider() -> Provider:
    env = settings.CHIMERA
    if not env.chimera_ideogram_api_key:
        raise MediaFailure("CHIMERA_IDEOGRAM_API_KEY is not set", final=True)
    headers = {"Api-Key": env.chimera_ideogram_api_key}
    return Provider("Ideogram", env.chimera_ideogram_url.rstrip("/"), headers)
