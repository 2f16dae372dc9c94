"""Money: wallets, the double-entry ledger, the chain."""

from django.apps import AppConfig


class WalletsConfig(AppConfig):
    name = "wallets"
    verbose_name = "Wallets"
