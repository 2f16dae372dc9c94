"""Several real processes, and their deaths, over the same runs on a database of their own."""

import json
import random
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.gate_process import ROOT, Stage, stage

pytestmark = pytest.mark.req("W6", "X3")
WORKER = [sys.executable, "-m", "tests.skills.workflows.race_worker"]
ENDED = {
    "race": ["completed", 7, 6],
    "loop": ["completed", 10, 7],
}  # status, records, jobs of a run
POINTS = [
    "workflow.walked",
    "workflow.saved",
    "echo.claimed",
    "echo.executed",
    "echo.saved",
    "normalize_handle.claimed",
    "normalize_handle.executed",
    "normalize_handle.saved",
]


@pytest.fixture
def own_stage(tmp_path: Path) -> Iterator[Stage]:
    with stage(tmp_path) as made:
        yield made


def begin(own_stage: Stage, *what: str, **env: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [*WORKER, *what], cwd=ROOT, env=own_stage.env | env, stdout=subprocess.PIPE, text=True
    )


def answer(process: "subprocess.Popen[str]") -> Any:
    printed = process.communicate(timeout=120)[0]
    assert process.returncode == 0
    return json.loads(printed.splitlines()[-1])


def test_processes_that_start_and_walk_the_same_runs_do_everything_once(own_stage: Stage) -> None:
    answer(begin(own_stage, "make", "4", "race"))
    answer(begin(own_stage, "make", "2", "loop"))

    starting = [begin(own_stage, "keyed", "30") for _ in range(3)]
    first, *others = [answer(process) for process in starting]
    assert len(set(first)) == 30 and all(runs == first for runs in others)
    for process in [begin(own_stage, "drive") for _ in range(3)]:
        answer(process)

    told = answer(begin(own_stage, "tell"))
    assert told["runs"][:6] == [ENDED["race"]] * 4 + [ENDED["loop"]] * 2
    assert told["runs"][6:] == [["completed", 2, 2]] * 30
    assert told["open_steps"] == told["open_jobs"] == 0


@pytest.mark.parametrize("flow", ["race", "asking"])
def test_runs_cancelled_while_others_walk_them_leave_nothing_open(
    own_stage: Stage, flow: str
) -> None:
    answer(begin(own_stage, "make", "8", flow))

    driving = [begin(own_stage, "drive") for _ in range(2)]
    cancelled = answer(begin(own_stage, "cancel"))
    for process in driving:
        answer(process)

    told = answer(begin(own_stage, "tell"))
    ended = [status for status, _, _ in told["runs"]]
    assert ended.count("cancelled") == cancelled
    assert ended.count("completed" if flow == "race" else "blocked") == 8 - cancelled
    waiting = 8 - cancelled if flow == "asking" else 0
    assert (told["open_steps"], told["open_requests"], told["open_jobs"]) == (waiting, waiting, 0)


def test_a_process_killed_between_any_two_lines_loses_and_doubles_nothing(
    own_stage: Stage, tmp_path: Path, pytestconfig: pytest.Config
) -> None:
    answer(begin(own_stage, "make", "2", "loop"))
    armed = tmp_path / "armed"
    armed.mkdir()
    long = pytestconfig.option.chaos_long
    points = random.Random(pytestconfig.option.chaos_seed).sample(
        POINTS, len(POINTS) if long else 3
    )
    for point in points:
        (armed / point).write_text("process")
        process = begin(own_stage, "drive", "new", CHIMERA_KILL_AT=str(armed))
        process.communicate(timeout=120)
        assert process.returncode == -signal.SIGKILL, f"{point} was not reached"

    answer(begin(own_stage, "drive"))

    told = answer(begin(own_stage, "tell"))
    assert told["runs"] == [ENDED["loop"]] * 2 + [ENDED["race"]] * len(points)
    assert told["open_steps"] == told["open_jobs"] == 0
