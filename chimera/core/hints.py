"""Wake-up hints: a Celery message sent after the commit, by the name of the task.

A hint may be lost or doubled. Whatever it wakes is found in the database as well, by a sweep.
"""

import logging
from typing import Any

from celery import current_app
from django.db import transaction
from kombu.exceptions import OperationalError

log = logging.getLogger("chimera.hints")


def wake(task: str, *args: Any, **options: Any) -> None:
    """Send the task once the transaction has committed; a broker that is down only costs time."""
    transaction.on_commit(lambda: _send(task, args, options))


def _send(task: str, args: tuple[Any, ...], options: dict[str, Any]) -> None:
    try:
        current_app.send_task(task, args=args, retry=False, **options)
    except (OperationalError, OSError) as problem:
        log.warning("no wake-up for %s: %s; the sweep will find it", task, problem)
