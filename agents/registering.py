"""Registrations: a profile is signed and kept before it is sent, and confirmed once it stands."""

from datetime import timedelta
from typing import Any
from uuid import UUID

from django.db import IntegrityError, transaction

from agents.directory import Entry, Statement
from agents.models import Registration
from agents.schemas import PublicAgentProfile
from agents.signing import (
    agent_key_ensure,
    as_signed,
    sequence_next,
    sequence_raise,
    statement_sign,
)
from chimera.core import audit
from chimera.core.actors import current_actor
from chimera.core.clock import now
from chimera.core.digest import digest
from chimera.core.jsontext import plain

DRIFTING = {"last_heartbeat", "uptime_24h"}
"""Fields that time changes by itself: no reason to register again."""
REFRESH_AFTER = timedelta(days=1)


def registration_begin(
    *, execution_id: UUID, profile: PublicAgentProfile, known: PublicAgentProfile
) -> tuple[Registration, bool]:
    """The signed statement of this execution, and whether it was made now.

    profile: what is published; known: what the platform itself would publish at this moment.
    """
    key = agent_key_ensure(agent_id=profile.agent_id)
    try:
        with transaction.atomic():
            sequence = sequence_next(key=key)
            shown = as_signed(profile)
            signature = statement_sign(key=key, statement={"profile": shown, "sequence": sequence})
            made = Registration.objects.create(
                execution_id=execution_id,
                agent_id=profile.agent_id,
                sequence=sequence,
                digest=profile_digest(known),
                profile=shown,
                signature=signature,
            )
            return made, True
    except IntegrityError:
        return Registration.objects.get(execution_id=execution_id), False


def registration_find(execution_id: UUID) -> Registration | None:
    """What this execution has begun."""
    return Registration.objects.filter(execution_id=execution_id).first()


def registration_confirm(*, registration: Registration, entry: Entry, sequence: int) -> None:
    """Keep what the directory answered; a sequence that is not ours shows that we were overtaken."""
    shown = plain(entry.model_dump(include=set(Entry.model_fields)))
    mine = Registration.objects.filter(execution_id=registration.execution_id)
    if sequence != registration.sequence:
        sequence_raise(agent_id=registration.agent_id, seen=sequence)
        mine.update(entry=shown)
    else:
        with transaction.atomic():
            if mine.filter(confirmed_at=None).update(entry=shown, confirmed_at=now()):
                _record(registration, shown)
    registration.entry = shown


def _record(registration: Registration, entry: dict[str, Any]) -> None:
    audit.record(
        actor=current_actor(),
        action="profile.registered",
        object_type="agent",
        object_id=registration.agent_id,
        data={"sequence": registration.sequence, "profile": registration.profile, **entry},
    )


def statement_of(registration: Registration) -> Statement:
    """What is sent for a registration."""
    return Statement(
        registration.agent_id,
        registration.sequence,
        registration.profile,
        registration.signature,
    )


def profile_digest(profile: PublicAgentProfile) -> str:
    """Digest of what a reader would call a change of the profile."""
    return digest(profile.model_dump(exclude=DRIFTING))


def newest_of(agent_id: UUID) -> Registration | None:
    """The newest registration of the agent, whether it stands or not."""
    return Registration.objects.filter(agent_id=agent_id).order_by("-sequence").first()


def says_the_same(registration: Registration | None, known: PublicAgentProfile) -> bool:
    """True when the profile has not changed since; after a day it is said again."""
    if registration is None:
        return False
    fresh = registration.created_at > now() - REFRESH_AFTER
    return fresh and registration.digest == profile_digest(known)
