"""Check the audit log for changed, removed and inserted entries."""

import json
import sys
from argparse import ArgumentParser
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from chimera.core import audit
from chimera.core.jsontext import dumps
from chimera.core.models import AuditEntry
from skills import sealing


class Command(BaseCommand):
    help = "Check the audit chain; exit status 1 on tampering, naming the entry."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--export", metavar="FILE", help="write every entry as a JSON line")
        parser.add_argument(
            "--checkpoint",
            metavar="FILE",
            help="hold the log against FILE if it exists, then write it anew",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        problems = list(self._problems(options["checkpoint"]))
        for problem in problems:
            self.stderr.write(problem)
        if options["export"]:
            self._export(Path(options["export"]))
        if problems:
            self.stderr.write(f"{len(problems)} problems in {AuditEntry.objects.count()} entries")
            sys.exit(1)
        if options["checkpoint"]:
            Path(options["checkpoint"]).write_text(json.dumps(audit.checkpoint(), indent=2) + "\n")
        self.stdout.write(f"{AuditEntry.objects.count()} entries, whole and unchanged")

    def _problems(self, checkpoint: str | None) -> Iterator[str]:
        yield from audit.verify()
        yield from sealing.problems()
        if checkpoint and Path(checkpoint).exists():
            try:
                kept = json.loads(Path(checkpoint).read_text())
            except ValueError:
                raise CommandError(f"{checkpoint} is not a checkpoint file") from None
            yield from audit.checkpoint_problems(kept)

    def _export(self, path: Path) -> None:
        with path.open("w") as file:
            for entry in AuditEntry.objects.order_by("sequence").iterator(chunk_size=500):
                file.write(dumps(audit.export_line(entry)) + "\n")
