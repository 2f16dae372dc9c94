"""The rules of the ledger as database triggers, on PostgreSQL and on SQLite. Not reversible on purpose.

A later migration that alters one of these tables makes SQLite rebuild it without its triggers: such a
migration must create them again (a test compares the database with the SQL file).
"""

import re
import sqlite3
from collections.abc import Iterator
from pathlib import Path

from django.apps.registry import Apps
from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor

SQL = Path(__file__).resolve().parent.parent / "sql"
HALF = 18


def _halves(value: str) -> tuple[str, str]:
    high, low = f"substr({value}, 1, {HALF})", f"substr({value}, {HALF + 1})"
    return f"CAST({high} AS INTEGER)", f"CAST({low} AS INTEGER)"


def _units(call: re.Match[str]) -> str:
    """SQLite's exact sum or difference of two 36-digit texts, with the carry."""
    (a_high, a_low), (b_high, b_low) = _halves(call[2]), _halves(call[3])
    base = 10**HALF
    if call[1] == "add":
        high, low = (
            f"{a_high} + {b_high} + ({a_low} + {b_low}) / {base}",
            f"({a_low} + {b_low}) % {base}",
        )
    else:
        high = f"{a_high} - {b_high} - ({a_low} < {b_low})"
        low = f"({a_low} - {b_low} + {base}) % {base}"
    return f"printf('%0{HALF}d%0{HALF}d', {high}, {low})"


def _statements(script: str) -> Iterator[str]:
    """The statements of an SQLite script; a trigger with its body is one."""
    statement = ""
    for line in script.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""


def create_triggers(apps: Apps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    script = (SQL / f"ledger_{schema_editor.connection.vendor}.sql").read_text()
    if schema_editor.connection.vendor == "sqlite":
        script = re.sub(
            r"units_(add|sub)\((\w[\w.]*), (\w[\w.]*)\)",
            _units,
            re.sub(r"--.*", "", script),
        )
        for statement in _statements(script):
            schema_editor.execute(statement, None)
    else:
        schema_editor.execute(script, None)


class Migration(migrations.Migration):
    dependencies = [("wallets", "0001_wallets")]
    operations = [migrations.RunPython(create_triggers)]
