"""Run the contract suite and write docs/conformance.md: which test proves which requirement."""

import json
import os
import subprocess
import sys
import tempfile
from argparse import ArgumentParser
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand

from chimera.env import ROOT

PAGE = ROOT / "docs" / "conformance.md"
HEAD = """# Conformance

Every requirement with the tests that prove it, written by `manage.py conformance` from the marks of
the tests (`@pytest.mark.req`). "not yet" means that no test claims it.

| number | requirement | tests |
|---|---|---|
"""
ERRORS_HEAD = """
## Error codes of the skills

Every code that the skills document gives a skill, with the tests that provoke its cause
(`@pytest.mark.provokes`).

| skill and code | | tests |
|---|---|---|
"""


class Command(BaseCommand):
    help = "Run the contract suite against every skill and write docs/conformance.md."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--collect-only", action="store_true", help="Write the page without running the suite"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        status = 0 if options["collect_only"] else _pytest("tests/contracts", "-q").returncode
        found = collected()
        errors = page(found["errors"], found["tests"], ERRORS_HEAD)
        PAGE.write_text(page(found["requirements"], found["tests"]) + errors)
        rows = PAGE.read_text().count("\n| ") - 2
        open_ones = PAGE.read_text().count("| not yet |")
        self.stdout.write(f"{PAGE.relative_to(ROOT)}: {rows - open_ones} of {rows} rows have tests")
        sys.exit(status)


def collected() -> dict[str, Any]:
    """`{requirements: {number: text}, tests: {number: [test]}}` of the whole suite."""
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "marks.json"
        options = ("--collect-only", "-q", "-p", "tests.plugins.marks")
        ran = _pytest("tests", *options, CHIMERA_TEST_MARKS=str(target))
        if not target.exists():
            raise RuntimeError(f"the tests cannot be collected:\n{ran.stdout}{ran.stderr}")
        found: dict[str, Any] = json.loads(target.read_text())
    return found


def page(requirements: dict[str, str], tests: dict[str, list[str]], head: str = HEAD) -> str:
    """A table of the document: one row a number, in the order of the requirements."""
    proven = {number for number in requirements if tests.get(number)}
    rows = [
        f"| {number} | {text} | {'<br>'.join(tests.get(number, [])) or _parts(number, requirements, proven)} |"
        for number, text in requirements.items()
    ]
    return head + "\n".join([*rows, ""])


def _parts(number: str, requirements: Iterable[str], proven: set[str]) -> str:
    """What stands at a number without a test of its own: its parts, or that there is none."""
    parts = [name for name in requirements if name.startswith(f"{number}.")]
    return f"{parts[0]} to {parts[-1]}" if parts and proven.issuperset(parts) else "not yet"


def _pytest(*arguments: str, **env: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pytest", *arguments]
    quiet = bool(env)
    return subprocess.run(  # noqa: S603  our own interpreter and our own tests
        command, cwd=ROOT, env={**os.environ, **env}, text=True, capture_output=quiet, check=False
    )
