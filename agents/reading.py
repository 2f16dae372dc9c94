"""Reads that end in time, whatever holds the database up."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import Error, connection, transaction

from chimera.core.errors import ChimeraError


@contextmanager
def read_within(seconds: float) -> Iterator[None]:
    """UNAVAILABLE when a query in here fails or takes longer.

    PostgreSQL ends the query itself; on SQLite in WAL mode a reader waits for nobody.
    """
    try:
        if connection.vendor == "postgresql":
            with transaction.atomic(), _statement_timeout(seconds):
                yield
        else:
            yield
    except Error as problem:
        message = f"The profile cannot be read at the moment ({type(problem).__name__})"
        raise ChimeraError("UNAVAILABLE", message) from problem


@contextmanager
def _statement_timeout(seconds: float) -> Iterator[None]:
    """For the queries in here; where they fail, the end of the transaction takes it back."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT set_config('statement_timeout', %s, true)", [f"{seconds * 1000:g}"])
    yield
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL statement_timeout TO DEFAULT")
