"""Celery tasks of workflows. Each may be lost or doubled without harm."""

import logging
from functools import partial
from uuid import UUID

from celery import shared_task
from django.db import InterfaceError, OperationalError

from chimera.core.clock import now
from skills.chaining import follow
from skills.workflows.engine import advance, runs_to_look_at
from skills.workflows.scheduled import start_scheduled

log = logging.getLogger("chimera.workflows")


@shared_task(name="workflows.advance", soft_time_limit=60, time_limit=70)
def advance_run(run_id: str) -> None:
    """Walk one run as far as it goes now, and do the step that it begins."""
    follow(partial(advance, UUID(run_id)))


@shared_task(name="workflows.sweep")
def sweep() -> None:
    """Start what is scheduled; walk what is due and what nobody was told of."""
    start_scheduled(now())
    for run_id in runs_to_look_at(now()):
        try:
            advance(run_id)
        except (OperationalError, InterfaceError) as problem:
            log.warning("run %s is walked again later: %s", run_id, problem)
