"""Entries for tests of the audit log, and what its checker says of them."""

from io import StringIO
from typing import Any

from django.core.management import call_command
from django.db import transaction

from chimera.core import audit
from chimera.core.models import AuditEntry


def write(number: int, **data: Any) -> AuditEntry:
    with transaction.atomic():
        return audit.record(
            actor="system:test",
            action="thing.changed",
            object_type="thing",
            object_id=number,
            data={"number": number, **data},
        )


def verified(*arguments: str) -> tuple[int, str]:
    """Exit status and complaints of `manage.py verify_audit`."""
    complaints = StringIO()
    try:
        call_command("verify_audit", *arguments, stdout=StringIO(), stderr=complaints)
    except SystemExit as end:
        return int(end.code or 0), complaints.getvalue()
    return 0, complaints.getvalue()


def rewrite(entries: list[AuditEntry]) -> None:
    """Put these entries into the empty log with hashes that fit, as somebody without the key would."""
    previous = "0" * 64
    for sequence, entry in enumerate(entries, start=1):
        entry.sequence, entry.previous_hash = sequence, previous
        entry.entry_hash = previous = audit.entry_digest(entry)
        entry.save(force_insert=True)
