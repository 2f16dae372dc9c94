"""Admin of pinned tools: to look at, and to accept a change."""

from typing import Any

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest

from chimera.core.admin import ReadOnlyAdmin
from chimera.core.errors import ChimeraError
from skills.mcp.models import ToolPin
from skills.mcp.pins import tool_accept


@admin.register(ToolPin)
class ToolPinAdmin(ReadOnlyAdmin):
    list_display = ["tool", "server", "waits", "digest", "offered_digest", "accepted_by"]
    list_filter = ["server"]
    search_fields = ["tool", "server"]
    actions = ["accept"]

    @admin.display(boolean=True, description="change waits")
    def waits(self, pin: ToolPin) -> bool:
        return bool(pin.offered_digest)

    def has_accept_permission(self, request: HttpRequest) -> bool:
        """Those whom the administration lets change tools."""
        return request.user.has_perm("skills.change_toolpin")

    @admin.action(description="Accept the changed description", permissions=["accept"])
    def accept(self, request: HttpRequest, queryset: QuerySet[Any]) -> None:
        for pin in queryset.exclude(offered_digest=""):
            try:
                tool_accept(
                    pin_id=pin.id,
                    offered_digest=pin.offered_digest,
                    actor=f"person:{request.user.pk}",
                )
            except ChimeraError as problem:
                self.message_user(request, problem.message, messages.ERROR)
            else:
                self.message_user(request, f"{pin} is accepted as it is now")
