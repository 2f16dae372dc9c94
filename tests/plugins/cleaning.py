"""Keeps the database of the tests as it was migrated, and empties it after a transactional test.

Only tables that hold something are emptied, past their triggers. Django would empty every table and
then write all content types and permissions anew, which costs more than most tests. Those two stay
as the migrations left them.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.core.management.commands import flush
from django.db import connection, transaction
from pytest_django import DjangoDbBlocker

from tests.helpers.servers import keep_migrated

KEPT = {"auth_permission", "django_content_type", "django_migrations"}


def empty_tables() -> None:
    """Delete every row of the tests; sequences go on."""
    with transaction.atomic(), connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute("SET LOCAL synchronous_commit = off")
        filled = _filled(cursor)
        with _past_triggers(cursor, filled):
            for table in filled:
                cursor.execute(f"DELETE FROM {connection.ops.quote_name(table)}")
            connection.check_constraints()


def _filled(cursor: Any) -> list[str]:
    """The tables with a row in them."""
    tables = sorted(set(connection.introspection.table_names(cursor)) - KEPT)
    quote = connection.ops.quote_name
    looks = (f"SELECT '{table}' WHERE EXISTS (SELECT 1 FROM {quote(table)})" for table in tables)
    cursor.execute(" UNION ALL ".join(looks))
    return [table for (table,) in cursor.fetchall()]


@contextmanager
def _past_triggers(cursor: Any, tables: list[str]) -> Iterator[None]:
    """Some tables refuse to be emptied; only here, only now, they do not."""
    before, after = _switches(cursor, tables)
    for statement in before:
        cursor.execute(statement, None)
    yield
    for statement in after:
        cursor.execute(statement, None)


def _switches(cursor: Any, tables: list[str]) -> tuple[list[str], list[str]]:
    """Statements that take the triggers away and those that bring them back."""
    if connection.vendor == "postgresql":
        cursor.execute(
            "SELECT DISTINCT relname FROM pg_trigger JOIN pg_class ON pg_class.oid = tgrelid "
            "WHERE NOT tgisinternal AND relname = ANY(%s)",
            [tables],
        )
        guarded = [table for (table,) in cursor.fetchall()]
        off = [f'ALTER TABLE "{table}" DISABLE TRIGGER USER' for table in guarded]
        return off, [statement.replace("DISABLE", "ENABLE") for statement in off]
    cursor.execute("SELECT name, tbl_name, sql FROM sqlite_master WHERE type = 'trigger'")
    triggers = [(name, sql) for name, table, sql in cursor.fetchall() if table in tables]
    return [f'DROP TRIGGER "{name}"' for name, _ in triggers], [sql for _, sql in triggers]


@pytest.fixture(scope="session")
def django_db_setup(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> None:
    """The one migration of the run."""
    with django_db_blocker.unblock():
        keep_migrated(connection)


@pytest.fixture(autouse=True, scope="session")
def quick_flush() -> Iterator[None]:
    """The clean-up of transactional tests, for the whole run."""
    patch = pytest.MonkeyPatch()
    patch.setattr(flush.Command, "handle", lambda self, **options: empty_tables())
    yield
    patch.undo()
