"""kill -9 of web, scheduler and of everything at once; Ctrl-C and a second start on the same data."""

import random
import time

import pytest

from chimera.probes import is_free
from tests.helpers.books import books_of
from tests.helpers.campaigns import (
    Told,
    assert_one_post_and_one_debit,
    meanwhile,
    new_campaign,
    run_to_end,
    wait_for,
)
from tests.helpers.processes import wait_until_gone
from tests.helpers.stack import Stack

pytestmark = [pytest.mark.chaos, pytest.mark.req("X3")]
VICTIMS = ("worker", "web", "scheduler", "everything")
LONGEST_WAIT = 8.0  # about as long as a journey takes


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "moment" in metafunc.fixturenames:
        count = 16 if metafunc.config.option.chaos_long else 1
        metafunc.parametrize("moment", range(count))


def test_web_and_scheduler_killed_during_a_journey_are_restarted_and_it_ends_once(
    stack: Stack,
) -> None:
    before, pids, told = books_of(stack), stack.pids(), Told()

    def strike() -> None:
        wait_for(told, "generate_content")
        stack.kill("web")
        stack.kill("scheduler")

    with meanwhile(strike):
        settled = run_to_end(stack, told)
    for name in ("web", "scheduler"):
        assert stack.await_restart(name, pids[name]) != pids[name]
        assert f"{name} stopped (status -9); starting it again" in stack.said()
    assert_one_post_and_one_debit(stack, before, settled)


def test_everything_killed_at_once_goes_on_after_the_next_start(stack: Stack) -> None:
    before, told, campaign = books_of(stack), Told(), new_campaign(stack)
    everything = stack.tree()

    def strike() -> None:
        wait_for(told, "publish_content")  # the payment is signed and on its way
        stack.kill_everything()
        assert wait_until_gone(everything) == []
        stack.start()

    with meanwhile(strike):
        settled = run_to_end(stack, told, campaign)
    assert_one_post_and_one_debit(stack, before, settled)


def test_anything_killed_at_a_random_moment_leaves_one_post_and_one_debit(
    stack: Stack, moment: int, pytestconfig: pytest.Config
) -> None:
    chance = random.Random(f"{pytestconfig.option.chaos_seed} {moment}")
    victim, wait = chance.choice(VICTIMS), chance.uniform(0, LONGEST_WAIT)
    before, told = books_of(stack), Told()

    def strike() -> None:
        time.sleep(wait)
        told("struck", f"{victim} after {wait:.2f} s")
        if victim != "everything":
            stack.kill(victim)
            return
        stack.kill_everything()
        stack.start()

    with meanwhile(strike):
        settled = run_to_end(stack, told)
    assert_one_post_and_one_debit(stack, before, settled)


def test_ctrl_c_leaves_no_process_and_no_port_and_the_next_start_goes_on(stack: Stack) -> None:
    before, everything = books_of(stack), stack.tree()
    assert stack.interrupt() == 0
    assert wait_until_gone(everything, seconds=1) == []
    assert all(is_free(stack.port + step) for step in range(4))
    assert stack.said().rstrip().endswith("Stopped")
    stack.start()
    assert books_of(stack) == before
