"""register_openclaw_profile against the sandbox's directory: signed, newest wins, never lost."""

import base64
import json
from datetime import timedelta
from decimal import Decimal
from typing import Any
from uuid import uuid4

import jwt
import pytest
from jwt.algorithms import OKPAlgorithm

from agents.models import Agent, AgentKey, Registration
from chimera.core.clock import now
from chimera.core.digest import canonical
from chimera.core.jsontext import dumps, plain
from chimera.core.models import AuditEntry
from skills.models import SkillExecution, Status
from skills.profiles import profile_of
from skills.services import submit
from tests.helpers.calls import again, attempt, call, drive
from tests.helpers.http import HTTP
from tests.helpers.world import arm_fault
from wallets.models import Wallet

SKILL = "register_openclaw_profile"
PRIVATE = {
    "status",
    "wallet_address",
    "wallet_balance",
    "last_execution",
    "persona_version",
    "version",
    "rejection_count",
}


def profile(agent: Agent, **changes: Any) -> dict[str, Any]:
    agent.refresh_from_db()
    return dict(plain(profile_of(agent) | changes))


def register(caller: Agent, agent: Agent | None = None, **changes: Any) -> SkillExecution:
    return call(caller, SKILL, agent_profile=profile(agent or caller, **changes))


def standing(world: str, agent: Agent) -> Any:
    """The directory's entry, None where there is none."""
    answer = HTTP.get(f"{world}/directory/agents/{agent.id}")
    return answer.json() if answer.status_code == 200 else None


def killed(execution: SkillExecution, **changes: Any) -> None:
    """As a worker leaves an execution when it dies before it has saved the result."""
    SkillExecution.objects.filter(id=execution.id).update(
        status=Status.RUNNING,
        lease="gone|1|1|x",
        lease_until=now() - timedelta(seconds=1),
        output=None,
        completed_at=None,
    )
    Registration.objects.filter(execution_id=execution.id).update(**changes)


@pytest.mark.req("A10.1", "A10.2")
def test_a_registered_profile_is_signed_by_the_agent_and_keeps_its_secrets(
    sandbox: str, orchestrator: Agent, cashier: Agent, purse: Wallet
) -> None:
    execution = register(orchestrator, cashier)

    assert execution.status == Status.COMPLETED, execution.error
    found = standing(sandbox, cashier)
    assert execution.output["registered"] is True
    assert execution.output["profile_url"] == f"{sandbox}/agents/{cashier.id}"
    assert execution.output["directory_id"] == found["directory_id"]
    assert execution.output["registered_at"] == found["registered_at"]
    assert not PRIVATE & set(found["profile"]) and purse.address not in json.dumps(found)
    key = AgentKey.objects.get(agent=cashier)
    header = jwt.get_unverified_header(found["signature"])
    assert (header["alg"], header["kid"], header["jwk"]) == ("EdDSA", key.kid, key.public_jwk)
    said = jwt.PyJWS().decode(
        found["signature"], OKPAlgorithm.from_jwk(key.public_jwk), algorithms=["EdDSA"]
    )
    assert said == canonical({"profile": found["profile"], "sequence": 1})
    entry = AuditEntry.objects.get(action="profile.registered")
    assert (entry.actor, entry.object_id) == (orchestrator.actor, str(cashier.id))
    assert entry.data["sequence"] == 1 and entry.data["profile"] == found["profile"]


@pytest.mark.req("A10.2")
def test_the_private_key_is_stored_encrypted_and_shown_nowhere(
    sandbox: str, orchestrator: Agent
) -> None:
    execution = register(orchestrator)

    key = AgentKey.objects.get(agent=orchestrator)
    sealed = bytes(key.sealed_private)
    assert sealed.startswith(b"gAAAA") and len(sealed) > 64
    assert "d" not in key.public_jwk and b'"d"' not in base64.b64decode(
        standing(sandbox, orchestrator)["signature"].split(".")[0] + "=="
    )
    assert sealed.decode() not in json.dumps(plain(execution.output))


@pytest.mark.req("A10.3", "A10.2")
def test_registering_again_updates_the_one_entry_with_a_higher_sequence(
    sandbox: str, orchestrator: Agent
) -> None:
    first = register(orchestrator)
    second = register(orchestrator, capabilities=["quality_control"])

    found = standing(sandbox, orchestrator)
    assert second.output == first.output, "the entry is the same one"
    assert (found["sequence"], found["profile"]["capabilities"]) == (2, ["quality_control"])
    assert AgentKey.objects.get(agent=orchestrator).sequence == 2


