"""`manage.py reconcile`: compare the ledger with the chain; exit status 1 on drift."""

import sys
from typing import Any

from django.core.management.base import BaseCommand

from chimera.core.errors import ChimeraError
from wallets.models import Wallet
from wallets.reconcile import reconcile


class Command(BaseCommand):
    """Checks every network that has a wallet; a chain that cannot be read counts as drift."""

    help = "Compare the ledger of every wallet with the chain; exit status 1 on drift."

    def handle(self, *args: Any, **options: Any) -> None:
        networks = Wallet.objects.order_by("network").values_list("network", flat=True).distinct()
        problems = [line for network in networks for line in self._problems(network)]
        for line in problems:
            self.stderr.write(self.style.ERROR(line))
        if problems:
            sys.exit(1)
        self.stdout.write("The books agree with the chain.")

    def _problems(self, network: str) -> list[str]:
        try:
            return [f"drift: {drift}" for drift in reconcile(network)]
        except ChimeraError as problem:
            return [f"{network} cannot be compared: {problem}"]
