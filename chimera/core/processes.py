"""Processes of this machine by number and start, so that a number given out again names another."""

import os
import socket
from contextlib import suppress
from functools import lru_cache
from pathlib import Path


@lru_cache(maxsize=1)
def host() -> str:
    """The name of this machine."""
    return socket.gethostname()


def started(pid: int) -> str | None:
    """When it started, in clock ticks since boot; None where it is gone, '' where unknown."""
    with suppress(OSError, IndexError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
    with suppress(OSError):
        os.kill(pid, 0)
        return ""
    return None


def is_gone(pid: int, start: str) -> bool:
    """True when that very process of this machine runs no more."""
    return started(pid) not in (start, "")
