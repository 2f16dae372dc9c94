"""Write which test claims which requirement, for `manage.py conformance`."""

import json
import os
from pathlib import Path

import pytest

from tests.requirements import ERRORS, REQUIREMENTS


def marks_of(items: list[pytest.Item]) -> dict[str, list[str]]:
    """Number, or "skill CODE", -> names of the tests that carry it, each once, without parameters."""
    found: dict[str, set[str]] = {}
    for item in items:
        name = item.nodeid.partition("[")[0]
        for mark in item.iter_markers("req"):
            for number in mark.args:
                found.setdefault(str(number), set()).add(name)
        for mark in item.iter_markers("provokes"):
            found.setdefault(" ".join(mark.args), set()).add(name)
    return {number: sorted(names) for number, names in sorted(found.items())}


def pytest_collection_finish(session: pytest.Session) -> None:
    target = os.environ.get("CHIMERA_TEST_MARKS")
    if target:
        errors = {f"{skill} {code}": "" for skill, codes in ERRORS.items() for code in codes}
        facts = {
            "requirements": REQUIREMENTS,
            "errors": errors,
            "tests": marks_of(session.items),
        }
        Path(target).write_text(json.dumps(facts))
