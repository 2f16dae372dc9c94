"""Admin of the kernel: the audit log, to read only; and the base of every other admin."""

from typing import Any

from django.contrib import admin
from django.db import transaction
from django.http import HttpRequest
from unfold.admin import ModelAdmin

from chimera.core import audit
from chimera.core.models import AuditEntry


class ReadOnlyAdmin(ModelAdmin):
    """A table that people may look at and nothing else."""

    show_full_result_count = False

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


class AuditedAdmin(ModelAdmin):
    """A table that admins may change; every change stands in the audit log, with the change."""

    show_full_result_count = False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        with transaction.atomic():
            super().save_model(request, obj, form, change)
            audit.record(
                actor=f"person:{request.user.pk}",
                action=f"admin.{'changed' if change else 'added'}",
                object_type=obj._meta.label_lower,
                object_id=obj.pk,
                data={"fields": sorted(form.changed_data)},
            )


@admin.register(AuditEntry)
class AuditEntryAdmin(ReadOnlyAdmin):
    list_display = ["sequence", "at", "actor", "action", "object_type", "object_id"]
    search_fields = ["actor", "action", "object_id"]
    list_filter = ["object_type"]
    ordering = ["-sequence"]
