"""What every contestant of the workflow benchmark measures, with the standard library alone.

The task is the same for all: a step that does nothing, a wait for a person's yes, another such step.
"""

import json
import os
import statistics
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

WARM_UP = 20
_TICKS = os.sysconf("SC_CLK_TCK")


def tree(root: int) -> list[int]:
    """The process and everything below it."""
    found = [root]
    for pid in found:
        for task in Path(f"/proc/{pid}/task").glob("*/children"):
            found += [int(child) for child in task.read_text().split()]
    return found


def resident(pids: Iterable[int]) -> float:
    """Megabytes that the processes have resident together."""
    return sum(_field(pid, "VmRSS") for pid in pids) / 1024


def busy(pids: list[int], seconds: float = 2.0) -> float:
    """Percent of one processor that the processes use while nobody asks anything of them."""
    before = _cpu(pids)
    time.sleep(seconds)
    return 100 * (_cpu(pids) - before) / seconds


def report(*, starts: float, waits: Sequence[float], memory: float, idle: float) -> str:
    """One line of JSON. starts: per second; waits: seconds; memory: MB per 1,000; idle: percent."""
    ordered = sorted(waits)
    return json.dumps(
        {
            "starts_per_sec": round(starts, 1),
            "approve_p50_ms": round(1000 * statistics.median(ordered), 2),
            "approve_p95_ms": round(1000 * ordered[int(0.95 * (len(ordered) - 1))], 2),
            "mb_per_1000_waiting": round(memory, 2),
            "busy_percent_while_waiting": round(idle, 1),
        }
    )


def _field(pid: int, name: str) -> int:
    """A field of the process in kB."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(f"{name}:"))


def _cpu(pids: list[int]) -> float:
    """Seconds of processor time so far."""
    fields = [Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split() for pid in pids]
    return sum(int(each[11]) + int(each[12]) for each in fields) / _TICKS
