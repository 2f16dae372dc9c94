"""Finished executions stand in the audit log: a batch at a time, so that the hot path has no single writer."""

from collections.abc import Iterator

from django.db import transaction

from chimera.core import audit
from chimera.core.clock import iso
from chimera.core.digest import digest
from chimera.core.models import AuditEntry
from skills.models import SkillExecution

BATCH = 500
ACTION = "executions.sealed"


def execution_digest(execution: SkillExecution) -> str:
    """Digest over what an execution was and what became of it."""
    return digest(
        {
            "id": execution.id,
            "skill": execution.skill,
            "version": execution.version,
            "agent_id": execution.agent_id,
            "status": execution.status,
            "input_hash": execution.input_hash,
            "output_hash": execution.output_hash,
            "error": execution.error,
            "completed_at": iso(execution.completed_at),
        }
    )


def seal() -> int:
    """Seal one batch of finished executions; how many."""
    with transaction.atomic():
        open_ones = SkillExecution.objects.filter(completed_at__isnull=False, seal__isnull=True)
        batch = list(
            open_ones.select_for_update(skip_locked=False).order_by("completed_at")[:BATCH]
        )
        if not batch:
            return 0
        digests = {str(execution.id): execution_digest(execution) for execution in batch}
        entry = audit.record(
            actor="system:executions",
            action=ACTION,
            object_type="executions",
            object_id=len(batch),
            data={"digests": digests},
        )
        SkillExecution.objects.filter(id__in=[execution.id for execution in batch]).update(
            seal=entry.sequence
        )
    return len(batch)


def problems() -> Iterator[str]:
    """Executions that were changed or removed after they had been sealed."""
    for entry in (
        AuditEntry.objects.filter(action=ACTION).order_by("sequence").iterator(chunk_size=50)
    ):
        sealed = entry.data["digests"]
        found = {
            str(execution.id): execution
            for execution in SkillExecution.objects.filter(id__in=list(sealed))
        }
        for execution_id, kept in sealed.items():
            execution = found.get(execution_id)
            if execution is None:
                yield f"execution {execution_id} of entry {entry.sequence} was removed"
            elif execution_digest(execution) != kept:
                yield f"execution {execution_id} of entry {entry.sequence} was changed"
