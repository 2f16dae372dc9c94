"""One of several processes that change one agent at once, for `tests.helpers.crew`.

`make` prints the id of a new agent; `states ID VERSION COUNT` changes its state and `sign ID COUNT`
signs statements of it, a line of JSON each.
"""

import json
import os
import sys
from typing import Any
from uuid import UUID, uuid4

from agents.models import Agent
from agents.registering import registration_begin
from agents.schemas import AgentProfile
from agents.services import agent_create
from agents.states import agent_state_update
from chimera.core.errors import ChimeraError
from skills.profiles import profile_of


def main(what: str, *given: str) -> None:
    """Do it and print what came of it."""
    match what, given:
        case "make", ():
            say(str(agent_create(name="Aurora", role="orchestrator", actor="system:test").id))
        case "states", (agent_id, version, count):
            for _ in range(int(count)):
                say(change(UUID(agent_id), int(version) or None))
        case "sign", (agent_id, count):
            for _ in range(int(count)):
                say(sign(UUID(agent_id)))


def change(agent_id: UUID, expected: int | None) -> int | str:
    """The new version, or why there is none."""
    try:
        agent = agent_state_update(
            agent_id=agent_id,
            changes={"pending_tasks": os.getpid()},
            actor="system:test",
            expected_version=expected,
        )
    except ChimeraError as refusal:
        return refusal.code
    return agent.version


def sign(agent_id: UUID) -> list[Any]:
    """Sequence and signature of a new statement."""
    profile = AgentProfile.model_validate(profile_of(Agent.objects.get(id=agent_id))).public()
    made, _ = registration_begin(execution_id=uuid4(), profile=profile, known=profile)
    return [made.sequence, made.signature]


def say(value: Any) -> None:
    sys.stdout.write(json.dumps(value) + "\n")
