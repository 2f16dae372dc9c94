"""`Prefer: wait=N` (RFC 7240): how long a caller is willing to wait, and how many may do so at once."""

import re
import time
from collections import Counter
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from threading import Lock
from typing import TypeVar

from django.db.models import Model

MAX_WAIT = 60
MAX_WAITS = 4
_lock = Lock()
_waits: Counter[Hashable] = Counter()
RowT = TypeVar("RowT", bound=Model)


def wait_seconds(prefer: str) -> int:
    """Seconds asked for, 0 without the preference, at most 60."""
    found = re.search(r"(?:^|[\s,;])wait\s*=\s*(\d{1,6})", prefer)
    return min(int(found.group(1)), MAX_WAIT) if found else 0


def waited(row: RowT, settled: Callable[[RowT], bool], agent_id: Hashable, prefer: str) -> RowT:
    """The row once it is settled, or as it is when the wait that was granted is over."""
    with granted_wait(agent_id, prefer) as seconds:
        until, pause = time.monotonic() + seconds, 0.01
        while not settled(row) and time.monotonic() < until:
            time.sleep(pause)
            pause = min(pause * 1.5, 0.25)
            row.refresh_from_db()
    return row


@contextmanager
def granted_wait(agent_id: Hashable, prefer: str) -> Iterator[int]:
    """Seconds that the caller may wait inside the block; 0 while four others of the agent do.

    A wait holds a thread of this process, so one agent must not hold them all.
    """
    seconds = wait_seconds(prefer)
    if not seconds or not _take(agent_id):
        yield 0
        return
    try:
        yield seconds
    finally:
        _give_back(agent_id)


def _take(agent_id: Hashable) -> bool:
    with _lock:
        free = _waits[agent_id] < MAX_WAITS
        _waits[agent_id] += free
    return free


def _give_back(agent_id: Hashable) -> None:
    with _lock:
        _waits[agent_id] -= 1
        if not _waits[agent_id]:
            del _waits[agent_id]
