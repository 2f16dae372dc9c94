"""The supervisor with small real processes."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from chimera.supervisor import ProcessSpec, StackError, Supervisor

ROOT = Path(__file__).resolve().parents[2]
PATIENCE = 15.0

# A supervisor of its own in a process of its own: argv is the log folder and the child's program.
DRIVER = """
import sys
from pathlib import Path
from chimera.supervisor import ProcessSpec, Stopped, Supervisor
log_dir, grace, program = Path(sys.argv[1]), float(sys.argv[2]), sys.argv[3]
with Supervisor(log_dir, lambda line: print(line, flush=True), grace=grace) as supervisor:
    try:
        supervisor.start([ProcessSpec("child", [sys.executable, "-c", program])])
        supervisor.watch()
    except Stopped:
        pass
print("Stopped", flush=True)
"""
WITH_GRANDCHILD = """
import os, pathlib, signal, subprocess, sys, time
grandchild = subprocess.Popen([sys.executable, "-c",
    "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(300)"])
time.sleep(0.3)
pathlib.Path({pids!r}).write_text(f"{{os.getpid()}} {{grandchild.pid}}")
time.sleep(300)
"""
STUBBORN = """
import os, pathlib, signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
pathlib.Path({pids!r}).write_text(str(os.getpid()))
time.sleep(300)
"""


def until(condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.02)


def alive(pid: int) -> bool:
    """Whether the process still runs; a zombie that nobody has collected does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


Drive = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def drive(tmp_path: Path) -> Iterator[Drive]:
    """Starts the driver with a child program; kills what is left at the end."""
    started: list[subprocess.Popen[str]] = []

    def start(program: str, grace: float = 5.0) -> "subprocess.Popen[str]":
        argv = [sys.executable, "-c", DRIVER, str(tmp_path / "log"), str(grace), program]
        env = {**os.environ, "PYTHONPATH": str(ROOT)}
        started.append(subprocess.Popen(argv, env=env, stdout=subprocess.PIPE, text=True))
        return started[-1]

    yield start
    for process in started:
        process.kill()
        process.communicate()


def written_pids(path: Path) -> list[int]:
    until(lambda: path.exists() and path.read_text())
    return [int(pid) for pid in path.read_text().split()]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_stop_leaves_neither_child_nor_grandchild(
    drive: Drive, tmp_path: Path, number: signal.Signals
) -> None:
    supervisor = drive(WITH_GRANDCHILD.format(pids=str(tmp_path / "pids")))
    pids = written_pids(tmp_path / "pids")
    assert all(alive(pid) for pid in pids)
    supervisor.send_signal(number)
    output, _ = supervisor.communicate(timeout=PATIENCE)
    assert supervisor.returncode == 0
    assert output.endswith("Stopped\n")
    assert not any(alive(pid) for pid in pids)


def test_second_ctrl_c_kills_at_once_what_ignores_the_first(drive: Drive, tmp_path: Path) -> None:
    supervisor = drive(STUBBORN.format(pids=str(tmp_path / "pids")), grace=300)
    (pid,) = written_pids(tmp_path / "pids")
    supervisor.send_signal(signal.SIGINT)
    time.sleep(0.5)
    assert alive(pid)
    supervisor.send_signal(signal.SIGINT)
    output, _ = supervisor.communicate(timeout=PATIENCE)
    assert "killed: child" in output
    assert not alive(pid)


def test_what_ignores_sigterm_is_killed_after_the_grace_time(drive: Drive, tmp_path: Path) -> None:
    supervisor = drive(STUBBORN.format(pids=str(tmp_path / "pids")), grace=0.3)
    (pid,) = written_pids(tmp_path / "pids")
    supervisor.send_signal(signal.SIGTERM)
    output, _ = supervisor.communicate(timeout=PATIENCE)
    assert "killed: child" in output
    assert not alive(pid)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux tells children")
