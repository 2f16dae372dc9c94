"""kill -9 at the step boundaries of workflows while many runs walk: none is lost, no step is doubled.

A run is a step, a question to a person, a step. `make test` has a few of them and a kill at every point;
`make chaos` has 200, with kills at every point, of a process and of the whole worker, of web, scheduler
and everything at once, again and again while there are runs on their way.
"""

import itertools
import json
import random
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterable

import pytest

from tests.helpers.stack import ROOT, Stack

pytestmark = [pytest.mark.chaos, pytest.mark.req("X3", "W6")]
POINTS = ("echo.claimed", "echo.executed", "echo.saved", "workflow.walked", "workflow.saved")
SHORT, LONG = 6, 200


def test_runs_that_lose_their_processes_at_every_boundary_end_once(
    stack: Stack, pytestconfig: pytest.Config, capsys: pytest.CaptureFixture[str]
) -> None:
    seed, long = pytestconfig.option.chaos_seed, pytestconfig.option.chaos_long
    chance, count = random.Random(f"{seed} workflows"), LONG if long else SHORT
    over, kills = threading.Event(), Counter[str]()
    killer = threading.Thread(target=strike, args=(stack, plan(chance, long), over, kills))
    killer.start()
    try:
        found = walk(stack, count)
    finally:
        over.set()
        killer.join()
    with capsys.disabled():
        told = f"workflows: {count} runs, killed {dict(kills)}, --chaos-seed={seed}: {found}"
        sys.stdout.write(f"\n{told}\n")

    assert {point for point in POINTS if kills[f"{point} process"]} == set(POINTS)
    assert found["status"] == {"completed": count}, "lost"
    assert found["calls_per_run"] == {"2": count} and found["asked"] == count, "doubled"
    assert found["outputs"] == {"two": count} and found["calls_not_completed"] == 0


def plan(chance: random.Random, long: bool) -> Iterable[tuple[str, str]]:
    """Who is killed where: (point, scope), or (a process of the platform, "now")."""
    alone = [(point, "process") for point in chance.sample(POINTS, len(POINTS))]
    if not long:
        return alone
    whole = [(point, "group") for point in POINTS]
    others = [(name, "now") for name in ("web", "scheduler", "everything")]
    # Mostly one process: a whole worker that dies often is started again after ever longer waits.
    every = alone * 8 + whole + others
    rounds = (chance.sample(every, len(every)) for _ in itertools.count())
    return itertools.chain(alone, itertools.chain.from_iterable(rounds))


def strike(
    stack: Stack, victims: Iterable[tuple[str, str]], over: threading.Event, kills: Counter[str]
) -> None:
    """Kill one after the other until it is over."""
    for victim, scope in victims:
        if scope == "now":
            _kill(stack, victim)
        else:
            stack.arm(victim, scope)
            while stack.unreached([victim]):
                if over.wait(0.02):
                    return
            stack.disarm()
        kills[f"{victim} {scope}"] += 1
        if over.is_set():
            return


def _kill(stack: Stack, victim: str) -> None:
    if victim == "everything":
        stack.kill_everything()
        stack.start()
    else:
        before = stack.pids()[victim]
        stack.kill(victim)
        stack.await_restart(victim, before)


def walk(stack: Stack, count: int) -> dict[str, object]:
    """Begin the runs, sign their questions, and count what has become of them."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.chaos.workflow_runs", str(count)],
        cwd=ROOT,
        env=stack.environment(),
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return dict(json.loads(done.stdout.splitlines()[-1]))
