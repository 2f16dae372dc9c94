"""Wake-up hints: a Celery message sent after the commit, by the name of the task.

A hint may be lost or doubled. Whatever it wakes is found in the database as well, by a sweep.
"""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

from celery import current_app
from django.db import transaction
from kombu.exceptions import OperationalError

log = logging.getLogger("chimera.hints")


@dataclass(frozen=True)
class Hint:
    """A message to a worker: the task's name, its arguments, Celery's options."""

    task: str
    args: tuple[Any, ...]
    options: dict[str, Any]


_kept: ContextVar[list[Hint] | None] = ContextVar("hints", default=None)


@contextmanager
def kept() -> Iterator[list[Hint]]:
    """Hand the hints of the body to the caller instead of sending them; an error sends them first."""
    found: list[Hint] = []
    token = _kept.set(found)
    try:
        yield found
    except BaseException:
        for hint in found:
            send(hint)
        raise
    finally:
        _kept.reset(token)


def wake(task: str, *args: Any, **options: Any) -> None:
    """Send the task once the transaction has committed; a broker that is down only costs time."""
    transaction.on_commit(lambda: _pass_on(Hint(task, args, options)))


def _pass_on(hint: Hint) -> None:
    found = _kept.get()
    if found is None:
        send(hint)
    else:
        found.append(hint)


def send(hint: Hint) -> None:
    """Send it now; where the broker is down it is lost."""
    try:
        current_app.send_task(hint.task, args=hint.args, retry=False, **hint.options)
    except (OperationalError, OSError) as problem:
        log.warning("no wake-up for %s: %s; the sweep will find it", hint.task, problem)
