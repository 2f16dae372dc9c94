"""Admin of content, accounts and publications."""

from typing import Any

from django.contrib import admin
from django.db import transaction
from django.http import HttpRequest
from simple_history.admin import SimpleHistoryAdmin

from chimera.core.admin import AuditedAdmin, ReadOnlyAdmin
from content.connections import account_connect
from content.forms import AccountForm
from content.models import ContentPackage, ContentRevision, PlatformAccount, Publication, Trend


@admin.register(Publication)
class PublicationAdmin(ReadOnlyAdmin):
    list_display = [
        "created_at",
        "platform",
        "account",
        "state",
        "post_url",
        "agent",
        "reviewer_id",
        "error",
    ]
    list_filter = ["state", "platform"]
    search_fields = ["id", "post_id", "content__id"]


@admin.register(ContentPackage)
class ContentPackageAdmin(ReadOnlyAdmin):
    list_display = ["id", "agent", "revision", "created_at"]
    search_fields = ["id"]


@admin.register(ContentRevision)
class ContentRevisionAdmin(ReadOnlyAdmin):
    list_display = ["content", "number", "sha256", "created_by", "created_at"]


@admin.register(PlatformAccount)
class PlatformAccountAdmin(SimpleHistoryAdmin, AuditedAdmin):
    form = AccountForm
    list_display = ["handle", "platform", "mode", "agent", "connected", "enabled"]
    list_filter = ["platform", "mode", "enabled"]
    fields = [
        *("platform", "handle", "mode", "agent", "base_url", "enabled"),
        *("access_token", "refresh_token", "extra"),
    ]

    @admin.display(boolean=True)
    def connected(self, account: PlatformAccount) -> bool:
        """Whether there are credentials; what they are is never shown."""
        return bool(account.sealed_credentials)

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        with transaction.atomic():
            super().save_model(request, obj, form, change)
            given = form.credentials()
            if given:
                actor = f"person:{request.user.pk}"
                account_connect(account=obj, credentials=given, actor=actor)


@admin.register(Trend)
class TrendAdmin(ReadOnlyAdmin):
    list_display = ["topic", "platform", "seen_at"]
    search_fields = ["topic"]
