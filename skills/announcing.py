"""The orchestrators' entries in the agent directory: made at the start, renewed after each change.

What was registered last stands in the database, so nothing is lost with a process: a round compares
and sends what differs, or what was signed and is not known to have arrived.
"""

import logging

from asgiref.sync import async_to_sync
from django.conf import settings
from pydantic import ValidationError

from agents.directory import register
from agents.models import Agent, Registration
from agents.registering import (
    newest_of,
    registration_begin,
    registration_confirm,
    says_the_same,
    statement_of,
)
from agents.roles import Role
from agents.schemas import AgentProfile, PublicAgentProfile
from chimera.core.actors import acting
from chimera.core.errors import ChimeraError
from chimera.core.ids import new_id
from skills.profiles import profile_of

log = logging.getLogger("chimera.directory")


def profiles_announce() -> int:
    """Register every enabled orchestrator whose profile has changed; how many that were.

    A directory that does not answer ends the round; the next one tries again.
    """
    if not settings.CHIMERA.openclaw_url:
        return 0
    announced = 0
    for agent in Agent.objects.filter(type=Role.ORCHESTRATOR, enabled=True).order_by("id"):
        try:
            with acting("system:directory"):
                announced += _announce(agent)
        except ValidationError as problem:
            log.warning("the profile of %s cannot be published: %s", agent.id, problem)
        except ChimeraError as problem:
            log.warning("the profile of %s is not registered: %s", agent.id, problem)
            if problem.code == "NETWORK_ERROR":
                break
    return announced


def _announce(agent: Agent) -> bool:
    """False when the directory knows this profile already."""
    known = AgentProfile.model_validate(profile_of(agent)).public()
    newest = newest_of(agent.id)
    unchanged = says_the_same(newest, known)
    if unchanged and newest and newest.confirmed_at:
        return False
    overtaken = newest is not None and newest.entry is not None
    _send(newest if unchanged and not overtaken else None, known)
    return True


def _send(signed: Registration | None, known: PublicAgentProfile) -> None:
    """Send what was signed before, else sign anew."""
    registration = (
        signed or registration_begin(execution_id=new_id(), profile=known, known=known)[0]
    )
    entry, sequence = async_to_sync(register)(
        statement_of(registration), sent_before=signed is not None
    )
    registration_confirm(registration=registration, entry=entry, sequence=sequence)
