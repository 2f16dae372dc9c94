"""The life of an order, each step one conditional update, so that two processes buy once."""

from typing import Any

from django.db.models import F, QuerySet

from chimera.core.digest import digest
from content.mediatools.failures import MediaFailure
from content.mediatools.models import MediaOrder
from content.mediatools.shapes import ClipOrder, PictureOrder

State = MediaOrder.State
_PLAIN = "MEDIA_GENERATION_FAILED"


def order_open(*, caller: str, tool: str, wanted: PictureOrder | ClipOrder) -> MediaOrder:
    """The order of this caller for exactly this, made where there was none."""
    key = digest({"caller": caller, "tool": tool, "wanted": wanted.model_dump()})
    MediaOrder.objects.bulk_create([MediaOrder(key=key, tool=tool)], ignore_conflicts=True)
    return MediaOrder.objects.get(key=key)


def settled(order: MediaOrder) -> dict[str, Any] | None:
    """The result of an order that has ended well, None of an open one; MediaFailure of a failed one."""
    if order.state != State.FAILED:
        return order.result
    told = order.failure or {}
    raise MediaFailure(
        told.get("message", "The order has failed"), told.get("code", _PLAIN), final=True
    )


def order_take(order: MediaOrder) -> bool:
    """True for the one who may send it now."""
    taken = _in(order, State.NEW).update(state=State.SENT, tasks=F("tasks") + 1)
    return _seen(order, taken)


def order_give_back(order: MediaOrder) -> None:
    """It was not accepted, so it may be sent again."""
    _seen(order, _in(order, State.SENT).update(state=State.NEW, tasks=F("tasks") - 1))


def order_running(order: MediaOrder, task_id: str) -> None:
    """The provider works on it under this id."""
    _seen(order, _in(order, State.SENT).update(state=State.RUNNING, task_id=task_id))


def order_done(order: MediaOrder, result: dict[str, Any]) -> None:
    """The result is here and kept."""
    open_states = (State.NEW, State.SENT, State.RUNNING)
    _seen(order, _in(order, *open_states).update(state=State.DONE, result=result))


def order_failed(order: MediaOrder, why: MediaFailure) -> None:
    """It will never give anything."""
    failure = why.as_dict() | {"message": why.message}
    open_states = (State.NEW, State.SENT, State.RUNNING)
    _seen(order, _in(order, *open_states).update(state=State.FAILED, failure=failure))


def order_again(order: MediaOrder) -> None:
    """Its task has failed for certain, in a way that another may not: it may be sent once more."""
    ended = _in(order, State.RUNNING).filter(task_id=order.task_id)
    _seen(order, ended.update(state=State.NEW, task_id=""))


def _in(order: MediaOrder, *states: str) -> "QuerySet[MediaOrder]":
    return MediaOrder.objects.filter(key=order.key, state__in=states)


def _seen(order: MediaOrder, changed: int) -> bool:
    order.refresh_from_db()
    return bool(changed)
