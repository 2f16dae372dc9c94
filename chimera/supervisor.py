"""Keep a set of processes running: start, watch, restart with back-off, stop without orphans.

Every process leads its own process group, so a Ctrl-C in the terminal reaches the supervisor alone
and a stop reaches grandchildren too. On Linux a process also gets SIGTERM when the supervisor dies.
"""

import ctypes
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType, TracebackType
from typing import IO, Any, Self

from chimera.probes import accepts, answers

TICK = 0.1
GRACE = 10.0
READY_DEADLINE = 90.0
LONGEST_BACKOFF = 30.0
HEALTHY_AFTER = 30.0
LINES_PER_TICK = 5
ALARM = re.compile(
    r"\b(WARNING|ERROR|CRITICAL)\b|\"level\": ?\"(warning|error|critical)\"|^[\w.]*(Error|Exception)\b"
)
_PR_SET_PDEATHSIG = 1


@dataclass(frozen=True)
class ProcessSpec:
    """One process: how it is started and when it counts as ready.

    ready: an http URL that answers 2xx, a port that accepts connections, or None (running is ready).
    once: it may end; it is started again only when it fails.
    """

    name: str
    argv: Sequence[str]
    env: Mapping[str, str] = field(default_factory=dict)
    ready: str | int | None = None
    port: int | None = None
    once: bool = False


class StackError(Exception):
    """The processes cannot run; the text says why and what to do."""


class Stopped(Exception):
    """Somebody asked the supervisor to stop."""


def _tie_to_parent() -> Callable[[], None] | None:
    """To run in the child before exec: SIGTERM when the parent dies. Linux only."""
    if not sys.platform.startswith("linux"):
        return None
    prctl = ctypes.CDLL(None).prctl
    return lambda: prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)


def spawn(argv: Sequence[str], env: Mapping[str, str], output: IO[Any]) -> subprocess.Popen[bytes]:
    """Start a process that leads a group of its own and writes everything to `output`."""
    return subprocess.Popen(
        list(argv),
        env={**os.environ, **env},
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=subprocess.STDOUT,
        process_group=0,
        preexec_fn=_tie_to_parent(),
    )


class Child:
    """A process under supervision, its log and its restarts."""

    def __init__(self, spec: ProcessSpec, log: Path) -> None:
        self.spec = spec
        self.log = log
        self.restarts = 0
        self.start_at = 0.0
        self.started_at = 0.0
        self.process: subprocess.Popen[bytes] | None = None
        log.touch()
        self.read_to = self.first_byte = log.stat().st_size

    def start(self) -> None:
        with self.log.open("ab") as output:
            self.process = spawn(self.spec.argv, self.spec.env, output)
        self.started_at = time.monotonic()

    def ended(self) -> int | None:
        """The exit status of a process that has ended since the last look; its group ends with it."""
        if self.process is None or not self._has_exited():
            return None
        self.signal(signal.SIGKILL)
        status = self.process.wait()
        self.process = None
        return status

    def _has_exited(self) -> bool:
        assert self.process is not None
        if not hasattr(os, "waitid"):
            return self.process.poll() is not None
        # WNOWAIT leaves the dead leader in place, so that its number still names only its own group.
        flags = os.WEXITED | os.WNOHANG | os.WNOWAIT
        return os.waitid(os.P_PID, self.process.pid, flags) is not None

    def ask_to_end(self) -> None:
        """SIGTERM to the process itself."""
        if self.process is not None:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(self.process.pid, signal.SIGTERM)

    def signal(self, number: int) -> None:
        """Send a signal to the whole group."""
        if self.process is not None:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self.process.pid, number)

    def backoff(self) -> float:
        """Seconds until the next start: 1, 2, 4 ... 30; half a minute of health resets it to 1."""
        if time.monotonic() - self.started_at > HEALTHY_AFTER:
            self.restarts = 0
        self.restarts += 1
        return min(LONGEST_BACKOFF, 2.0 ** min(self.restarts - 1, 10))

    def new_lines(self) -> list[str]:
        """Complete lines written to the log since the last call."""
        with self.log.open("rb") as log:
            log.seek(self.read_to)
            chunk = log.read()
        complete = chunk[: chunk.rfind(b"\n") + 1]
        self.read_to += len(complete)
        return complete.decode(errors="replace").splitlines()

    def last_words(self, count: int = 8) -> str:
        """The end of what this process wrote since the supervisor began."""
        with self.log.open("rb") as log:
            log.seek(self.first_byte)
            lines = log.read().decode(errors="replace").splitlines()
        return "\n".join(f"    {line}" for line in lines[-count:])

    def is_ready(self) -> bool:
        ready = self.spec.ready
        if isinstance(ready, int):
            return accepts(ready)
        return ready is None or answers(ready)


