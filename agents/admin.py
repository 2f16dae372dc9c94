"""Admin of agents, personas, campaigns and credentials."""

from typing import Any

from django import forms
from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest
from simple_history.admin import SimpleHistoryAdmin
from unfold.forms import ActionForm

from agents.models import Agent, Campaign, Credential, Persona
from agents.roles import Status
from agents.states import agent_change, agent_state_update
from chimera.core.admin import AuditedAdmin, ReadOnlyAdmin
from chimera.core.errors import ChimeraError


class ReasonForm(ActionForm):
    """The action and why a person takes it."""

    reason = forms.CharField(label="Reason", required=False, max_length=500)


@admin.register(Agent)
class AgentAdmin(SimpleHistoryAdmin, AuditedAdmin):
    list_display = [
        "name",
        "type",
        "status",
        "enabled",
        "last_heartbeat",
        "tasks_succeeded",
        "tasks_failed",
    ]
    list_filter = ["type", "status", "enabled"]
    search_fields = ["name", "id"]
    readonly_fields = ["status", "status_reason"]
    action_form = ReasonForm
    actions = ["set_active", "set_paused", "set_error"]
    fields = [
        "name",
        "type",
        "capabilities",
        "status",
        "status_reason",
        "enabled",
        "owner",
        "max_concurrent_tasks",
        "supported_platforms",
        "pricing",
    ]

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Agents are made by `manage.py create_agent`, which gives them a persona and credentials."""
        return False

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        """Write what was changed and nothing else: agents go on working meanwhile."""
        names = sorted(form.changed_data)
        if not names:
            return
        agent_change(
            seen=Agent.objects.get(id=obj.id),
            changes={name: getattr(obj, name) for name in names},
            actor=f"person:{request.user.pk}",
            action="admin.changed",
            data={"fields": names},
        )

    @admin.action(description="Set to active (with a reason)", permissions=["change"])
    def set_active(self, request: HttpRequest, queryset: QuerySet[Agent]) -> None:
        self._set_status(request, queryset, Status.ACTIVE)

    @admin.action(description="Pause (with a reason)", permissions=["change"])
    def set_paused(self, request: HttpRequest, queryset: QuerySet[Agent]) -> None:
        self._set_status(request, queryset, Status.PAUSED)

    @admin.action(description="Mark as error (with a reason)", permissions=["change"])
    def set_error(self, request: HttpRequest, queryset: QuerySet[Agent]) -> None:
        self._set_status(request, queryset, Status.ERROR)

    def _set_status(self, request: HttpRequest, agents: QuerySet[Agent], status: Status) -> None:
        reason = request.POST.get("reason", "").strip()[:500]
        if not reason:
            self.message_user(request, "Say why in the field Reason.", messages.ERROR)
            return
        for agent in agents:
            try:
                agent_state_update(
                    agent_id=agent.id,
                    changes={"status": status},
                    actor=f"person:{request.user.pk}",
                    reason=reason,
                    by_person=True,
                )
            except ChimeraError as refusal:
                self.message_user(request, f"{agent}: {refusal.message}", messages.ERROR)
            else:
                self.message_user(request, f"{agent} is {status} now.", messages.SUCCESS)


@admin.register(Persona)
class PersonaAdmin(SimpleHistoryAdmin, ReadOnlyAdmin):
    list_display = ["agent", "version", "updated_at"]


@admin.register(Campaign)
class CampaignAdmin(SimpleHistoryAdmin, AuditedAdmin):
    list_display = ["name", "agent", "status", "start_date", "end_date"]
    list_filter = ["status"]


@admin.register(Credential)
class CredentialAdmin(ReadOnlyAdmin):
    list_display = ["agent", "application", "created_at"]
