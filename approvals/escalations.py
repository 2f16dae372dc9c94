"""What only a person can put right: opened by the framework, settled by a person."""

from typing import Any
from uuid import UUID

from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.db.models import F

from approvals.models import Escalation
from approvals.subjects import subject_of
from chimera.core import audit
from chimera.core.clock import now
from chimera.core.errors import ChimeraError
from chimera.core.jsontext import plain
from content.settling import Verdict, publication_settle

State = Escalation.State


def escalation_open(
    *,
    agent_id: UUID,
    execution_id: UUID | None,
    skill: str,
    code: str,
    sentence: str,
    context: dict[str, Any],
    subject: str = "",
) -> None:
    """Put an item into the inbox, or count the one that is open for the same trouble."""
    trouble = {"agent_id": agent_id, "skill": skill, "code": code, "subject": subject}
    newest = {
        "execution_id": execution_id,
        "sentence": sentence[:400],
        "context": plain(context),
        "last_at": now(),
    }
    if _count(trouble, newest):
        return
    try:
        with transaction.atomic():
            Escalation.objects.create(**trouble, **newest)
    except IntegrityError:
        _count(trouble, newest)


def _count(trouble: dict[str, Any], newest: dict[str, Any]) -> int:
    standing = Escalation.objects.filter(**trouble, state=State.OPEN)
    return standing.update(count=F("count") + 1, **newest)


def escalation_settle(*, escalation_id: UUID, person: User, note: str) -> Escalation:
    """Close the item with a note of what was done about it.

    INVALID_INPUT without a note, INVALID_STATE_TRANSITION while an outcome it is about is open,
    CONCURRENCY_ERROR when somebody else has settled it.
    """
    item = Escalation.objects.get(id=escalation_id)
    if subject_of(item).is_open:
        raise ChimeraError(
            "INVALID_STATE_TRANSITION", "The outcome is still open; nothing was changed."
        )
    with transaction.atomic():
        if not _close(item, person, note):
            raise ChimeraError(
                "CONCURRENCY_ERROR", "Somebody else has settled this; nothing was changed."
            )
    item.refresh_from_db()
    return item


def outcome_settle(
    *,
    escalation_id: UUID,
    person: User,
    verdict: Verdict,
    note: str,
    post_url: str = "",
    post_id: str = "",
) -> Escalation:
    """Settle the unknown post that the item is about, and the item with it, all or nothing.

    Errors: those of `content.settling.publication_settle`; NOT_FOUND where it is about no post.
    """
    item = Escalation.objects.get(id=escalation_id)
    post = subject_of(item).publication
    if post is None:
        raise ChimeraError("NOT_FOUND", "This item is about no post; nothing was changed.")
    with transaction.atomic():
        publication_settle(
            publication_id=post.id,
            verdict=verdict,
            actor=_actor(person),
            note=note,
            post_url=post_url,
            post_id=post_id,
        )
        _close(item, person, note)
    item.refresh_from_db()
    return item


def outcome_known(*, execution_id: UUID, note: str) -> None:
    """Close the item of an outcome that has become known by itself."""
    about = {"execution_id": execution_id, "code": "OUTCOME_UNKNOWN", "state": State.OPEN}
    for item in Escalation.objects.filter(**about):
        _close(item, None, note)


def _close(item: Escalation, person: User | None, note: str) -> int:
    """One conditional update and its audit entry; 0 when the item was settled before."""
    note = note.strip()
    if not note:
        raise ChimeraError("INVALID_INPUT", "Write what was done about it; nothing was changed.")
    closed = Escalation.objects.filter(id=item.id, state=State.OPEN).update(
        state=State.SETTLED, note=note[:1000], settled_at=now(), settled_by=person
    )
    if closed:
        audit.record(
            actor=_actor(person) if person else "system:outcome",
            action="escalation.settled",
            object_type="escalation",
            object_id=item.id,
            data={"code": item.code, "skill": item.skill, "count": item.count, "note": note[:1000]},
        )
    return closed


def _actor(person: User) -> str:
    return f"person:{person.pk}"
