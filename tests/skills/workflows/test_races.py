"""Several real processes, and their deaths, over the same runs on a database of their own."""

import json
import random
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.helpers.crew import AtOnce, crew
from tests.helpers.gate_process import stage
from tests.helpers.servers import own_database

pytestmark = pytest.mark.req("W6", "X3")
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


@pytest.fixture(scope="module")
def armed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the kill points: a file of a point's name arms it."""
    return tmp_path_factory.mktemp("armed")


@pytest.fixture(scope="module")
def processes(tmp_path_factory: pytest.TempPathFactory, armed: Path) -> Iterator[AtOnce]:
    with stage(tmp_path_factory.mktemp("races")) as made:
        env = made.env | {"CHIMERA_KILL_AT": str(armed)}
        with crew("tests.skills.workflows.race_worker", env) as started:
            yield started


@pytest.fixture
def at_once(processes: AtOnce, tmp_path: Path) -> Iterator[AtOnce]:
    """Gives what all the processes printed, in a database of the test's own."""
    with own_database(tmp_path) as url:
        yield lambda *what, **how: [json.loads(line) for line in processes(url, *what, **how)]


def test_processes_that_start_and_walk_the_same_runs_do_everything_once(at_once: AtOnce) -> None:
    at_once("make", 4, "race")
    at_once("make", 2, "loop")

    first, *others = at_once("keyed", 30, count=3)
    assert len(set(first)) == 30 and len(others) == 2 and all(runs == first for runs in others)
    at_once("drive", count=3)

    (told,) = at_once("tell")
    assert told["runs"][:6] == [ENDED["race"]] * 4 + [ENDED["loop"]] * 2
    assert told["runs"][6:] == [["completed", 2, 2]] * 30
    assert told["open_steps"] == told["open_jobs"] == 0


@pytest.mark.parametrize("flow", ["race", "asking"])
def test_runs_cancelled_while_others_walk_them_leave_nothing_open(
    at_once: AtOnce, flow: str
) -> None:
    at_once("make", 8, flow)

    *_, cancelled = at_once(each=["drive", "drive", "cancel"])

    (told,) = at_once("tell")
    ended = [status for status, _, _ in told["runs"]]
    assert ended.count("cancelled") == cancelled
    assert ended.count("completed" if flow == "race" else "blocked") == 8 - cancelled
    waiting = 8 - cancelled if flow == "asking" else 0
    assert (told["open_steps"], told["open_requests"], told["open_jobs"]) == (waiting, waiting, 0)


def test_a_process_killed_between_any_two_lines_loses_and_doubles_nothing(
    at_once: AtOnce, armed: Path, pytestconfig: pytest.Config
) -> None:
    at_once("make", 2, "loop")
    long = pytestconfig.option.chaos_long
    points = random.Random(pytestconfig.option.chaos_seed).sample(
        POINTS, len(POINTS) if long else 3
    )
    for point in points:
        (armed / point).write_text("process")
        at_once("drive", "new", status=-signal.SIGKILL)
        assert (armed / f"{point}.hit").exists()

    at_once("drive")

    (told,) = at_once("tell")
    assert told["runs"] == [ENDED["loop"]] * 2 + [ENDED["race"]] * len(points)
    assert told["open_steps"] == told["open_jobs"] == 0
