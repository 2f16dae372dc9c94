"""The rules in bounded time: a rule that fails or does not end never passes as "nothing found".

The rules run in a thread of their own. They look only at what they were given, so a thread that is
left behind changes nothing; it stops at its next finding or rule.
"""

import logging
import threading
from collections.abc import Sequence
from contextvars import copy_context
from dataclasses import dataclass, field
from functools import partial

from content.validation.issue import Issue
from content.validation.rules import Rule, in_order

log = logging.getLogger("chimera.validation")
SECONDS = 4.0
"""For all rules together: below the 5 s of the skill, with room to keep the verdict."""


@dataclass
class Run:
    """What the rules have found so far. failed: the rules that could not run; at_work: the rule that
    had not ended when the time was over."""

    found: list[Issue] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    at_work: str = ""
    ended: threading.Event = field(default_factory=threading.Event)
    stopped: threading.Event = field(default_factory=threading.Event)

    @property
    def in_time(self) -> bool:
        """Every rule has ended, with findings or with a failure."""
        return not self.at_work

    @property
    def issues(self) -> list[Issue]:
        """The findings so far, errors first, then one error for every rule that did not end well."""
        lost = [(name, "could not run") for name in self.failed]
        late = [(self.at_work, "did not end in time")] if self.at_work else []
        return in_order([*self.found, *(_unchecked(name, why) for name, why in lost + late)])


def _unchecked(name: str, why: str) -> Issue:
    return Issue(
        rule=name,
        severity="error",
        message=f"the rule {name.replace('_', ' ')} {why}; nothing it looks for was ruled out",
        field="content",
    )


def run(rules: Sequence[Rule], *, seconds: float = SECONDS) -> Run:
    """Run every rule, also after one that fails; give up after `seconds`."""
    state = Run(at_work=rules[0][0] if rules else "")
    work = partial(
        copy_context().run, _work, rules, state
    )  # the limits of the skill hold there too
    threading.Thread(target=work, name="validation", daemon=True).start()
    if state.ended.wait(max(0.0, seconds)):
        return state
    state.stopped.set()
    return Run(found=list(state.found), failed=list(state.failed), at_work=state.at_work)


def _work(rules: Sequence[Rule], state: Run) -> None:
    for name, check in rules:
        state.at_work = name
        try:
            for issue in check():
                if state.stopped.is_set():
                    return
                state.found.append(issue)
        except Exception:  # whatever a rule raises, it has not cleared the text
            log.error("the rule %s could not run", name, exc_info=True)
            state.failed.append(name)
        if state.stopped.is_set():
            return
    state.at_work = ""
    state.ended.set()
