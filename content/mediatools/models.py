"""Orders at the media providers: what was ordered is known before it can have been bought."""

from django.db import models


class MediaOrder(models.Model):
    """One order of a caller for one prompt.

    new -> sent -> running (the provider's task is known) -> done | failed. An order that stays `sent`
    may have been bought without our knowing: it is never sent again. A provider that said no, and
    could not have begun, brings it back to new.
    """

    class State(models.TextChoices):
        NEW = "new"
        SENT = "sent"
        RUNNING = "running"
        DONE = "done"
        FAILED = "failed"

    key = models.CharField(max_length=64, primary_key=True)
    tool = models.CharField(max_length=20)
    state = models.CharField(max_length=10, choices=State, default=State.NEW)
    task_id = models.CharField(max_length=100, blank=True)
    tasks = models.PositiveSmallIntegerField(default=0, help_text="How many were ordered")
    result = models.JSONField(null=True)
    failure = models.JSONField(null=True)
    created_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return f"{self.tool} {self.key[:12]} {self.state}"
