"""Which queue a call waits in, and whether a worker is there for it.

A worker that takes from the queue `gpu` says so every 15 seconds in the cache that all processes share;
a minute of silence means that there is none. Workers of the queue `default` are not asked about: every
deployment has one, and a call may wait for it.
"""

from typing import Any

from celery.signals import worker_ready
from django.core.cache import cache

from chimera.core.clock import iso, now
from chimera.core.errors import ChimeraError
from skills.contract import Skill

GPU = "gpu"
SAY_EVERY, SILENCE = 15, 60


def queue_of(skill: Skill) -> str:
    """The Celery queue that the skill's executions are hinted in."""
    return GPU if skill.metadata.requires_gpu else skill.queue


def require_worker(skill: Skill) -> None:
    """RESOURCE_UNAVAILABLE where the skill needs a graphics processor and no worker has one."""
    if skill.metadata.requires_gpu and cache.get(_key(GPU)) is None:
        message = f"{skill.name} needs a worker of the queue {GPU}; none is running"
        raise ChimeraError("RESOURCE_UNAVAILABLE", message)


def announce(queue: str) -> None:
    """Say that a worker takes from the queue."""
    cache.set(_key(queue), iso(now()), timeout=SILENCE)


def _announce_gpu(sender: Any, **_: Any) -> None:
    """Say it now and from then on, in the worker's own timer, if this one takes from `gpu`."""
    if GPU in sender.app.amqp.queues.consume_from:
        announce(GPU)
        sender.timer.call_repeatedly(SAY_EVERY, announce, (GPU,))


worker_ready.connect(_announce_gpu)


def _key(queue: str) -> str:
    return f"chimera.queue.{queue}"
