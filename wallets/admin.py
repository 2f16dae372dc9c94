"""The books in the admin: to read, never to write."""

from typing import Any

from django.contrib import admin
from django.http import HttpRequest
from unfold.admin import ModelAdmin

from wallets.models import (
    ChainCursor,
    ChainTransaction,
    Debit,
    Entry,
    LedgerAccount,
    Transfer,
    Wallet,
)


class ReadOnly(ModelAdmin):
    """Shows rows; adding, changing and deleting are refused, here and by the database."""

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


@admin.register(Wallet)
class WalletAdmin(ReadOnly):
    list_display = ("address", "network", "agent", "created_at")
    list_filter = ("network",)
    search_fields = ("address", "agent__name")
    exclude = ("encrypted_key",)


@admin.register(LedgerAccount)
class LedgerAccountAdmin(ReadOnly):
    list_display = ("kind", "wallet", "network", "currency", "posted", "held", "available")
    list_filter = ("kind", "network", "currency")
    list_select_related = ("wallet",)


@admin.register(Transfer)
class TransferAdmin(ReadOnly):
    list_display = ("id", "kind", "status", "amount", "reference", "created_at", "finished_at")
    list_filter = ("kind", "status")
    search_fields = ("tx_hash", "reference", "approval_id")


@admin.register(Entry)
class EntryAdmin(ReadOnly):
    list_display = ("id", "transfer", "account", "side", "amount", "created_at")
    list_select_related = ("transfer", "account")


@admin.register(Debit)
class DebitAdmin(ReadOnly):
    list_display = (
        "id",
        "wallet",
        "amount",
        "currency",
        "recipient",
        "status",
        "error_code",
        "created_at",
    )
    list_filter = ("status", "network", "currency")
    list_select_related = ("wallet",)
    search_fields = ("id", "recipient", "approval_id", "execution_id")


@admin.register(ChainTransaction)
class ChainTransactionAdmin(ReadOnly):
    list_display = ("sender", "nonce", "network", "status", "tx_hash", "attempts", "last_error")
    list_filter = ("status", "network")
    search_fields = ("tx_hash", "sender")


@admin.register(ChainCursor)
class ChainCursorAdmin(ReadOnly):
    list_display = ("network", "last_block")
