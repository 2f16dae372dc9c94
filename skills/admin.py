"""Admin of executions: to look at."""

from django.contrib import admin

from chimera.core.admin import ReadOnlyAdmin
from skills.mcp.admin import ToolPinAdmin
from skills.models import SkillExecution
from skills.workflows.admin import StandInAdmin, StoredWorkflowAdmin, WorkflowRunAdmin

__all__ = [
    "SkillExecutionAdmin",
    "StandInAdmin",
    "StoredWorkflowAdmin",
    "ToolPinAdmin",
    "WorkflowRunAdmin",
]


@admin.register(SkillExecution)
class SkillExecutionAdmin(ReadOnlyAdmin):
    list_display = [
        "created_at",
        "skill",
        "version",
        "agent",
        "status",
        "retry_count",
        "duration_ms",
        "cached",
    ]
    list_filter = ["status", "skill"]
    search_fields = ["id", "trace_id"]
    exclude = ["lease"]
