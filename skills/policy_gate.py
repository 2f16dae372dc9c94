"""Where every call passes the policy: in the worker that has claimed it, before the skill runs."""

from uuid import UUID

from django.conf import settings
from django.db.models import Q

from approvals.models import ApprovalRequest
from approvals.questions import question_open
from chimera.core.errors import ChimeraError
from skills import policy_rules
from skills.catalogue import registry
from skills.contract import CostClass, GatedSkill, Skill
from skills.gating import Blocked
from skills.models import SkillExecution, Status
from skills.policy import Verdict, decide

STEP = "policy"
"""Names the question of the policy among an execution's questions."""
DAY = 86_400_000
"""Milliseconds."""


def pass_policy(execution: SkillExecution, skill: Skill, *, free: bool) -> None:
    """Return where the call may run.

    free: it is answered from the cache and costs nothing. Blocked: a person is asked first (a
    GatedSkill asks by itself, for exactly what it will do). SECURITY_VIOLATION: it is denied.
    """
    try:
        rule = policy_rules.rules().get(skill.name)
        within = free or within_budget(execution, skill)
        verdict = decide(skill.metadata, rule, within_budget=within)
    except (policy_rules.Unusable, ValueError) as problem:
        why = f"The approval policy cannot be evaluated, so nothing runs: {problem}"
        raise ChimeraError("SECURITY_VIOLATION", why) from None
    if verdict is Verdict.DENY:
        raise ChimeraError("SECURITY_VIOLATION", f"The approval policy denies {skill.name}")
    if verdict is Verdict.ASK and not isinstance(skill, GatedSkill) and not _agreed(execution.id):
        raise Blocked(_ask(execution, skill, within))


def within_budget(execution: SkillExecution, skill: Skill) -> bool:
    """Whether the agent has begun fewer expensive calls of this one's day (UTC) than it may.

    A call counts for the day it came on, however long it waits. The claims of all of them are
    committed before one of them counts, so two that run at once never both take the last place.
    """
    if skill.metadata.cost_class is not CostClass.EXPENSIVE:
        return True
    limit = settings.CHIMERA.chimera_expensive_calls_per_day
    return begun_that_day(execution) < limit


def begun_that_day(execution: SkillExecution) -> int:
    """Other expensive calls of the agent that came on the day of this one (UTC) and have begun.

    One that has only been asked about has not; one that a person was asked about after it ran has.
    """
    dear = {each.name for each in registry.all() if each.metadata.cost_class is CostClass.EXPENSIVE}
    came = execution.id.int >> 80  # milliseconds: ids sort by time, and are indexed with the agent
    first = came - came % DAY
    begun = SkillExecution.objects.filter(
        agent_id=execution.agent_id,
        id__gte=UUID(int=first << 80),
        id__lt=UUID(int=(first + DAY) << 80),
        skill__in=dear,
        started_at__isnull=False,
        cached=False,
    )
    only_asked = Q(status=Status.BLOCKED, error__isnull=True)
    return begun.exclude(id=execution.id).exclude(only_asked).count()


def _agreed(execution_id: UUID) -> bool:
    given = ApprovalRequest.objects.filter(consumed_by=execution_id, revoked_at__isnull=True)
    return given.filter(action__step=STEP).exists()


def _ask(execution: SkillExecution, skill: Skill, within: bool) -> ApprovalRequest:
    metadata = skill.metadata
    why = (
        f"its risk is {metadata.risk_level}"
        if within
        else f"the agent has used up its {settings.CHIMERA.chimera_expensive_calls_per_day} "
        "expensive calls of today"
    )
    return question_open(
        agent=execution.agent,
        run_id=execution.id,
        workflow=execution.skill,
        step=STEP,
        question=f"May {execution.agent.name} call {skill.name}? Asked because {why}.",
        shown={"skill": f"{skill.name}@v{execution.version}", "input": execution.input},
    )
