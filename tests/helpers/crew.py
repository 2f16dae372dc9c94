"""Several processes at once, of which one alone sets Django up and forks the others.

`python -m tests.helpers.crew MODULE` reads lines of JSON: a list of arguments for each of the processes
that run `main` of the module at once. The answer is a line of JSON with the exit status and the output
of each. `crew` starts it from a test.
"""

import importlib
import json
import os
import signal
import subprocess
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import django

ROOT = Path(__file__).parents[2]
PATIENCE = 300
AtOnce = Callable[..., list[Any]]


@contextmanager
def crew(module: str, env: Mapping[str, str]) -> Iterator[AtOnce]:
    """`at_once(*arguments, count=4)` -> the lines that all printed; AssertionError when one fails.

    With `each=[...]` every process has a last argument of its own; with `status=` all must end with it.
    """
    command = [sys.executable, "-m", __name__, module]
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(command, cwd=ROOT, env=env, text=True, **pipes) as process:

        def at_once(
            *arguments: Any, count: int = 1, each: Sequence[str] = (), status: int = 0
        ) -> list[str]:
            shared = [str(argument) for argument in arguments]
            jobs = [[*shared, own] for own in each] or [shared] * count
            process.stdin.write(json.dumps(jobs) + "\n")
            process.stdin.flush()
            ended = json.loads(process.stdout.readline())
            assert all(end == status for end, _ in ended), ended
            return [line for _, printed in ended for line in printed.splitlines()]

        yield at_once


# --- in the processes -------------------------------------------------------------------------


def serve(work: Callable[..., None]) -> None:
    """Until there is no more to do."""
    for line in sys.stdin:
        running = [fork(work, arguments) for arguments in json.loads(line)]
        ended = [(os.fdopen(output).read(), os.waitpid(pid, 0)[1]) for pid, output in running]
        answer = [(os.waitstatus_to_exitcode(status), printed) for printed, status in ended]
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


def fork(work: Callable[..., None], arguments: list[str]) -> tuple[int, int]:
    """The number of a new process, and where its output can be read."""
    ours, theirs = os.pipe()
    pid = os.fork()
    if pid:
        os.close(theirs)
        return pid, ours
    status = 1
    try:
        signal.alarm(PATIENCE)
        os.dup2(theirs, sys.stdout.fileno())
        os.close(theirs)
        work(*arguments)
        sys.stdout.flush()
        status = 0
    except BaseException:  # noqa: BLE001  a fork must never go on as its parent
        traceback.print_exc()
    os._exit(status)


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "chimera.settings")
    django.setup()
    serve(importlib.import_module(sys.argv[1]).main)
