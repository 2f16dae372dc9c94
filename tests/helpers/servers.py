"""Databases and Redis indexes of their own, for processes that are no part of the test's own."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit
from uuid import uuid4

import psycopg
import redis
from psycopg.sql import SQL, Identifier

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
    """The URL of an empty database of the kind under test; dropped at the end."""
    url = os.environ.get("DATABASE_URL", "")
    if not url.startswith("postgres"):
        yield f"sqlite:///{folder / uuid4().hex}.sqlite3"
        return
    with _own_postgresql(url) as mine:
        yield mine


@contextmanager
def _own_postgresql(url: str) -> Iterator[str]:
    name = f"chimera_{uuid4().hex[:16]}"
    with psycopg.connect(_with_path(url, "postgres"), autocommit=True) as server:
        server.execute(SQL("CREATE DATABASE {}").format(Identifier(name)))
        try:
            yield _with_path(url, name)
        finally:
            server.execute(SQL("DROP DATABASE {} WITH (FORCE)").format(Identifier(name)))


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
