"""The real platform as processes of their own: start, kill one or all, start again, stop."""

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from chimera import stack
from chimera.demo.run import Place
from chimera.probes import answers, is_free
from tests.helpers.processes import children_of, command_of, descendants_of, kill_all

ROOT = Path(__file__).parents[2]
START_SECONDS = 300
PATIENT_SECONDS = 60
# What would point the stack at another deployment, or is of the tests alone.
HIDDEN = (
    *("DATABASE_URL", "CELERY_BROKER_URL", "CACHE_URL", "PORT", "SECRET_KEY"),
    *("DJANGO_ALLOW_ASYNC_UNSAFE", "DJANGO_SETTINGS_MODULE"),
)


def free_ports() -> int:
    """The first of five free ports in a row, below those that systems give to connections."""
    while True:
        port = random.randrange(10_000, 32_000, 10)
        if all(is_free(port + step) for step in range(5)):
            return port


@dataclass
class Stack:
    """A platform on four ports and a data directory; `env` is what it is told beside those."""

    port: int
    data_dir: Path
    env: dict[str, str] = field(default_factory=dict)
    process: "subprocess.Popen[bytes] | None" = None
    starts: list[float] = field(default_factory=list)
    kills: "Counter[str]" = field(default_factory=Counter)

    @property
    def url(self) -> str:
        return stack.web_url(self.port)

    @property
    def world_url(self) -> str:
        return f"http://127.0.0.1:{self.port + 2}"

    @property
    def place(self) -> Place:
        """Where the demo's own client finds agents and people."""
        return Place(self.url, self.data_dir)

    @property
    def kill_points(self) -> Path:
        return self.data_dir / "kill"

    @property
    def journeys(self) -> int:
        """How many campaigns the tests have begun here."""
        return len(list(self.data_dir.glob("campaigns/*.json")))

    def environment(self) -> dict[str, str]:
        kept = {
            name: value
            for name, value in os.environ.items()
            if name not in HIDDEN and not name.startswith("CHIMERA_")
        }
        own = stack.environment(self.port, self.data_dir) | {"PORT": str(self.port)}
        return kept | own | {"CHIMERA_KILL_AT": str(self.kill_points)} | self.env

    def start(self) -> float:
        """Start everything; seconds until /readyz answered 200, which `starts` keeps."""
        self.kill_points.mkdir(parents=True, exist_ok=True)
        begun = time.monotonic()
        with (self.data_dir / "stack.out").open("ab") as output:
            self.process = subprocess.Popen(
                [sys.executable, str(ROOT / "manage.py"), "runstack", "--no-demo"],
                env=self.environment(),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                process_group=0,
            )
        self.await_whole()
        self.starts.append(time.monotonic() - begun)
        return self.starts[-1]

    def await_whole(self) -> None:
        """Wait until every process runs and the platform calls itself ready."""
        assert self.process is not None
        deadline = time.monotonic() + START_SECONDS
        names = {spec.name for spec in stack.processes(self.port, self.data_dir)}
        while not (answers(f"{self.url}/readyz") and self.pids().keys() == names):
            self.assert_not_ended()
            assert time.monotonic() < deadline, f"not ready in time:\n{self.said()}"
            time.sleep(0.1)

    def assert_not_ended(self) -> None:
        """Nobody else has stopped the platform; one that a test has killed does not count."""
        ended = self.process is not None and self.process.poll() is not None
        assert not ended, f"the platform has ended:\n{self.said()}"

    def interrupt(self) -> int:
        """Ctrl-C; the exit status."""
        assert self.process is not None
        self.process.send_signal(signal.SIGINT)
        status = self.process.wait(timeout=PATIENT_SECONDS)
        self.process = None
        return status

    def tree(self) -> list[int]:
        """Every process of the platform, the supervisor first."""
        assert self.process is not None
        return [self.process.pid, *descendants_of(self.process.pid)]

    def pids(self) -> dict[str, int]:
        """name -> leader of the process group, of those that run now."""
        assert self.process is not None
        commands = {pid: command_of(pid) for pid in children_of(self.process.pid)}
        return {
            spec.name: pid
            for spec in stack.processes(self.port, self.data_dir)
            for pid, command in commands.items()
            if command == list(spec.argv)
        }

    def kill(self, name: str) -> None:
        """kill -9 of one process with all its children."""
        self.kills[name] += 1
        os.killpg(self.pids()[name], signal.SIGKILL)

    def kill_everything(self) -> None:
        """kill -9 of every process at once, as a power cut does."""
        assert self.process is not None
        self.kills["everything"] += 1
        kill_all(self.tree())
        self.process.wait()
        self.process = None

    def arm(self, point: str, scope: str) -> None:
        """The next to reach the kill point dies: scope `process` alone, `group` with its group."""
        (self.kill_points / point).write_text(scope)

    def unreached(self, points: list[str]) -> list[str]:
        """Those of the armed points that nobody has come by."""
        return [point for point in points if not (self.kill_points / f"{point}.hit").exists()]

    def disarm(self) -> None:
        """Take every kill point away; those that were hit are counted."""
        for file in self.kill_points.iterdir():
            if file.suffix == ".hit":
                scope = file.read_text()
                self.kills["whole worker" if scope == "group" else "worker process"] += 1
            file.unlink()

    def await_restart(self, name: str, before: int) -> int:
        """Wait for another process of this name than `before`; its number."""
        deadline = time.monotonic() + PATIENT_SECONDS
        while (now := self.pids().get(name, before)) == before:
            assert time.monotonic() < deadline, f"{name} was not started again:\n{self.said()}"
            time.sleep(0.1)
        return now

    def said(self) -> str:
        """Everything the platform has written to its terminal."""
        return (self.data_dir / "stack.out").read_text()

    def manage(self, *arguments: str) -> "subprocess.CompletedProcess[str]":
        """A management command on the same data."""
        return subprocess.run(
            [sys.executable, str(ROOT / "manage.py"), *arguments],
            env=self.environment(),
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
