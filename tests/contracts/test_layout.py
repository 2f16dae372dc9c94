"""The shape of the house: sizes, imports, and who may make a grant."""

import ast
import statistics
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from django.conf import settings

ROOT = Path(__file__).parents[2]
APPS = ("chimera", "skills", "approvals", "wallets", "content", "agents")
FILES = sorted(
    path
    for app in APPS
    for path in (ROOT / app).rglob("*.py")
    if not {"migrations", "__pycache__"} & set(path.parts)
)
Function = ast.FunctionDef | ast.AsyncFunctionDef


@cache
def _nodes(path: Path) -> list[ast.AST]:
    return list(ast.walk(ast.parse(path.read_text())))


def _functions(path: Path) -> Iterator[Function]:
    for node in _nodes(path):
        if isinstance(node, Function):
            yield node


def _body(function: Function) -> int:
    """Lines of the body without its docstring, as people read it."""
    first = function.body[1] if ast.get_docstring(function) and function.body[1:] else None
    start = (first or function.body[0]).lineno
    return (function.end_lineno or start) - start + 1


@pytest.mark.req("C2")
def test_the_top_level_holds_the_apps_and_content_beside_them() -> None:
    files = ("manage.py", "pyproject.toml", "docker-compose.yml")
    assert [name for name in files if not (ROOT / name).is_file()] == []
    apps = {each.parent.name for each in ROOT.glob("*/apps.py")}
    assert apps == set(APPS)
    for folder in (*APPS, "templates", "tests"):
        assert (ROOT / folder).is_dir(), folder


@pytest.mark.req("C1")
def test_the_agreed_libraries_are_what_the_code_is_built_on() -> None:
    agreed = {"django", "rest_framework", "celery", "pydantic", "httpx", "web3", "jwt", "redis"}
    used = {
        name.split(".")[0] for path in FILES for node in _nodes(path) for name in _imported(node)
    }
    assert agreed <= used
    assert {"simple_history", "django_celery_results"} <= set(settings.INSTALLED_APPS)
    assert settings.CELERY_RESULT_BACKEND == "django-db"


def _imported(node: ast.AST) -> list[str]:
    if isinstance(node, ast.ImportFrom):
        return [node.module or ""]
    return [each.name for each in node.names] if isinstance(node, ast.Import) else []


def test_no_function_is_longer_than_fifty_lines() -> None:
    long = [
        f"{path.relative_to(ROOT)}:{each.name} {_body(each)}"
        for path in FILES
        for each in _functions(path)
        if _body(each) > 50
    ]

    assert long == []


def test_half_of_all_functions_have_at_most_ten_lines() -> None:
    assert statistics.median(_body(each) for path in FILES for each in _functions(path)) <= 10


def test_no_file_has_more_than_400_lines_with_something_on_them() -> None:
    long = {
        str(path.relative_to(ROOT)): count
        for path in FILES
        if (count := sum(bool(line.strip()) for line in path.read_text().splitlines())) > 400
    }

    assert long == {}


HEAVY = (
    "web3",
    "eth_",
    "mcp",
    "vyper",
    "pydantic_ai",
    "hexbytes",
    "snowballstemmer",
    "feedparser",
    "twitter_text",
)


def test_imports_inside_functions_are_of_heavy_libraries_and_say_why() -> None:
    found = []
    for path in FILES:
        lines = path.read_text().splitlines()
        for function in _functions(path):
            for node in ast.walk(function):
                if not isinstance(node, ast.Import | ast.ImportFrom):
                    continue
                name = getattr(node, "module", None) or node.names[0].name
                own = str(name).split(".")[0] in APPS
                said = any("#" in line for line in lines[node.lineno - 2 : node.end_lineno])
                if (own and not said) or not (own or said or str(name).startswith(HEAVY)):
                    found.append(f"{path.relative_to(ROOT)}:{node.lineno} {name}")

    assert found == []


@pytest.mark.req("C5")
def test_a_grant_is_made_in_approvals_alone() -> None:
    makers = {
        str(path.relative_to(ROOT))
        for path in FILES
        for node in _nodes(path)
        if isinstance(node, ast.Call) and ast.unparse(node.func).split(".")[-1] == "Grant"
    }

    assert makers == {"approvals/redeeming.py"}


def test_no_signal_is_connected_outside_celery() -> None:
    found = {
        str(path.relative_to(ROOT))
        for path in FILES
        for node in _nodes(path)
        if (isinstance(node, ast.Attribute) and node.attr in ("connect", "receiver"))
        and "signal" in path.read_text()
        and ast.unparse(node.value).split(".")[-1]
        in ("post_save", "pre_save", "post_delete", "pre_delete", "m2m_changed", "signals")
    }

    assert found == set()
