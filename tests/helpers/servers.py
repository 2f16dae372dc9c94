"""Databases and Redis indexes of their own, for processes that are no part of the test's own."""

import atexit
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit
from uuid import uuid4

import psycopg
import redis
from psycopg.sql import SQL, Composed, Identifier

ROOT = Path(__file__).parents[2]
MARK = "chimera-test-stack"


@contextmanager
def own_servers() -> Iterator[dict[str, str]]:
    """The settings of the stack; empty on the embedded default."""
    database, broker = os.environ.get("DATABASE_URL", ""), os.environ.get("CELERY_BROKER_URL", "")
    if not database.startswith("postgres") or not broker.startswith("redis"):
        yield {}
        return
    with _own_postgresql(database) as database_url, own_index(broker) as redis_url:
        yield {
            "DATABASE_URL": database_url,
            "CELERY_BROKER_URL": redis_url,
            "CACHE_URL": redis_url,
        }


def _with_path(url: str, path: str) -> str:
    return urlunsplit(urlsplit(url)._replace(path=f"/{path}"))


@contextmanager
def own_database(folder: Path) -> Iterator[str]:
    """The URL of a database of the kind under test with every table; dropped at the end."""
    url = os.environ.get("DATABASE_URL", "")
    if url.startswith("postgres"):
        with _own_postgresql(url) as mine:
            yield mine
        return
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{uuid4().hex}.sqlite3"
    shutil.copyfile(_migrated_file(), path)
    yield f"sqlite:///{path}"


@contextmanager
def _own_postgresql(url: str) -> Iterator[str]:
    mine = _copy(url, _migrated_database(url))
    try:
        yield mine
    finally:
        _drop(mine)


@cache
def _migrated_file() -> Path:
    """Every own database is a copy of this one: to migrate takes ten times as long."""
    folder = Path(tempfile.mkdtemp(prefix="chimera-test-"))
    atexit.register(shutil.rmtree, folder)
    _migrate(f"sqlite:///{folder / 'migrated.sqlite3'}")
    return folder / "migrated.sqlite3"


@cache
def _migrated_database(url: str) -> str:
    made = _copy(url, "template1")
    atexit.register(_drop, made)
    _migrate(made)
    return _name(made)


def _migrate(url: str) -> None:
    command = [sys.executable, "manage.py", "migrate", "-v0", "--skip-checks"]
    subprocess.run(command, cwd=ROOT, env=os.environ | {"DATABASE_URL": url}, check=True)


def _copy(url: str, original: str) -> str:
    name = f"chimera_{uuid4().hex[:16]}"
    _say(url, SQL("CREATE DATABASE {} TEMPLATE {}").format(Identifier(name), Identifier(original)))
    return _with_path(url, name)


def _drop(url: str) -> None:
    _say(url, SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(Identifier(_name(url))))


def _say(url: str, statement: Composed) -> None:
    with psycopg.connect(_with_path(url, "postgres"), autocommit=True) as server:
        server.execute(statement)


def _name(url: str) -> str:
    return urlsplit(url).path.strip("/")


@contextmanager
def own_index(url: str) -> Iterator[str]:
    """An index that was empty, beside the suite's own."""
    suites_own = int(urlsplit(url).path.strip("/") or 0)
    for index in (number for number in range(14, 0, -1) if number != suites_own):
        mine = _with_path(url, str(index))
        client = redis.Redis.from_url(mine)
        if client.dbsize() == 0 and client.set(MARK, os.getpid(), nx=True):
            try:
                yield mine
            finally:
                client.flushdb()
            return
    raise RuntimeError(f"no empty Redis index at {url}; empty one of 1 to 14")
