"""The Celery application. Time limits hold only in the prefork pool, so a worker refuses another."""

import importlib
import os
from typing import Any

from celery import Celery
from celery.exceptions import ImproperlyConfigured
from celery.signals import celeryd_init, worker_init, worker_process_shutdown, worker_ready

from chimera.core import tracing

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "chimera.settings")
app = Celery("chimera")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks(["skills", "content"])


@celeryd_init.connect
def refuse_pools_without_time_limits(sender: str, instance: Any, options: Any, **_: Any) -> None:
    """Stop the start of a worker whose pool would let a hanging skill run for ever."""
    pool = str((options or {}).get("pool") or "prefork")
    if "prefork" not in pool:
        raise ImproperlyConfigured(
            f"The pool {pool} does not enforce time limits; start the worker with --pool prefork"
        )


@worker_init.connect
def load_what_jobs_need(**_: Any) -> None:
    """Import the heavy libraries before the pool forks: once, shared, not inside a job's time limit."""
    for module in ("web3", "eth_account", "mcp", "httpx2"):
        importlib.import_module(module)


@worker_process_shutdown.connect
def send_the_last_spans(**_: Any) -> None:
    """A process of the pool ends without its exit handlers."""
    tracing.flush()


@worker_ready.connect
def say_that_it_works(**_: Any) -> None:
    """The first heartbeat, so that /readyz need not wait for the scheduler's."""
    app.send_task("skills.heartbeat", expires=30)
