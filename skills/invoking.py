"""Call a skill from Python, through the same pipeline as every other door."""

import time
from typing import Any

from agents.models import Agent
from chimera.core.clock import now
from chimera.core.errors import ChimeraError
from skills import runner
from skills.catalogue import registry
from skills.models import FINAL, Status
from skills.services import submit


def invoke(name: str, *, agent: Agent, **params: Any) -> Any:
    """The output of a skill. Bad input raises pydantic.ValidationError, anything else SkillError.

    A blocked execution raises FORBIDDEN with details {execution_id, approval_id}: pick its result up
    through the API once a person has decided.
    """
    skill = registry.get(name)
    elsewhere = skill.metadata.requires_gpu
    try:
        made = submit(agent=agent, skill_name=name, data=params, wake=elsewhere)
    except ChimeraError as problem:
        if problem.errors is not None:
            skill.input_model.model_validate(params)
        raise
    execution = made.execution
    while execution.status not in FINAL and execution.status != Status.BLOCKED:
        time.sleep(max(0.1 if elsewhere else 0.0, (execution.due_at - now()).total_seconds()))
        if not elsewhere:
            runner.run(execution.id)
        execution.refresh_from_db()
    if execution.status == Status.COMPLETED:
        return execution.output
    if execution.status == Status.BLOCKED:
        details = {"execution_id": str(execution.id), "approval_id": str(execution.approval_id)}
        raise ChimeraError("FORBIDDEN", "A person must approve this first", details=details)
    kept = execution.error or {}
    raise ChimeraError(
        kept.get("code", "INTERNAL_ERROR"), kept.get("message", ""), details=kept.get("details")
    )
