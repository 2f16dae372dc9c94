"""Runs that start by themselves."""

import logging
from datetime import datetime
from uuid import UUID

from django.db import transaction

from chimera.core.errors import ChimeraError
from skills.workflows.definition import Definition
from skills.workflows.models import StoredWorkflow, WorkflowRun
from skills.workflows.services import run_start

log = logging.getLogger("chimera.workflows")


def start_scheduled(moment: datetime) -> list[UUID]:
    """Start what is due by its schedule, each occasion once; missed occasions are one run.

    An occasion whose run may not start (the agent lacks a role by now) is passed over.
    """
    due = StoredWorkflow.objects.filter(enabled=True, next_at__lte=moment, agent__enabled=True)
    started = [_start(stored, moment) for stored in due.select_related("agent")[:100]]
    return [run.id for run in started if run]


def _start(stored: StoredWorkflow, moment: datetime) -> WorkflowRun | None:
    definition = Definition.model_validate(stored.definition)
    assert definition.schedule and stored.agent  # next_at is set only with both
    with transaction.atomic():
        mine = StoredWorkflow.objects.filter(id=stored.id, next_at=stored.next_at)
        if not mine.update(next_at=definition.schedule.next(moment)):
            return None
        try:
            return run_start(
                agent=stored.agent, definition=definition, data=definition.schedule.input
            )
        except ChimeraError as problem:
            log.warning("%s was not started: %s", stored, problem)
            return None
