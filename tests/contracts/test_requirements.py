"""Marks and requirements fit together, both ways."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

from chimera.management.commands.conformance import page
from tests.requirements import REQUIREMENTS

ROOT = Path(__file__).parents[2]


@cache
def _marks() -> dict[str, list[str]]:
    """Number -> files whose tests claim it, read from the source."""
    found: dict[str, list[str]] = {}
    for path in (ROOT / "tests").rglob("test_*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if not (isinstance(node, ast.Call) and ast.unparse(node.func) == "pytest.mark.req"):
                continue
            for argument in node.args:
                assert isinstance(argument, ast.Constant), f"{path}: give the numbers literally"
                found.setdefault(str(argument.value), []).append(str(path.relative_to(ROOT)))
    return found


def test_every_mark_names_a_requirement_that_exists() -> None:
    unknown = {number: files for number, files in _marks().items() if number not in REQUIREMENTS}

    assert unknown == {}


def test_the_numbers_have_no_gaps() -> None:
    for prefix, numbers in _series().items():
        assert sorted(numbers) == list(range(min(numbers), max(numbers) + 1)), prefix


def _series() -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for number in REQUIREMENTS:
        prefix, last = re.fullmatch(r"(.*?)(\d+)", number).groups()  # type: ignore[union-attr]
        found.setdefault(prefix, []).append(int(last))
    return found


def test_a_requirement_without_a_test_is_written_as_such() -> None:
    text = page({"Z1": "Done", "Z2": "To do"}, {"Z1": ["tests/a.py::test_one"]})

    assert "| Z1 | Done | tests/a.py::test_one |\n| Z2 | To do | not yet |" in text


def test_a_heading_is_proven_by_its_parts_once_all_of_them_are() -> None:
    requirements = {"Z1": "Heading", "Z1.1": "One", "Z1.2": "Two"}

    assert "| Z1 | Heading | not yet |" in page(requirements, {"Z1.1": ["t"]})
    assert "| Z1 | Heading | Z1.1 to Z1.2 |" in page(requirements, {"Z1.1": ["t"], "Z1.2": ["t"]})


@pytest.mark.parametrize("number", ["C5", "A0.3", "A5.3", "A9.2", "X2", "X3", "X4"])
def test_what_must_never_break_is_proven(number: str) -> None:
    assert _marks().get(number)
