"""MCP tools as they were when they were accepted."""

from django.db import models
from django.utils import timezone

from chimera.core.ids import new_id
from chimera.core.models import ExactJSONField


class ToolPin(models.Model):
    """The accepted description of one tool of one server, and another one that waits for an administrator."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    server = models.CharField(max_length=100)
    tool = models.CharField(max_length=200)
    digest = models.CharField(max_length=64)
    listing = ExactJSONField()
    offered_digest = models.CharField(
        max_length=64, blank=True, help_text="Of a description that differs from the accepted one"
    )
    offered = ExactJSONField(null=True)
    accepted_by = models.CharField(max_length=200)
    accepted_at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["server", "tool"], name="tool_pinned_once")]

    def __str__(self) -> str:
        return f"{self.tool} of {self.server}"
