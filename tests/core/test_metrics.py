"""Counts of several processes add up, whoever has died, whoever is killed while tidying up."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

ROOT = Path(__file__).parents[2]
COUNT = """
import os, sys
from chimera.core import metrics
def count(times):
    for _ in range(times):
        metrics.count("skill_probe", duration_ms=30, error_code=None, retries=1)
        metrics.count("skill_probe", duration_ms=3000, error_code="TIMEOUT", retries=2)
"""
STAY = f"{COUNT}\ncount(10)\nprint('counted', flush=True)\nsys.stdin.readline()\ncount(1)\n"
FORK = f"{COUNT}\ncount(1)\nif not os.fork(): count(5); os._exit(0)\nos.wait()\ncount(1)\n"
LEAVE = f"""{COUNT}
for _ in range(int(sys.stdin.readline())):
    if not os.fork():
        count(1)
        os._exit(0)
    os.wait()
"""
SHOW = "from chimera.core import metrics\nprint(metrics.exposition().decode())"


def spawn(code: str, folder: Path, **env: str) -> "subprocess.Popen[str]":
    own = {"CHIMERA_DATA_DIR": str(folder), "DJANGO_SETTINGS_MODULE": "chimera.settings"}
    return subprocess.Popen(
        [sys.executable, "-c", code],
        cwd=ROOT,
        env={**os.environ, **own, **env},
        text=True,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )


def run(code: str, folder: Path, given: str = "", **env: str) -> str:
    """What the process says; it must end well."""
    process = spawn(code, folder, **env)
    said, _ = process.communicate(given, timeout=120)
    assert process.returncode == 0
    return said


def shown(folder: Path) -> dict[str, float]:
    """Sample with its labels -> value, as another process shows them."""
    return {
        sample.name + "".join(f"[{value}]" for value in sample.labels.values()): sample.value
        for family in text_string_to_metric_families(run(SHOW, folder))
        for sample in family.samples
    }


def expect(found: dict[str, float], rounds: int) -> None:
    """Everything that so many rounds of `count` leave behind."""
    assert found["skill_probe_calls_total"] == 2 * rounds
    assert found["skill_probe_duration_ms_count"] == 2 * rounds
    assert found["skill_probe_duration_ms_sum"] == 3030 * rounds
    assert found["skill_probe_duration_ms_bucket[50.0]"] == rounds
    assert found["skill_probe_duration_ms_bucket[+Inf]"] == 2 * rounds
    assert found["skill_probe_errors_total[TIMEOUT]"] == rounds
    assert found["skill_probe_retries_total"] == 3 * rounds
    assert found["skill_probe_success_rate"] == 0.5


@pytest.fixture
def three(tmp_path: Path) -> Iterator[list["subprocess.Popen[str]"]]:
    """Three processes that have counted ten rounds each and go on living."""
    processes = [spawn(STAY, tmp_path) for _ in range(3)]
    for process in processes:
        assert process.stdout and process.stdout.readline() == "counted\n"
    yield processes
    for process in processes:
        process.kill()
        process.wait()


@pytest.mark.req("A0.6")
def test_living_and_killed_processes_add_up(
    three: list["subprocess.Popen[str]"], tmp_path: Path
) -> None:
    expect(shown(tmp_path), 30)

    os.kill(three[0].pid, signal.SIGKILL)
    three[0].wait()
    three[1].communicate("go on\n")

    expect(shown(tmp_path), 31)


@pytest.mark.req("A0.6")
def test_a_fork_counts_for_itself(tmp_path: Path) -> None:
    run(FORK, tmp_path)

    expect(shown(tmp_path), 7)


@pytest.mark.req("A0.6")
def test_what_gone_processes_left_is_folded_and_the_living_go_on(
    three: list["subprocess.Popen[str]"], tmp_path: Path
) -> None:
    run(LEAVE, tmp_path, "3\n")
    for process in three[:2]:
        process.kill()
        process.wait()
    before = len(list(tmp_path.glob("metrics/*.db")))

    expect(shown(tmp_path), 33)
    after = len(list(tmp_path.glob("metrics/*.db")))
    three[2].communicate("go on\n")

    assert (before, after) == (12, 4), "one folded file and the living one's, of two kinds each"
    expect(shown(tmp_path), 34)


KILLED = """
import os, pathlib, shutil, sys
from chimera.core import metrics
def fold_and_die(at):
    done = []
    def dying(real):
        def step(*args, **more):
            done.append(1)
            if len(done) == at:
                os.kill(os.getpid(), 9)
            return real(*args, **more)
        return step
    for name in ("rename", "unlink", "write_text"):
        setattr(pathlib.Path, name, dying(getattr(pathlib.Path, name)))
    metrics.exposition()
    os._exit(0)
saved = metrics.FOLDER.with_name("saved")
shutil.copytree(metrics.FOLDER, saved)
for at in range(1, 100):
    shutil.rmtree(metrics.FOLDER)
    shutil.copytree(saved, metrics.FOLDER)
    if not (child := os.fork()):
        fold_and_die(at)
    _, status = os.waitpid(child, 0)
    text = metrics.exposition().decode()
    print(status, *(line for line in text.splitlines() if "calls_total 8.0" in line), flush=True)
    if status == 0:
        break
"""


@pytest.mark.req("A0.6", "X3")
def test_a_kill_at_any_step_of_the_folding_loses_and_doubles_nothing(tmp_path: Path) -> None:
    run(LEAVE, tmp_path, "4\n")

    *killed, last = run(KILLED, tmp_path).splitlines()

    assert len(killed) >= 10 and set(killed) == {"9 skill_probe_calls_total 8.0"}
    assert last == "0 skill_probe_calls_total 8.0"
    expect(shown(tmp_path), 4)
    assert not list(tmp_path.glob("metrics/folding"))


@pytest.mark.req("A0.6")
def test_two_hosts_with_one_folder_do_not_write_one_file(tmp_path: Path) -> None:
    named = "import socket, os; socket.gethostname = lambda: os.environ['HOST_NAME']"
    for host in ("web_1", "worker-1"):
        run(f"{named}\n{COUNT}\ncount(2)", tmp_path, HOST_NAME=host)

    names = [path.name for path in tmp_path.glob("metrics/counter_*.db")]
    assert {re.split("[_~]", name)[1] for name in names} == {"web-1", "worker-1"}
    expect(shown(tmp_path), 4)


@pytest.mark.req("A0.6")
def test_a_file_that_has_just_been_made_is_no_trouble(tmp_path: Path) -> None:
    run(f"{COUNT}\ncount(1)", tmp_path)
    (tmp_path / "metrics" / "counter_here~1~1.db").touch()

    expect(shown(tmp_path), 1)
