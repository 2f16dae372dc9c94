"""Append-only tables: the database itself refuses to change or delete a row.

Used by migrations: `migrations.RunPython(append_only("core_auditentry"), forget("core_auditentry"))`.
"""

from collections.abc import Callable
from typing import Any

_POSTGRES = """
CREATE OR REPLACE FUNCTION chimera_refuse() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN RAISE EXCEPTION '% is append-only', TG_TABLE_NAME USING ERRCODE = 'integrity_constraint_violation'; END $$;
CREATE TRIGGER {table}_no_change BEFORE UPDATE OR DELETE ON {table} FOR EACH ROW EXECUTE FUNCTION chimera_refuse();
CREATE TRIGGER {table}_no_truncate BEFORE TRUNCATE ON {table} FOR EACH STATEMENT EXECUTE FUNCTION chimera_refuse();
"""
_SQLITE = (
    "CREATE TRIGGER {table}_no_update BEFORE UPDATE ON {table} "
    "BEGIN SELECT RAISE(ABORT, '{table} is append-only'); END",
    "CREATE TRIGGER {table}_no_delete BEFORE DELETE ON {table} "
    "BEGIN SELECT RAISE(ABORT, '{table} is append-only'); END",
    # INSERT OR REPLACE deletes without firing the trigger above
    "CREATE TRIGGER {table}_no_replace BEFORE INSERT ON {table} "
    "WHEN EXISTS (SELECT 1 FROM {table} WHERE {key} = NEW.{key}) "
    "BEGIN SELECT RAISE(ABORT, '{table} is append-only'); END",
)
_POSTGRES_DROP = (
    "DROP TRIGGER {table}_no_change ON {table}",
    "DROP TRIGGER {table}_no_truncate ON {table}",
)
_SQLITE_DROP = tuple(
    f"DROP TRIGGER {{table}}_no_{what}" for what in ("update", "delete", "replace")
)

Step = Callable[[Any, Any], None]


def append_only(table: str, key: str = "id") -> Step:
    """Create the triggers. key: the column of the primary key."""

    def create(apps: Any, editor: Any) -> None:
        statements = (_POSTGRES,) if editor.connection.vendor == "postgresql" else _SQLITE
        for statement in statements:
            editor.execute(statement.format(table=table, key=key), params=None)

    return create


def forget(table: str) -> Step:
    """Drop the triggers."""

    def drop(apps: Any, editor: Any) -> None:
        for statement in (
            _POSTGRES_DROP if editor.connection.vendor == "postgresql" else _SQLITE_DROP
        ):
            editor.execute(statement.format(table=table))

    return drop
