"""How far a long job is: kept on its execution while it runs, and what it goes on from after a kill."""

from typing import Any

from chimera.core import capabilities
from chimera.core.errors import ChimeraError
from chimera.core.jsontext import plain
from skills.models import SkillExecution, Status


def keep(execution: SkillExecution, said: dict[str, Any]) -> None:
    """Keep `{fraction, message, state}`, if the execution is still ours. CONCURRENCY_ERROR."""
    held = SkillExecution.objects.filter(
        id=execution.id, status=Status.RUNNING, lease=execution.lease
    )
    with capabilities.aside():
        kept = held.update(progress=plain(said))
    if not kept:
        raise ChimeraError("CONCURRENCY_ERROR", "Another worker has taken this execution over")


def state_of(execution: SkillExecution) -> dict[str, Any] | None:
    """What an attempt that was cut short had left to go on from."""
    return execution.progress["state"] if execution.progress else None


def shown(execution: SkillExecution) -> dict[str, Any] | None:
    """The progress as the API shows it: fraction 0..1 and a message; None for a short job."""
    kept = execution.progress
    return {"fraction": kept["fraction"], "message": kept["message"]} if kept else None
