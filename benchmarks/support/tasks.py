"""The bare Celery task that skill calls are measured against; its result row is written by Celery."""

from celery import shared_task


@shared_task(name="benchmarks.noop", ignore_result=False)
def noop() -> None:
    """Do nothing."""