class Supervisor:
    """Use as a context: leaving it stops every process that it started."""

    def __init__(self, log_dir: Path, say: Callable[[str], None], grace: float = GRACE) -> None:
        self.log_dir = log_dir
        self.say = say
        self.grace = grace
        self.children: list[Child] = []
        self.stops_asked = 0
        self._handlers: dict[int, signal._HANDLER] = {}
        log_dir.mkdir(parents=True, exist_ok=True)

    def __enter__(self) -> Self:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            self._handlers[number] = signal.signal(number, self._ask_stop)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()
        for number, handler in self._handlers.items():
            signal.signal(number, handler)

    def _ask_stop(self, number: int, frame: FrameType | None) -> None:
        self.stops_asked = (
            self.stops_asked + 1 if number == signal.SIGINT else max(self.stops_asked, 1)
        )

    def start(self, specs: Sequence[ProcessSpec]) -> None:
        """Start the processes side by side and wait until all are ready."""
        self.await_ready(self.launch(specs))

    def launch(self, specs: Sequence[ProcessSpec]) -> list[Child]:
        """Start the processes side by side."""
        children = [Child(spec, self.log_dir / f"{spec.name}.log") for spec in specs]
        self.children += children
        for child in children:
            child.start()
        return children

    def await_ready(self, children: Sequence[Child]) -> None:
        """Wait until all are ready; StackError when one ends before or takes too long."""
        for child in children:
            self._await_ready(child)

    def _await_ready(self, child: Child) -> None:
        deadline = time.monotonic() + READY_DEADLINE
        while not child.is_ready():
            self._tick()
            status = child.ended()
            if status is not None:
                raise StackError(
                    self._failure(child, f"ended with status {status} before it was ready")
                )
            if time.monotonic() > deadline:
                raise StackError(
                    self._failure(child, f"was not ready within {READY_DEADLINE:.0f} s")
                )
        where = f" on port {child.spec.port}" if child.spec.port else ""
        seconds = time.monotonic() - child.started_at
        self.say(
            f"  {child.spec.name:<10} {'ready' if child.spec.ready else 'started'}{where}  {seconds:.1f} s"
        )

    def run_once(self, spec: ProcessSpec) -> None:
        """Run a preparing command to its end; a failure is a StackError."""
        child = Child(spec, self.log_dir / f"{spec.name}.log")
        self.children.append(child)
        child.start()
        while (status := child.ended()) is None:
            self._tick()
        self.children.remove(child)
        if status:
            raise StackError(self._failure(child, f"failed with status {status}"))
        self.say(f"  {spec.name:<10} done  {time.monotonic() - child.started_at:.1f} s")

    def _failure(self, child: Child, what: str) -> str:
        return (
            f"{child.spec.name} {what}; all of it is in {child.log}\n{child.last_words()}".rstrip()
        )

    def watch(self) -> None:
        """Stay with the processes until somebody asks to stop (Stopped)."""
        for child in self.children:
            child.new_lines()  # complaints of the start are no news any more; the log keeps them
        while True:
            self._tick()
            self.look_after_all()

    def look_after_all(self) -> None:
        """Pass on what the processes report and start again those that have died."""
        for child in self.children:
            self._relay(child)
            self._look_after(child)

    def _tick(self) -> None:
        if self.stops_asked:
            raise Stopped
        time.sleep(TICK)

    def _relay(self, child: Child) -> None:
        alarms = [line for line in child.new_lines() if ALARM.search(line)]
        for line in alarms[:LINES_PER_TICK]:
            self.say(f"{child.spec.name} | {line[:300]}")
        if len(alarms) > LINES_PER_TICK:
            self.say(f"{child.spec.name} | {len(alarms) - LINES_PER_TICK} more in {child.log}")

    def _look_after(self, child: Child) -> None:
        status = child.ended()
        if status is not None and not (child.spec.once and status == 0):
            wait = child.backoff()
            child.start_at = time.monotonic() + wait
            self.say(
                f"{child.spec.name} stopped (status {status}); starting it again in {wait:.0f} s, see {child.log}"
            )
        if child.start_at and time.monotonic() >= child.start_at:
            child.start_at = 0.0
            child.start()

    def stop(self) -> None:
        """SIGTERM to every leader, SIGKILL to its group after the grace time or at a second Ctrl-C.

        A leader ends its own children: a worker lets the jobs in hand finish first.
        """
        for child in reversed(self.children):
            child.ask_to_end()
        deadline = time.monotonic() + self.grace
        while self._alive() and time.monotonic() < deadline and self.stops_asked < 2:
            time.sleep(TICK)
        late = self._alive()
        for child in late:
            child.signal(signal.SIGKILL)
        while self._alive():
            time.sleep(TICK / 10)
        if late:
            self.say(f"killed: {', '.join(child.spec.name for child in late)}")

    def _alive(self) -> list[Child]:
        for child in self.children:
            child.ended()
        return [child for child in self.children if child.process]