@pytest.mark.req("A10.2")
def test_what_the_platform_measures_cannot_be_improved_by_the_caller(
    sandbox: str, orchestrator: Agent
) -> None:
    register(orchestrator, reputation_score=1.0, uptime_24h=12.5)

    published = standing(sandbox, orchestrator)["profile"]
    assert (published["reputation_score"], published["uptime_24h"]) == (0.5, 100.0)


@pytest.mark.req("A10.2")
def test_a_price_with_more_digits_than_a_double_is_signed_as_text(
    sandbox: str, orchestrator: Agent
) -> None:
    price = {"currency": "ETH", "rate_per_task": Decimal("0.123456789012345678")}

    execution = register(orchestrator, pricing=price)

    assert execution.output["registered"] is True, execution.warnings
    published = standing(sandbox, orchestrator)["profile"]["pricing"]
    assert published["rate_per_task"] == "0.123456789012345678"


@pytest.mark.req("A10.3", "X2")
@pytest.mark.parametrize("kind", ["500_after_effect", "cut_after_effect", "malformed", "slow"])
def test_an_answer_that_is_lost_is_looked_up_and_nothing_is_sent_twice(
    sandbox: str, orchestrator: Agent, kind: str
) -> None:
    arm_fault(sandbox, "directory", kind)

    execution = register(orchestrator)

    assert execution.status == Status.COMPLETED and execution.output["registered"], execution.error
    assert execution.retry_count == 0 and not execution.warnings
    found = standing(sandbox, orchestrator)
    assert found["sequence"] == 1 and found["updated_at"] == found["registered_at"]


@pytest.mark.req("A10.3", "X3")
@pytest.mark.parametrize("confirmed", [True, False])
def test_a_worker_that_died_after_sending_registers_nothing_twice(
    sandbox: str, orchestrator: Agent, confirmed: bool
) -> None:
    execution = register(orchestrator)
    first, before = execution.output, standing(sandbox, orchestrator)
    killed(execution, **({} if confirmed else {"confirmed_at": None, "entry": None}))

    assert attempt(execution)

    assert execution.output == first and standing(sandbox, orchestrator) == before
    assert Registration.objects.get().confirmed_at


@pytest.mark.req("X3")
def test_a_worker_that_died_before_sending_sends_the_statement_it_had_signed(
    sandbox: str, orchestrator: Agent
) -> None:
    arm_fault(sandbox, "directory", "down", 2)
    execution = call_once(orchestrator)
    signed = Registration.objects.get().signature
    assert execution.status == Status.RETRYING and standing(sandbox, orchestrator) is None

    again(execution)

    assert execution.status == Status.COMPLETED, execution.error
    assert standing(sandbox, orchestrator)["signature"] == signed
    assert AgentKey.objects.get().sequence == 1


def call_once(agent: Agent) -> SkillExecution:
    data = {"agent_profile": profile(agent)}
    execution = submit(agent=agent, skill_name=SKILL, data=data, wake=False).execution
    attempt(execution)
    return execution


@pytest.mark.req("A10.2", "X3")
def test_a_statement_overtaken_by_a_newer_one_does_not_bring_the_old_profile_back(
    sandbox: str, orchestrator: Agent
) -> None:
    arm_fault(sandbox, "directory", "down", 2)
    late = call_once(orchestrator)
    register(orchestrator, capabilities=["quality_control"])

    drive(late)

    assert late.status == Status.COMPLETED and late.output["registered"]
    assert late.warnings == ["SUPERSEDED"]
    found = standing(sandbox, orchestrator)
    assert (found["sequence"], found["profile"]["capabilities"]) == (2, ["quality_control"])
    assert [each.sequence for each in Registration.objects.exclude(confirmed_at=None)] == [2]


@pytest.mark.req("A10.2")
def test_a_database_that_forgot_its_sequence_goes_on_above_the_directorys(
    sandbox: str, orchestrator: Agent
) -> None:
    for _ in range(3):
        register(orchestrator)
    Registration.objects.all().delete()
    AgentKey.objects.update(sequence=0)

    overtaken = register(orchestrator, capabilities=["quality_control"])
    following = register(orchestrator, capabilities=["quality_control"])

    assert overtaken.warnings == ["SUPERSEDED"] and not following.warnings
    found = standing(sandbox, orchestrator)
    assert (found["sequence"], found["profile"]["capabilities"]) == (4, ["quality_control"])


@pytest.mark.provokes("register_openclaw_profile", "REGISTRATION_FAILED")
@pytest.mark.req("A10.4")
@pytest.mark.parametrize("kind", ["down", "429"])
def test_a_directory_that_stays_down_stops_nobody(
    sandbox: str, orchestrator: Agent, kind: str
) -> None:
    arm_fault(sandbox, "directory", kind, 100)

    execution = register(orchestrator)

    assert execution.status == Status.COMPLETED and execution.output == {"registered": False}
    assert execution.warnings == ["REGISTRATION_FAILED"] and execution.retry_count == 3
    assert Registration.objects.get().confirmed_at is None


