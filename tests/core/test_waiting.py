"""Who may hold a thread of the web process, and for how long."""

import contextlib
from uuid import uuid4

import pytest

from chimera.core.waiting import MAX_WAITS, granted_wait

ASKED = "respond-async, wait=7"


def test_a_fifth_wait_of_one_agent_is_answered_at_once_until_another_ends() -> None:
    agent, other = uuid4(), uuid4()
    with contextlib.ExitStack() as waits:
        held = [waits.enter_context(granted_wait(agent, ASKED)) for _ in range(MAX_WAITS)]
        with granted_wait(agent, ASKED) as fifth, granted_wait(other, ASKED) as elsewhere:
            assert (held, fifth, elsewhere) == ([7] * 4, 0, 7)

    with granted_wait(agent, ASKED) as later:
        assert later == 7


def test_a_wait_that_ends_in_an_error_is_given_back() -> None:
    agent = uuid4()
    for _ in range(MAX_WAITS + 1):
        with pytest.raises(RuntimeError), granted_wait(agent, ASKED) as seconds:
            assert seconds == 7
            raise RuntimeError


@pytest.mark.parametrize(("prefer", "seconds"), [("", 0), ("wait=0", 0), ("wait=999", 60)])
def test_a_wait_is_bounded(prefer: str, seconds: int) -> None:
    with granted_wait(uuid4(), prefer) as granted:
        assert granted == seconds
