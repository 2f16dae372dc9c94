"""Videos from Runway: a task is ordered once, its id is kept, and whoever comes later goes on with it.

Source: docs.dev.runwayml.com (API reference, errors, task failures) and the official SDK
runwayml/sdk-python (types/task_retrieve_response.py), as of 2026-11-21. POST /v1/text_to_video gives
`{"id"}`; GET /v1/tasks/{id} gives PENDING, THROTTLED, RUNNING, SUCCEEDED with `output`, FAILED with
`failureCode`, or CANCELLED. An output's address lives 24 to 48 hours, another GET gives a fresh one.
No key makes a second POST harmless, so one whose outcome is unknown is never repeated.
"""

from time import monotonic, sleep
from typing import Any

from django.conf import settings

from content.mediatools.downloads import download
from content.mediatools.failures import MediaFailure, refused_as_unsafe
from content.mediatools.models import MediaOrder
from content.mediatools.orders import (
    State,
    order_again,
    order_done,
    order_failed,
    order_give_back,
    order_open,
    order_running,
    order_take,
    settled,
)
from content.mediatools.shapes import ClipOrder
from content.mediatools.wire import Lost, Provider, Reply

TOOL = "runwayml"
API_VERSION = "2024-11-06"
MODEL = "gen4.5"
RATIOS = {"9:16": "720:1280", "16:9": "1280:720"}
SHORTEST, LONGEST = 2, 10  # seconds that the model makes
PROMPT_UNITS = 1000  # of UTF-16
WAIT_SECONDS = 60.0
CALL_SECONDS = 10.0
MOST_TASKS = 2  # the second only after the first has failed for certain


def film(wanted: ClipOrder, *, caller: str, wait_seconds: float = WAIT_SECONDS) -> dict[str, Any]:
    """`{task_id, status, video: {url, sha256, size_bytes, duration_sec}}`, once the video is here.

    The same caller gets the same video for the same order: a task that is under way is waited for,
    not ordered again. duration_sec: what was made, from 2 to 10. MediaFailure otherwise.
    """
    if wanted.ratio not in RATIOS:
        message = f"Runway makes no {wanted.ratio} video from a text; ask for 9:16 or 16:9"
        raise MediaFailure(message, final=True)
    begun = monotonic()
    order = order_open(caller=caller, tool=TOOL, wanted=wanted)
    while (kept := settled(order)) is None:
        if order_take(order):
            _begin(order, wanted)
        elif order.state == State.RUNNING:
            _look(order, wanted)
        if order.state in (State.RUNNING, State.SENT):
            _pause(order, begun, wait_seconds)
    return kept


def _begin(order: MediaOrder, wanted: ClipOrder) -> None:
    """Order the task and keep its id. A lost reply leaves the order as sent, for good."""
    body = {
        "model": MODEL,
        "promptText": _cut(wanted.prompt),
        "ratio": RATIOS[wanted.ratio],
        "duration": _seconds(wanted),
    }
    try:
        reply = _provider().call("POST", "/v1/text_to_video", body, seconds=CALL_SECONDS)
    except MediaFailure as failure:  # it was not even sent
        order_give_back(order)
        raise failure
    except Lost as problem:
        raise _unknown(str(problem)) from None
    task_id = reply.data.get("id")
    if reply.status == 200 and isinstance(task_id, str) and 0 < len(task_id) <= 100:
        order_running(order, task_id)
    elif 400 <= reply.status < 500:
        _refused(order, reply)
    else:
        raise _unknown(f"Runway answered {reply.status}")


def _refused(order: MediaOrder, reply: Reply) -> None:
    """Nothing was begun: a limit may be tried again later, anything else is in vain."""
    if reply.status == 429:
        order_give_back(order)
        message = "Runway takes no more tasks for now"
        raise MediaFailure(message, "RATE_LIMITED", retry_after=reply.retry_after)
    order_failed(order, MediaFailure(f"Runway refused the order with {reply.status}", final=True))


def _look(order: MediaOrder, wanted: ClipOrder) -> None:
    """Ask once how the task is and keep what follows from it. A look that fails says nothing."""
    try:
        reply = _provider().call("GET", f"/v1/tasks/{order.task_id}", seconds=CALL_SECONDS)
    except (Lost, MediaFailure):
        return
    status = reply.data.get("status") if reply.status == 200 else None
    if reply.status == 404 or status == "CANCELLED":
        order_failed(order, MediaFailure("The task is gone", final=True))
    elif status == "FAILED":
        _failed(order, str(reply.data.get("failureCode") or ""))
    elif status == "SUCCEEDED":
        _fetch(order, wanted, reply)


def _failed(order: MediaOrder, code: str) -> None:
    if "SAFETY" in code.split("."):
        order_failed(order, refused_as_unsafe())
    elif code.startswith("INTERNAL.BAD_OUTPUT") and order.tasks < MOST_TASKS:
        order_again(order)
    else:
        order_failed(
            order, MediaFailure(f"The task failed: {code or 'no reason given'}", final=True)
        )


def _fetch(order: MediaOrder, wanted: ClipOrder, reply: Reply) -> None:
    """Keep the video. Where its address has expired, the next look brings a fresh one."""
    output = reply.data.get("output")
    if not isinstance(output, list) or not output or not isinstance(output[0], str):
        order_failed(order, MediaFailure("The task succeeded without a video", final=True))
        return
    try:
        found = download(output[0], provider_url=settings.CHIMERA.chimera_runway_url, video=True)
    except MediaFailure:
        return
    video = found | {"duration_sec": _seconds(wanted)}
    order_done(order, {"task_id": order.task_id, "status": "SUCCEEDED", "video": video})


def _pause(order: MediaOrder, begun: float, wait_seconds: float) -> None:
    """Wait for the next look; MediaFailure when there is no time for one.

    An order that is sent and no more belongs to another process, or to one that died: it is given
    the time of one call.
    """
    pause = settings.CHIMERA.chimera_runway_poll_sec
    if order.state == State.SENT:
        pause, wait_seconds = min(pause, 0.5), min(wait_seconds, CALL_SECONDS)
    if monotonic() - begun + pause > wait_seconds:
        if order.state == State.SENT:
            raise _unknown("the order was sent and no reply is known")
        raise MediaFailure("The video is not ready yet; ask again for the same order")
    sleep(pause)
    order.refresh_from_db()


def _unknown(why: str) -> MediaFailure:
    message = f"Runway may or may not have begun the video ({why}); it is not ordered again"
    return MediaFailure(message, final=True)


def _seconds(wanted: ClipOrder) -> int:
    return max(SHORTEST, min(LONGEST, wanted.duration_sec))


def _cut(prompt: str) -> str:
    return prompt.encode("utf-16-le")[: 2 * PROMPT_UNITS].decode("utf-16-le", "ignore")


def _provider() -> Provider:
    env = settings.CHIMERA
    if not env.chimera_runway_api_key:
        raise MediaFailure("CHIMERA_RUNWAY_API_KEY is not set", final=True)
    headers = {
        "Authorization": f"Bearer {env.chimera_runway_api_key}",
        "X-Runway-Version": API_VERSION,
    }
    return Provider("Runway", env.chimera_runway_url.rstrip("/"), headers)
