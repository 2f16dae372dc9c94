"""Make an agent with its credentials, and a wallet if asked for."""

import json
from argparse import ArgumentParser
from decimal import Decimal, InvalidOperation
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from agents.roles import Role
from chimera.core.errors import ChimeraError
from chimera.provisioning import agent_provision


class Command(BaseCommand):
    help = "Make an agent; prints agent_id, client_id, client_secret (once) and wallet_address."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("name")
        parser.add_argument("--role", required=True, choices=Role.values)
        parser.add_argument("--wallet", action="store_true", help="open a wallet")
        parser.add_argument(
            "--fund",
            metavar="AMOUNT",
            help="USDC (at most 1000000) plus gas coin, on the devnet only; opens a wallet",
        )
        parser.add_argument("--json", action="store_true", help="print one JSON object")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            fund = None if options["fund"] is None else Decimal(options["fund"])
        except InvalidOperation:
            raise CommandError(
                f"--fund {options['fund']} is not an amount; give e.g. 250 or 12.50"
            ) from None
        try:
            made = agent_provision(
                name=options["name"],
                role=options["role"],
                wallet=options["wallet"],
                fund=fund,
                actor="system:command",
            )
        except ChimeraError as problem:
            raise CommandError(problem.message) from None
        if options["json"]:
            self.stdout.write(json.dumps(made))
            return
        for key, value in made.items():
            self.stdout.write(f"{key:15} {value or '-'}")
        self.stdout.write("Keep the client_secret now; it is stored as a hash only.")
