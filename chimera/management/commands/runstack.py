"""Start the whole platform in the foreground: what `make run` runs."""

import os
import sys
from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from chimera import stack


class Command(BaseCommand):
    help = "Start web, worker, scheduler, sandbox world and local chain; Ctrl-C stops all of them."
    requires_system_checks = ()  # the processes make their own

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--port", type=int, default=default_port(), help="web port; default PORT or 8000"
        )
        parser.add_argument("--no-demo", action="store_true", help="start no demo campaign")

    def handle(self, *args: Any, port: int, no_demo: bool, **options: Any) -> None:
        if not settings.CHIMERA.is_sandbox:
            raise CommandError(
                "runstack is for the sandbox; elsewhere each process is started by itself "
                "(docker-compose.yml, docs/operations.md). Unset CHIMERA_ENVIRONMENT to use it."
            )
        if not 1024 <= port <= 65531:
            raise CommandError(f"PORT is {port}; it must lie between 1024 and 65531.")
        sys.exit(stack.run(port, settings.DATA_DIR, self._say, demo=not no_demo))

    def _say(self, line: str) -> None:
        self.stdout.write(line)
        self.stdout.flush()


def default_port() -> int:
    """PORT of the environment, or 8000."""
    text = os.environ.get("PORT") or "8000"
    if not text.isdecimal():
        raise CommandError(f"PORT is {text!r}; it must be a number such as 9000.")
    return int(text)
