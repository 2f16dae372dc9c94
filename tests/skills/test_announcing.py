"""The orchestrators' profiles in the directory: at the start, after each change, and only then."""

from datetime import timedelta
from typing import Any

import pytest

from agents.models import Agent, AgentKey, Registration
from agents.states import agent_state_update
from chimera.core.clock import now
from chimera.core.models import AuditEntry
from skills.models import SkillExecution
from skills.tasks import announce_profiles
from tests.helpers.calls import call
from tests.helpers.http import HTTP
from tests.helpers.world import arm_fault


def standing(world: str, agent: Agent) -> Any:
    """The directory's entry, None where there is none."""
    answer = HTTP.get(f"{world}/directory/agents/{agent.id}")
    return answer.json() if answer.status_code == 200 else None


def pause(agent: Agent) -> None:
    agent_state_update(agent_id=agent.id, changes={"status": "paused"}, actor="system:test")


@pytest.mark.req("A10.5")
def test_at_the_start_every_orchestrator_is_registered_and_nobody_else(
    sandbox: str, orchestrator: Agent, outsider: Agent, cashier: Agent
) -> None:
    Agent.objects.filter(id=outsider.id).update(enabled=False)

    announce_profiles()

    assert standing(sandbox, orchestrator)["profile"]["name"] == "Aurora"
    assert standing(sandbox, outsider) is None and standing(sandbox, cashier) is None
    assert AuditEntry.objects.get(action="profile.registered").actor == "system:directory"
    assert not SkillExecution.objects.exists(), "it takes nothing of the agent's rate"


@pytest.mark.req("A10.5")
def test_a_change_is_registered_once_and_time_alone_is_no_change(
    sandbox: str, orchestrator: Agent
) -> None:
    announce_profiles()
    Agent.objects.update(last_heartbeat=now() - timedelta(minutes=3))
    announce_profiles()
    assert standing(sandbox, orchestrator)["sequence"] == 1

    pause(orchestrator)
    announce_profiles()
    announce_profiles()

    found = standing(sandbox, orchestrator)
    assert (found["sequence"], found["profile"]["availability"]) == (2, "maintenance")


@pytest.mark.req("A10.5", "A10.3")
def test_a_profile_that_the_orchestrator_registered_itself_stands_until_a_change(
    sandbox: str, orchestrator: Agent
) -> None:
    profile = call(orchestrator, "get_agent_profile", agent_id=str(orchestrator.id)).output
    own = profile | {"capabilities": ["quality_control"]}
    call(orchestrator, "register_openclaw_profile", agent_profile=own)

    announce_profiles()

    assert standing(sandbox, orchestrator)["profile"]["capabilities"] == ["quality_control"]
    pause(orchestrator)
    announce_profiles()
    assert standing(sandbox, orchestrator)["sequence"] == 2


@pytest.mark.req("A10.5", "X3")
def test_a_directory_that_was_down_gets_the_signed_statement_in_the_next_round(
    sandbox: str, orchestrator: Agent
) -> None:
    arm_fault(sandbox, "directory", "down", 2)
    announce_profiles()
    assert standing(sandbox, orchestrator) is None

    announce_profiles()

    found = standing(sandbox, orchestrator)
    assert found["signature"] == Registration.objects.get().signature
    assert AgentKey.objects.get().sequence == 1


@pytest.mark.req("A10.5", "X2")
def test_an_answer_that_was_lost_is_looked_up_and_not_sent_again(
    sandbox: str, orchestrator: Agent
) -> None:
    announce_profiles()
    Registration.objects.update(confirmed_at=None, entry=None)  # as a process dies after sending
    before = standing(sandbox, orchestrator)

    announce_profiles()

    assert standing(sandbox, orchestrator) == before and Registration.objects.get().confirmed_at


@pytest.mark.req("A10.5", "A10.2")
def test_a_database_that_forgot_its_sequence_is_heard_again_after_two_rounds(
    sandbox: str, orchestrator: Agent
) -> None:
    announce_profiles()
    pause(orchestrator)
    announce_profiles()
    Registration.objects.all().delete()
    AgentKey.objects.update(sequence=0)

    for _ in range(3):
        announce_profiles()

    assert standing(sandbox, orchestrator)["sequence"] == 3
    assert Registration.objects.exclude(confirmed_at=None).get().sequence == 3


@pytest.mark.req("A10.5")
def test_after_a_day_the_profile_is_said_again(sandbox: str, orchestrator: Agent) -> None:
    announce_profiles()
    Registration.objects.update(created_at=now() - timedelta(hours=25))

    announce_profiles()

    assert standing(sandbox, orchestrator)["sequence"] == 2


def test_without_a_directory_nothing_is_signed(orchestrator: Agent, settings: Any) -> None:
    settings.CHIMERA = settings.CHIMERA.model_copy(update={"chimera_environment": "production"})

    announce_profiles()

    assert not AgentKey.objects.exists()


def test_a_round_ends_at_a_directory_that_does_not_answer(
    orchestrator: Agent, outsider: Agent, settings: Any
) -> None:
    settings.CHIMERA = settings.CHIMERA.model_copy(
        update={"chimera_openclaw_url": "http://127.0.0.1:9"}
    )

    announce_profiles()

    assert Registration.objects.count() == 1


def test_a_profile_that_cannot_be_published_does_not_hold_up_the_others(
    sandbox: str, orchestrator: Agent, outsider: Agent
) -> None:
    Agent.objects.filter(id=orchestrator.id).update(capabilities=[])

    announce_profiles()

    assert standing(sandbox, orchestrator) is None
    assert standing(sandbox, outsider)["profile"]["name"] == "Outsider"