def test_child_ends_when_the_supervisor_is_killed(drive: Drive, tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    program = f"import os, pathlib, time; pathlib.Path({str(pids)!r}).write_text(str(os.getpid())); time.sleep(300)"
    supervisor = drive(program)
    (pid,) = written_pids(pids)
    supervisor.kill()
    until(lambda: not alive(pid))


@pytest.mark.req("X3")
def test_dead_process_is_started_again_and_it_is_said(drive: Drive, tmp_path: Path) -> None:
    starts = tmp_path / "starts"
    program = f"import pathlib, time; pathlib.Path({str(starts)!r}).open('a').write('x'); time.sleep(0.2); raise SystemExit(3)"
    supervisor = drive(program)
    until(lambda: starts.exists() and len(starts.read_text()) >= 3)
    supervisor.send_signal(signal.SIGTERM)
    output, _ = supervisor.communicate(timeout=PATIENCE)
    assert "child stopped (status 3); starting it again in 1 s" in output
    assert "child stopped (status 3); starting it again in 2 s" in output


def test_restart_takes_grandchildren_of_the_dead_process_away(drive: Drive, tmp_path: Path) -> None:
    drive(WITH_GRANDCHILD.format(pids=str(tmp_path / "pids")))
    child, grandchild = written_pids(tmp_path / "pids")
    os.kill(child, signal.SIGKILL)
    until(lambda: not alive(grandchild))
    until(lambda: written_pids(tmp_path / "pids")[0] != child)


def test_alarms_of_a_process_reach_the_console_and_the_rest_stays_in_its_log(
    drive: Drive, tmp_path: Path
) -> None:
    program = "print('INFO all is well', flush=True); print('ERROR no space left', flush=True); import time; time.sleep(300)"
    supervisor = drive(program)
    log = tmp_path / "log" / "child.log"
    until(lambda: log.exists() and "no space" in log.read_text())
    time.sleep(0.3)
    supervisor.send_signal(signal.SIGTERM)
    output, _ = supervisor.communicate(timeout=PATIENCE)
    assert "child | ERROR no space left" in output
    assert "all is well" not in output
    assert "INFO all is well" in log.read_text()


def test_process_that_ends_before_it_is_ready_is_reported_with_its_last_words(
    tmp_path: Path,
) -> None:
    said: list[str] = []
    spec = ProcessSpec(
        "web",
        [sys.executable, "-c", "raise SystemExit('no such table')"],
        ready="http://127.0.0.1:1/",
    )
    with Supervisor(tmp_path, said.append) as supervisor, pytest.raises(StackError) as failure:
        supervisor.start([spec])
    assert "web ended with status 1 before it was ready" in str(failure.value)
    assert "no such table" in str(failure.value)
    assert said == []


def test_process_counts_as_ready_only_when_its_port_accepts(tmp_path: Path) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    program = (
        "import socket, time; time.sleep(0.5); s = socket.socket();"
        "s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1);"
        f"s.bind(('127.0.0.1', {port})); s.listen(); time.sleep(300)"
    )
    said: list[str] = []
    began = time.monotonic()
    with Supervisor(tmp_path, said.append) as supervisor:
        supervisor.start(
            [ProcessSpec("chain", [sys.executable, "-c", program], ready=port, port=port)]
        )
        assert time.monotonic() - began > 0.5
    assert said[0].split()[:5] == ["chain", "ready", "on", "port", str(port)]


def test_preparing_command_that_fails_stops_the_start_with_its_reason(tmp_path: Path) -> None:
    spec = ProcessSpec(
        "migrate", [sys.executable, "-c", "raise SystemExit('disk is full')"], once=True
    )
    with Supervisor(tmp_path, print) as supervisor, pytest.raises(StackError, match="disk is full"):
        supervisor.run_once(spec)


@pytest.mark.parametrize(("status", "starts"), [(0, 1), (1, 2)])
def test_process_that_may_end_is_started_again_only_after_a_failure(
    tmp_path: Path, status: int, starts: int
) -> None:
    marks = tmp_path / "starts"
    program = f"import pathlib; pathlib.Path({str(marks)!r}).open('a').write('x'); raise SystemExit({status})"
    with Supervisor(tmp_path, lambda line: None) as supervisor:
        supervisor.start([ProcessSpec("demo", [sys.executable, "-c", program], once=True)])
        deadline = time.monotonic() + 2
        while time.monotonic() < deadline:
            supervisor.look_after_all()
            time.sleep(0.05)
    assert len(marks.read_text()) == starts
