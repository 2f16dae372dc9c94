"""Steps of another role: only through an agent that a person has named for this workflow."""

import pytest

from agents.models import Agent
from chimera.core.errors import ChimeraError
from skills.models import SkillExecution
from skills.workflows.definition import Definition, parse
from skills.workflows.engine import advance
from skills.workflows.models import StandIn, WorkflowRun
from skills.workflows.services import run_cancel, run_start

pytestmark = [pytest.mark.django_db, pytest.mark.req("W2")]
BALANCE = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"


def paying(version: int = 1) -> Definition:
    """A workflow with a step that only a judge of payments may take."""
    steps = [{"skill_name": "debit_wallet", "mapping": {"wallet_address": "input.wallet"}}]
    return parse({"name": "paying", "version": version, "steps": [{"wait_seconds": 60}, *steps]})


def name_stand_in(orchestrator: Agent, cashier: Agent) -> StandIn:
    return StandIn.objects.create(
        workflow="paying", version=1, agent=orchestrator, role="cfo_judge", stand_in=cashier
    )


def test_without_a_stand_in_nothing_begins(orchestrator: Agent, cashier: Agent) -> None:
    with pytest.raises(ChimeraError, match="stand-in for paying v1"):
        run_start(agent=orchestrator, definition=paying(), data={})
    assert not WorkflowRun.objects.exists()


def test_a_stand_in_takes_the_steps_of_its_role_and_no_token_scope_of_the_caller_is_needed(
    orchestrator: Agent, cashier: Agent
) -> None:
    name_stand_in(orchestrator, cashier)
    steps = [{"skill_name": "fetch_wallet_balance", "mapping": {"wallet_address": "input.wallet"}}]
    definition = parse({"name": "paying", "steps": [*steps, {"skill_name": "debit_wallet"}]})

    run = run_start(
        agent=orchestrator,
        definition=definition,
        data={"wallet": BALANCE},
        scopes=frozenset({"skills:fetch_wallet_balance"}),
    )
    advance(run.id)

    assert SkillExecution.objects.get().agent_id == cashier.id
    assert run_cancel(agent=orchestrator, run_id=run.id).status == "cancelled"
    assert SkillExecution.objects.get().status == "cancelled"


@pytest.mark.parametrize("change", ["removed", "disabled", "another role"])
def test_a_stand_in_that_is_no_more_fails_the_step(
    orchestrator: Agent, cashier: Agent, change: str
) -> None:
    named = name_stand_in(orchestrator, cashier)
    run = run_start(agent=orchestrator, definition=paying(), data={"wallet": BALANCE})
    run.definition["steps"][0]["wait_seconds"] = 0
    run.save()
    if change == "removed":
        named.delete()
    elif change == "disabled":
        Agent.objects.filter(id=cashier.id).update(enabled=False)
    else:
        Agent.objects.filter(id=cashier.id).update(type="content_creator")

    run = advance(run.id)

    assert run.status == "failed" and run.error["code"] == "FORBIDDEN"
    assert not SkillExecution.objects.exists()


def test_a_new_version_has_no_stand_in(orchestrator: Agent, cashier: Agent) -> None:
    name_stand_in(orchestrator, cashier)

    with pytest.raises(ChimeraError, match="FORBIDDEN"):
        run_start(agent=orchestrator, definition=paying(2), data={})


def test_a_stand_in_of_one_agent_is_none_for_another(
    orchestrator: Agent, outsider: Agent, cashier: Agent
) -> None:
    name_stand_in(orchestrator, cashier)

    with pytest.raises(ChimeraError, match="FORBIDDEN"):
        run_start(agent=outsider, definition=paying(), data={})
