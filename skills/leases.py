"""Who runs what: claims with a lease that names the process, so that a dead one is noticed at once."""

import os
from datetime import timedelta
from uuid import UUID

from django.db import connection

from chimera.core.clock import now
from chimera.core.ids import new_id
from chimera.core.processes import host, is_gone, started
from skills.contract import Skill
from skills.models import SkillExecution, Status
from skills.services import deadline_of


def new_lease() -> str:
    """A lease of this process."""
    pid = os.getpid()
    return f"{host()}|{pid}|{started(pid)}|{new_id().hex}"


def holder_is_dead(lease: str) -> bool:
    """True when the lease names a process of this machine that is gone."""
    machine, pid, start, _ = lease.split("|")
    return machine == host() and is_gone(int(pid), start)


# Each by its name: a prepared statement breaks where `*` stands for more columns than when it was made.
_COLUMNS = ", ".join(str(field.column) for field in SkillExecution._meta.concrete_fields)
_CLAIM = f"""
UPDATE skills_skillexecution
SET status = 'running', lease = %(lease)s, lease_until = %(until)s, claims = claims + 1,
    started_at = COALESCE(started_at, %(moment)s), deadline_at = COALESCE(deadline_at, %(deadline)s)
WHERE id = %(id)s AND (
    status IN ('queued', 'retrying', 'outcome_unknown') AND due_at <= %(moment)s
    OR status = 'running' AND lease_until < %(moment)s)
RETURNING {_COLUMNS}, (SELECT enabled FROM agents_agent WHERE id = agent_id) AS agent_enabled
"""  # noqa: S608  the columns of our own model


def claim(execution_id: UUID, skill: Skill) -> SkillExecution | None:
    """Take the execution with one conditional update; None when it is not due or another has it."""
    moment, lease = now(), new_lease()
    until = moment + timedelta(seconds=skill.metadata.timeout_sec + 15)
    times = [
        connection.ops.adapt_datetimefield_value(t)
        for t in (moment, until, moment + deadline_of(skill))
    ]
    key = SkillExecution._meta.pk.get_db_prep_value(execution_id, connection)
    named = {"lease": lease, "moment": times[0], "until": times[1], "deadline": times[2], "id": key}
    return next(iter(SkillExecution.objects.raw(_CLAIM, named)), None)


def release_dead() -> list[SkillExecution]:
    """Give back what processes of this machine held when they died; returns what is due again."""
    running = SkillExecution.objects.filter(status=Status.RUNNING).only("id", "skill", "lease")
    released = []
    for execution in running[:1000]:
        if execution.lease and holder_is_dead(execution.lease):
            freed = SkillExecution.objects.filter(
                id=execution.id, status=Status.RUNNING, lease=execution.lease
            ).update(lease_until=now() - timedelta(seconds=1))
            released += [execution] if freed else []
    return released
