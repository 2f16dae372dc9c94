"""Files on their way to X: initialize, append segment by segment, finalize, wait for the processing.

Kept per file N: `media.N.id`, `media.N.sent` (segments that have arrived), `media.N.until` (Unix
seconds until which X keeps it), `media.N.state` (finalized, ready). A file may be uploaded again
without harm: what is not posted nobody sees.
"""

from typing import Any

from chimera.core.clock import now
from content.platforms.base import Keep, Media, PlatformFailure, Processing, PublishIntent
from content.platforms.formats import mime_type
from content.platforms.http import accept, call, during
from content.platforms.twitter.errors import judge
from content.platforms.twitter.rules import category_of

SEGMENT_BYTES = 4 * 1024 * 1024
SPARE_SEC = 600
"""An upload that X drops within this time is not built upon."""
_UNDERWAY = ("pending", "in_progress")


def upload(intent: PublishIntent, number: int, keep: Keep) -> None:
    """Bring one file of the post to `ready`, from where an earlier attempt has left it."""
    handles = dict(intent.handles)

    def note(name: str, value: str) -> None:
        keep(f"media.{number}.{name}", value)
        handles[f"media.{number}.{name}"] = value

    def noted(name: str) -> str:
        return handles.get(f"media.{number}.{name}", "")

    item = intent.media[number]
    if not noted("id") or _is_old(noted("until")):
        _initialize(intent, item, note)
    if not noted("state"):
        _append(intent, item, noted("id"), int(noted("sent") or 0), note)
        _finish(intent, noted("id"), note)
    elif noted("state") == "finalized":
        path = f"/2/media/upload?media_id={noted('id')}"
        _follow(_data(intent, "GET", path, note), note)


def media_ids(intent: PublishIntent) -> list[str]:
    """The ids of all files, in order; every one of them is ready."""
    return [intent.handles[f"media.{number}.id"] for number in range(len(intent.media))]


def _is_old(until: str) -> bool:
    return not until or float(until) < now().timestamp() + SPARE_SEC


def _initialize(intent: PublishIntent, item: Media, note: Keep) -> None:
    body = {
        "media_type": mime_type(item.body),
        "total_bytes": len(item.body),
        "media_category": category_of(item),
    }
    data = _call(intent, "POST", "/2/media/upload/initialize", json=body)
    with during("prepare"):
        until = now().timestamp() + float(data.get("expires_after_secs", 3600))
        for name, value in (("state", ""), ("sent", "0"), ("id", str(data["id"]))):
            note(name, value)
        note("until", str(int(until)))


def _append(intent: PublishIntent, item: Media, media_id: str, sent: int, note: Keep) -> None:
    starts = range(0, len(item.body), SEGMENT_BYTES)
    for index, start in list(enumerate(starts))[sent:]:
        segment = item.body[start : start + SEGMENT_BYTES]
        _data(
            intent,
            "POST",
            f"/2/media/upload/{media_id}/append",
            note,
            data={"segment_index": str(index)},
            files={"media": ("segment", segment, "application/octet-stream")},
        )
        note("sent", str(index + 1))


def _finish(intent: PublishIntent, media_id: str, note: Keep) -> None:
    data = _data(intent, "POST", f"/2/media/upload/{media_id}/finalize", note)
    note("state", "finalized")
    _follow(data, note)


def _follow(data: dict[str, Any], note: Keep) -> None:
    """Ready, or Processing for as long as X works on the file; a file it cannot use is refused."""
    progress = data.get("processing_info") or {"state": "succeeded"}
    state = progress.get("state")
    if state in _UNDERWAY:
        wait = float(progress.get("check_after_secs") or 1)
        raise Processing("a file is being processed", retry_after=wait)
    if state != "succeeded":
        why = (progress.get("error") or {}).get("message", "no reason given")
        note("id", "")
        raise PlatformFailure("content_rejected", f"X cannot process a file: {why}")
    note("state", "ready")


def _data(
    intent: PublishIntent, method: str, path: str, note: Keep, **options: Any
) -> dict[str, Any]:
    """`data` of one call on an upload. Where X refuses it, the upload is forgotten and begun anew later."""
    try:
        return _call(intent, method, path, **options)
    except PlatformFailure as problem:
        if problem.kind not in ("content_rejected", "permanent"):
            raise
        note("id", "")
        message = f"X has dropped an upload: {problem.message}"
        raise PlatformFailure("transient_before_mutation", message) from None


def _call(intent: PublishIntent, method: str, path: str, **options: Any) -> dict[str, Any]:
    url, token = intent.base_url.rstrip("/") + path, intent.credentials.access_token
    with during("prepare"):
        reply = accept(call(method, url, token=token, **options), "prepare", judge)
        if not reply.body:
            return {}
        data = reply.json().get("data")
        return data if isinstance(data, dict) else {}
