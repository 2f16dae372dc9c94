"""A worker does at once what it alone has woken, instead of sending itself a message.

A workflow of short steps then goes from one wait to the next in one process. Whatever dies on the way
loses a hint and nothing else: the sweep finds the rows.
"""

from collections.abc import Callable
from functools import partial
from time import monotonic
from uuid import UUID

from chimera.core import hints
from skills import runner
from skills.services import ADVANCE_TASK, RUN_TASK
from skills.workflows.engine import advance

SECONDS = 20.0
"""How long a chain may go on that a message without a time limit of its own has begun."""
SLACK = 3.0
"""What the soft limit of a message adds to that of its skill."""


def follow(work: Callable[[], object], seconds: float = SECONDS) -> None:
    """Do the work, then what it wakes, one after the other, as long as each fits into the seconds.

    Of several that are woken together all but the last go to other workers.
    """
    until = monotonic() + seconds
    following: Callable[[], object] | None = work
    while following is not None:
        with hints.kept() as woken:
            following()
        following = _in_place(woken[-1], until - monotonic()) if woken else None
        for hint in woken[:-1] if following else woken:
            hints.send(hint)


def _in_place(hint: hints.Hint, left: float) -> Callable[[], object] | None:
    """The hint as a call, where this process may make it and it ends in time."""
    needs = float(hint.options.get("soft_time_limit", SLACK)) - SLACK
    elsewhere = hint.options.get("queue", "default") != "default" or "countdown" in hint.options
    if elsewhere or needs > left:
        return None
    if hint.task == ADVANCE_TASK:
        return partial(advance, UUID(hint.args[0]))
    if hint.task == RUN_TASK:
        return partial(runner.run, UUID(hint.args[0]), *hint.args[1:])
    return None
