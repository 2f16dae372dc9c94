"""kill -9 of the worker in the middle of each step: one post and one debit, every time.

The short run draws by --chaos-seed; `make chaos` takes every point, alone and with its whole group.
"""

import random

import pytest

from tests.chaos.points import DEBIT, POINTS, PUBLISH, READING, WORKFLOW
from tests.helpers.books import books_of
from tests.helpers.campaigns import Told, assert_one_post_and_one_debit, run_to_end
from tests.helpers.stack import Stack

pytestmark = [pytest.mark.chaos, pytest.mark.req("X3")]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    chance = random.Random(metafunc.config.option.chaos_seed)
    long = metafunc.config.option.chaos_long
    if "point" in metafunc.fixturenames:
        metafunc.parametrize(
            "point", POINTS if long else [chance.choice(PUBLISH), chance.choice(DEBIT)]
        )
    if "points" in metafunc.fixturenames:
        metafunc.parametrize("points", [POINTS if long else draw(chance)], ids=["drawn"])


def draw(chance: random.Random) -> list[str]:
    """Points of every kind, so that a short run sees each kind of step."""
    return [
        chance.choice(WORKFLOW),
        *chance.sample(READING, 2),
        *chance.sample(PUBLISH, 3),
        *chance.sample(DEBIT, 3),
    ]


def test_whole_worker_killed_at_a_point_leaves_one_post_and_one_debit(
    stack: Stack, point: str
) -> None:
    before, worker = books_of(stack), stack.pids()["worker"]
    stack.arm(point, "group")
    told = Told()
    settled = run_to_end(stack, told)
    assert not stack.unreached([point]), f"{point} was never reached:\n{told}"
    assert stack.await_restart("worker", worker) != worker
    assert_one_post_and_one_debit(stack, before, settled)


def test_one_journey_that_loses_its_process_at_many_points_ends_once(
    stack: Stack, points: list[str]
) -> None:
    before = books_of(stack)
    for point in points:
        stack.arm(point, "process")
    told = Told()
    settled = run_to_end(stack, told)
    # Who dies after the broadcast may find the payment mined and need not send it once more.
    sure = [
        point for point in points if (point, "debit.broadcast" in points) != ("debit.sent", True)
    ]
    assert stack.unreached(sure) == [], f"not reached:\n{told}"
    assert_one_post_and_one_debit(stack, before, settled)
