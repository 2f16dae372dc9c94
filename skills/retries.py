"""When to try again: the retry table of the specification, read in one place."""

import random

from chimera.core.clock import now
from chimera.core.errors import ChimeraError
from skills.contract import Skill
from skills.models import SkillExecution

UNKNOWN_WAITS = (2, 3, 5, 10, 20, 40, 60)


def happens_each_time(skill: Skill) -> bool:
    """Whether every attempt may cause the effect once more."""
    return skill.metadata.side_effects and not skill.metadata.idempotent


def retry_in(execution: SkillExecution, skill: Skill, error: ChimeraError) -> float | None:
    """Seconds until the next attempt, or None when there is none.

    A skill whose effect happens each time is never tried again, whatever went wrong. Of any other an
    unknown outcome is looked up for as long as it takes.
    """
    if happens_each_time(skill):
        return None
    if error.code == "OUTCOME_UNKNOWN":
        usual = UNKNOWN_WAITS[min(execution.claims - 1, len(UNKNOWN_WAITS) - 1)]
        return max(usual, error.backoff_sec or 0)
    if (
        not error.retryable
        or error.code not in skill.retry.codes
        or execution.retry_count >= skill.retry.retries
    ):
        return None
    wait = max(2**execution.retry_count + random.random(), error.backoff_sec or 0)  # noqa: S311  jitter, not a secret
    left = (execution.deadline_at - now()).total_seconds() if execution.deadline_at else wait
    return wait if wait <= left else None
