"""The books in the admin: to read, never to write."""

from django.contrib import admin

from chimera.core.admin import ReadOnlyAdmin
from wallets.models import (
    ChainCursor,
    ChainTransaction,
    Debit,
    Entry,
    LedgerAccount,
    Transfer,
    Wallet,
)


@admin.register(Wallet)
class WalletAdmin(ReadOnlyAdmin):
    list_display = ("address", "network", "agent", "created_at")
    list_filter = ("network",)
    search_fields = ("address", "agent__name")
    exclude = ("encrypted_key",)


@admin.register(LedgerAccount)
class LedgerAccountAdmin(ReadOnlyAdmin):
    list_display = ("kind", "wallet", "network", "currency", "posted", "held", "available")
    list_filter = ("kind", "network", "currency")
    list_select_related = ("wallet",)


@admin.register(Transfer)
class TransferAdmin(ReadOnlyAdmin):
    list_display = ("id", "kind", "status", "amount", "reference", "created_at", "finished_at")
    list_filter = ("kind", "status")
    search_fields = ("tx_hash", "reference", "approval_id")


@admin.register(Entry)
class EntryAdmin(ReadOnlyAdmin):
    list_display = ("id", "transfer", "account", "side", "amount", "created_at")
    list_select_related = ("transfer", "account")


@admin.register(Debit)
class DebitAdmin(ReadOnlyAdmin):
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
class ChainTransactionAdmin(ReadOnlyAdmin):
    list_display = ("sender", "nonce", "network", "status", "tx_hash", "attempts", "last_error")
    list_filter = ("status", "network")
    search_fields = ("tx_hash", "sender")


@admin.register(ChainCursor)
class ChainCursorAdmin(ReadOnlyAdmin):
    list_display = ("network", "last_block")
