"""A database and a Redis index of a stack's own, where the suite runs on PostgreSQL and Redis."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit, urlunsplit

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
    with _own_database(database) as database_url, own_index(broker) as redis_url:
        yield {
            "DATABASE_URL": database_url,
            "CELERY_BROKER_URL": redis_url,
            "CACHE_URL": redis_url,
        }


def _with_path(url: str, path: str) -> str:
    return urlunsplit(urlsplit(url)._replace(path=f"/{path}"))


@contextmanager
def _own_database(url: str) -> Iterator[str]:
    name = f"chimera_stack_{os.getpid()}"
    with psycopg.connect(_with_path(url, "postgres"), autocommit=True) as server:
        server.execute(SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(Identifier(name)))
        server.execute(SQL("CREATE DATABASE {}").format(Identifier(name)))
    try:
        yield _with_path(url, name)
    finally:
        with psycopg.connect(_with_path(url, "postgres"), autocommit=True) as server:
            server.execute(SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(Identifier(name)))


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
