"""`Prefer: wait=N` (RFC 7240): how long a caller is willing to wait, and how many may do so at once."""

import re
from collections import Counter
from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from threading import Lock

MAX_WAIT = 60
MAX_WAITS = 4
_lock = Lock()
_waits: Counter[Hashable] = Counter()


def wait_seconds(prefer: str) -> int:
    """Seconds asked for, 0 without the preference, at most 60."""
    found = re.search(r"(?:^|[\s,;])wait\s*=\s*(\d{1,6})", prefer)
    return min(int(found.group(1)), MAX_WAIT) if found else 0


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