@pytest.mark.req("A10.4")
def test_a_directory_that_comes_back_within_the_retries_has_the_profile(
    sandbox: str, orchestrator: Agent
) -> None:
    arm_fault(sandbox, "directory", "down", 4)  # send and look-up, then look-up alone

    execution = register(orchestrator)

    assert execution.status == Status.COMPLETED and execution.output["registered"] is True
    assert execution.retry_count == 3 and not execution.warnings


@pytest.mark.req("A10.4", "A10.2")
def test_a_refusal_for_good_is_not_sent_again(sandbox: str, orchestrator: Agent) -> None:
    register(orchestrator)
    Registration.objects.all().delete()
    AgentKey.objects.all().delete()  # the directory knows the agent by the key that is gone

    execution = register(orchestrator, capabilities=["quality_control"])

    assert execution.status == Status.COMPLETED and execution.output == {"registered": False}
    assert execution.warnings == ["REGISTRATION_FAILED"] and execution.retry_count == 0
    assert "another key" in execution.output_text
    assert standing(sandbox, orchestrator)["profile"]["capabilities"] != ["quality_control"]


@pytest.mark.provokes("register_openclaw_profile", "NETWORK_ERROR")
@pytest.mark.req("A10.4")
def test_a_directory_that_cannot_be_reached_fails_after_three_retries(
    orchestrator: Agent, settings: Any
) -> None:
    settings.CHIMERA = settings.CHIMERA.model_copy(
        update={"chimera_openclaw_url": "http://127.0.0.1:9"}
    )

    execution = register(orchestrator)

    assert execution.status == Status.FAILED and execution.retry_count == 3
    assert execution.error["code"] == "NETWORK_ERROR" and execution.error["http_status"] == 503


def test_a_deployment_without_a_directory_says_which_setting_is_missing(
    orchestrator: Agent, settings: Any
) -> None:
    settings.CHIMERA = settings.CHIMERA.model_copy(update={"chimera_environment": "production"})

    execution = register(orchestrator)

    assert execution.error["code"] == "RESOURCE_UNAVAILABLE"
    assert "CHIMERA_OPENCLAW_URL" in execution.error["message"]
    assert not AgentKey.objects.exists() and not Registration.objects.exists()


@pytest.mark.provokes("register_openclaw_profile", "INVALID_PROFILE")
@pytest.mark.req("A10.4")
@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"name": "A"}, "name"),
        ({"capabilities": []}, "capabilities"),
        ({"capabilities": ["flying"]}, "capabilities.0"),
        ({"reputation_score": 1.5}, "reputation_score"),
        ({"max_concurrent_tasks": 0}, "max_concurrent_tasks"),
        ({"secret": "x"}, "secret"),
    ],
)
def test_a_profile_that_breaks_the_schema_is_refused_by_field(
    orchestrator: Agent, api: Any, changes: dict[str, Any], field: str
) -> None:
    body = dumps({"input": {"agent_profile": profile(orchestrator, **changes)}})

    answer = api(orchestrator).post(
        f"/api/v1/skills/{SKILL}/executions/", body, content_type="application/json"
    )

    assert (answer.status_code, answer.json()["code"]) == (422, "INVALID_PROFILE")
    assert list(answer.json()["errors"]) == [f"agent_profile.{field}"]
    assert not AgentKey.objects.exists()


@pytest.mark.req("A10.4")
@pytest.mark.parametrize("changes", [{"agent_id": str(uuid4())}, {"type": "judge"}])
def test_a_profile_of_nobody_here_is_refused_and_not_sent(
    sandbox: str, orchestrator: Agent, changes: dict[str, Any]
) -> None:
    execution = register(orchestrator, **changes)

    assert execution.error["code"] == "INVALID_PROFILE" and execution.error["http_status"] == 422
    assert list(execution.error["details"]["errors"]) == [f"agent_profile.{next(iter(changes))}"]
    assert standing(sandbox, orchestrator) is None and not Registration.objects.exists()


@pytest.mark.req("A0.2")
def test_only_an_orchestrator_registers(cashier: Agent, api: Any) -> None:
    body = dumps({"input": {"agent_profile": profile(cashier)}})

    answer = api(cashier).post(
        f"/api/v1/skills/{SKILL}/executions/", body, content_type="application/json"
    )

    assert (answer.status_code, answer.json()["code"]) == (403, "FORBIDDEN")
    assert not AgentKey.objects.exists()
