"""The append-only audit log: every entry carries the hash of the one before it.

`record` runs inside the transaction of what it records: no entry, no effect. The head row is locked
while an entry is appended, so there is one writer at a time. `verify` walks the chain and names the
first entry that was changed, removed or inserted; the head's seal shows a cut-off tail.
"""

from collections.abc import Iterator
from datetime import datetime
from typing import Any

from django.core import signing
from django.db import connection, transaction

from chimera.core.clock import iso, now
from chimera.core.digest import digest
from chimera.core.jsontext import plain
from chimera.core.models import AuditEntry, AuditHead

_GENESIS = "0" * 64
_SIGNER = signing.Signer(salt="chimera.audit")


def record(
    *, actor: str, action: str, object_type: str, object_id: object, data: dict[str, Any]
) -> AuditEntry:
    """Append one entry. actor: `agent:<id>`, `person:<id>` or `system:<part>`; data: JSON, no secrets.

    Raises RuntimeError outside a transaction and ValueError without an actor.
    """
    if not connection.in_atomic_block:
        raise RuntimeError("an audit entry belongs into the transaction of what it records")
    if not actor:
        raise ValueError("an audit entry needs an actor")
    head = _lock_head()
    entry = AuditEntry(
        sequence=head.sequence + 1,
        at=now(),
        actor=actor,
        action=action,
        object_type=object_type,
        object_id=str(object_id),
        data=plain(data),
        previous_hash=head.entry_hash,
    )
    entry.entry_hash = entry_digest(entry)
    entry.save(force_insert=True)
    head.sequence, head.entry_hash = entry.sequence, entry.entry_hash
    head.seal = _seal(head)
    head.save(update_fields=["sequence", "entry_hash", "seal"])
    return entry


def _lock_head() -> AuditHead:
    head = AuditHead.objects.select_for_update().filter(id=1).first()
    if head is None:
        AuditHead.objects.bulk_create([AuditHead(id=1)], ignore_conflicts=True)
        head = AuditHead.objects.select_for_update().get(id=1)
    return head


def entry_digest(entry: AuditEntry) -> str:
    """SHA-256 over the canonical JSON of everything the entry says, the previous hash included."""
    return digest(
        {
            "sequence": entry.sequence,
            "at": iso(entry.at),
            "actor": entry.actor,
            "action": entry.action,
            "object_type": entry.object_type,
            "object_id": entry.object_id,
            "data": entry.data,
            "previous_hash": entry.previous_hash,
        }
    )


def verify() -> Iterator[str]:
    """Problems of the chain, in order; nothing when it is whole. Constant memory.

    The log may grow meanwhile: the head is read before the entries, and both again until no entry
    lies behind the head or the head stands still.
    """
    last, last_hash, before = 0, _GENESIS, None
    entries = AuditEntry.objects.order_by("sequence")
    while True:
        head = AuditHead.objects.filter(id=1).first() or AuditHead()
        unread = entries.filter(sequence__gt=last) if last else entries
        for entry in unread.iterator(chunk_size=500):
            yield from _entry_problems(entry, last, last_hash)
            last, last_hash = entry.sequence, entry.entry_hash
        if last <= head.sequence or head.sequence == before:
            break
        before = head.sequence
    yield from _head_problems(head, last, last_hash)


def _entry_problems(entry: AuditEntry, last: int, last_hash: str) -> Iterator[str]:
    if entry.sequence != last + 1:
        yield f"entry {last + 1} is missing (entry {entry.sequence} follows {last})"
    elif entry.previous_hash != last_hash:
        yield f"entry {entry.sequence} does not follow entry {last}: inserted or replaced"
    if entry_digest(entry) != entry.entry_hash:
        what = f"{entry.action} of {entry.object_type} {entry.object_id}"
        yield f"entry {entry.sequence} was changed ({what})"


def _head_problems(head: AuditHead, last: int, last_hash: str) -> Iterator[str]:
    if head.sequence and head.seal != _seal(head):
        yield f"the head of the log at entry {head.sequence} was forged (its seal does not fit)"
    if head.sequence > last:
        yield f"entries {last + 1} to {head.sequence} were removed from the end"
    elif head.sequence < last or head.entry_hash != last_hash:
        yield f"entry {last} was inserted or changed behind the head of the log"


def _seal(head: AuditHead) -> str:
    return _SIGNER.signature(f"{head.sequence}:{head.entry_hash}")


def checkpoint() -> dict[str, Any]:
    """What to keep elsewhere: the last sequence and hash, signed with the deployment's key."""
    with transaction.atomic():
        head = _lock_head()
    body = {"sequence": head.sequence, "entry_hash": head.entry_hash, "at": iso(now())}
    return {**body, "signature": _SIGNER.signature(digest(body))}


def checkpoint_problems(kept: Any) -> Iterator[str]:
    """What is wrong with the log when it is held against a checkpoint kept elsewhere."""
    body = {key: kept[key] for key in kept if key != "signature"} if isinstance(kept, dict) else {}
    if not body or kept.get("signature") != _SIGNER.signature(digest(body)):
        yield "the checkpoint was not signed by this deployment"
        return
    entry = AuditEntry.objects.filter(sequence=body["sequence"]).first()
    if entry is None and body["sequence"]:
        yield f"entry {body['sequence']} of the checkpoint is missing"
    elif entry is not None and entry.entry_hash != body["entry_hash"]:
        yield f"entry {entry.sequence} differs from the checkpoint: the log was rewritten"


def export_line(entry: AuditEntry) -> dict[str, Any]:
    """One entry as an export holds it; `entry_hash` can be recomputed from the other fields."""
    moment: datetime = entry.at
    fields = (
        "sequence",
        "actor",
        "action",
        "object_type",
        "object_id",
        "data",
        "previous_hash",
        "entry_hash",
    )
    return {"at": iso(moment), **{name: getattr(entry, name) for name in fields}}
