"""Who runs on this machine, read from /proc: descendants, command lines, who is gone."""

import os
import signal
import time
from contextlib import suppress
from pathlib import Path


def children_of(pid: int) -> list[int]:
    """Direct children of a process."""
    return [other for other in _pids() if _parent(other) == pid]


def descendants_of(pid: int) -> list[int]:
    """Children, grandchildren and so on."""
    found = children_of(pid)
    return found + [below for child in found for below in descendants_of(child)]


def command_of(pid: int) -> list[str]:
    """argv of a process; empty when it is gone."""
    with suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_text().split("\0")[:-1]
    return []


def wait_until_gone(pids: list[int], seconds: float = 15.0) -> list[int]:
    """Those that still run after so many seconds: none, if all is well."""
    deadline = time.monotonic() + seconds
    while (left := [pid for pid in pids if _runs(pid)]) and time.monotonic() < deadline:
        time.sleep(0.05)
    return left


def kill_all(pids: list[int]) -> None:
    """SIGKILL for every one of them."""
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def _pids() -> list[int]:
    return [int(entry) for entry in os.listdir("/proc") if entry.isdigit()]


def _stat(pid: int) -> list[str]:
    """The fields after the command's name: state, parent, ..."""
    with suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return []


def _parent(pid: int) -> int:
    stat = _stat(pid)
    return int(stat[1]) if stat else 0


def _runs(pid: int) -> bool:
    stat = _stat(pid)
    return bool(stat) and stat[0] != "Z"
