"""Somebody who owns the database: the triggers that protect a table are switched off."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.db import connection

ENTRIES = "core_auditentry"


@contextmanager
def behind_the_back(table: str = ENTRIES) -> Iterator[Any]:
    """A cursor for somebody who owns the database: the triggers of the table are gone."""
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute(f"ALTER TABLE {table} DISABLE TRIGGER USER")
        else:
            names = "SELECT name FROM sqlite_master WHERE type = 'trigger' AND tbl_name = %s"
            cursor.execute(names, [table])
            for (name,) in cursor.fetchall():
                cursor.execute(f'DROP TRIGGER "{name}"')
        yield cursor
