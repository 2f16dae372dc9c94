"""Databases and Redis indexes of their own, for processes that are no part of the test's own."""

import atexit
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit
from uuid import uuid4

import psycopg
import redis
from django.db.backends.base.base import BaseDatabaseWrapper
from psycopg.sql import SQL, Composed, Identifier

ROOT = Path(__file__).parents[2]
MARK = "chimera-test-stack"


# The URL of the database that every own one is a copy of: to migrate takes ten times as long.
_ORIGINALS: list[str] = []


@contextmanager
def own_servers() -> Iterator[dict[str, str]]:
    """The settings of the stack; empty on the embedded default."""
    broker = os.environ.get("CELERY_BROKER_URL", "")
    if not _postgresql() or not broker.startswith("redis"):
        yield {}
        return
    with _own_postgresql() as database_url, own_index(broker) as redis_url:
        yield {
            "DATABASE_URL": database_url,
            "CELERY_BROKER_URL": redis_url,
            "CACHE_URL": redis_url,
        }


@contextmanager
def own_database(folder: Path) -> Iterator[str]:
    """The URL of a database of the kind under test with every table; dropped at the end."""
    if _postgresql():
        with _own_postgresql() as mine:
            yield mine
        return
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{uuid4().hex}.sqlite3"
    shutil.copyfile(_path(_original()), path)
    yield f"sqlite:///{path}"


def migrate_ahead(data_dir: Path) -> None:
    """The tables of a platform that is about to start there on the embedded default."""
    if not _postgresql():
        shutil.copyfile(_path(_original()), data_dir / "chimera.sqlite3")


@contextmanager
def _own_postgresql() -> Iterator[str]:
    mine = _copy(_postgresql(), _name(_original()))
    try:
        yield mine
    finally:
        _drop(mine)


def keep_migrated(fresh: BaseDatabaseWrapper) -> None:
    """The database of the tests themselves, which nobody has used yet, becomes the original."""
    fresh.close()  # PostgreSQL copies only what nobody is connected to
    made = _begun(fresh.settings_dict["NAME"])
    if fresh.vendor == "sqlite":
        with fresh.cursor() as cursor:
            cursor.execute("VACUUM INTO %s", [str(_path(made))])


def _original() -> str:
    if not _ORIGINALS:  # no test so far has used the database of the tests themselves
        _migrate(_begun("template1"))
    return _ORIGINALS[0]


def _begun(source: str) -> str:
    """The original until the end of the run: a copy on PostgreSQL, else a file yet to be written."""
    if url := _postgresql():
        _ORIGINALS.append(_copy(url, source))
        atexit.register(_drop, _ORIGINALS[0])
    else:
        folder = tempfile.mkdtemp(prefix="chimera-test-")
        atexit.register(shutil.rmtree, folder)
        _ORIGINALS.append(f"sqlite:///{folder}/original.sqlite3")
    return _ORIGINALS[0]


def _postgresql() -> str:
    """The URL of the server under test; empty on the embedded default."""
    url = os.environ.get("DATABASE_URL", "")
    return url if url.startswith("postgres") else ""


def _path(url: str) -> Path:
    return Path(url.removeprefix("sqlite:///"))


def _with_path(url: str, path: str) -> str:
    return urlunsplit(urlsplit(url)._replace(path=f"/{path}"))


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
