"""Admin of requests, decisions, escalations and keys: to look at; deciding is done at the desk."""

from django.contrib import admin

from approvals.models import ApprovalRequest, Decision, Escalation, SigningKey
from chimera.core.admin import ReadOnlyAdmin


@admin.register(ApprovalRequest)
class ApprovalRequestAdmin(ReadOnlyAdmin):
    list_display = ["created_at", "sentence", "status", "lane", "agent", "expires_at"]
    list_filter = ["status", "kind", "lane"]
    search_fields = ["id", "action_digest", "sentence"]


@admin.register(Decision)
class DecisionAdmin(ReadOnlyAdmin):
    list_display = ["signed_at", "verdict", "reviewer", "request", "reason"]
    list_filter = ["verdict"]


@admin.register(SigningKey)
class SigningKeyAdmin(ReadOnlyAdmin):
    list_display = ["kid", "kind", "state", "created_at"]


@admin.register(Escalation)
class EscalationAdmin(ReadOnlyAdmin):
    list_display = ["last_at", "sentence", "code", "skill", "agent", "count", "state", "settled_by"]
    list_filter = ["state", "code", "skill"]
    search_fields = ["id", "execution_id", "sentence"]
    ordering = ["-last_at"]
