"""The executions are the cache: the same input within the skill's time gets the same output again."""

from datetime import timedelta

from chimera.core.clock import now
from skills.contract import Skill, SkillResult
from skills.models import SkillExecution, Status

STALE_FOR = timedelta(days=1)


def _earlier(execution: SkillExecution) -> SkillExecution | None:
    """The newest earlier answer. One with files is none: they are that execution's alone."""
    found = (
        SkillExecution.objects.filter(
            skill=execution.skill,
            version=execution.version,
            input_hash=execution.input_hash,
            status=Status.COMPLETED,
            cached=False,
            completed_at__gte=now() - STALE_FOR,
        )
        .order_by("-completed_at")
        .first()
    )
    return None if found and found.artifacts else found


def _result(execution: SkillExecution) -> SkillResult:
    return SkillResult(output=execution.output, output_text=execution.output_text)


def lookup(skill: Skill, execution: SkillExecution) -> SkillResult | None:
    """The output of the same call within `cache_seconds`, or None; another one is wanted of a call anew."""
    if not skill.cache_seconds or execution.again:
        return None
    earlier = _earlier(execution)
    fresh = (
        earlier
        and earlier.completed_at
        and earlier.completed_at > now() - timedelta(seconds=skill.cache_seconds)
    )
    return _result(earlier) if earlier and fresh else None


def stale(skill: Skill, execution: SkillExecution) -> SkillResult | None:
    """The newest earlier output, however old within a day, for a skill whose source is down."""
    earlier = _earlier(execution)
    return _result(earlier) if earlier else None
