"""The way in: the order of the checks, and what a key makes of a second call."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.contrib.auth.models import User

from agents.models import Agent
from agents.roles import Role
from approvals.models import ApprovalRequest
from chimera.core import ratelimit
from chimera.core.clock import now
from chimera.core.errors import ChimeraError
from content.models import ContentPackage
from skills.models import SkillExecution, Status
from skills.services import execution_cancel, submit
from tests.helpers.calls import call, drive, package

MakeSkill = Callable[..., Any]
URL = "/api/v1/skills/{}/executions/"
CONTENT = "/api/v1/content/"


def post(client: Any, skill: str, body: Any, **headers: str) -> Any:
    return client.post(URL.format(skill), body, content_type="application/json", headers=headers)


@pytest.fixture
def limit(settings: Any) -> Callable[[int], None]:
    """Sets CHIMERA_RATE_LIMIT for this test."""

    def set_to(calls: int) -> None:
        settings.CHIMERA = settings.CHIMERA.model_copy(update={"chimera_rate_limit": calls})

    return set_to


def test_without_a_token_even_an_unknown_skill_answers_401(client: Any, db: None) -> None:
    answer = post(client, "no_such_skill", "{not json")

    assert (answer.status_code, answer.json()["code"]) == (401, "UNAUTHENTICATED")


@pytest.mark.req("W5")
def test_above_the_rate_even_an_unknown_skill_answers_429(
    api: Any, orchestrator: Agent, limit: Callable[[int], None]
) -> None:
    client = api(orchestrator)
    limit(1)
    post(client, "no_such_skill", {"input": {}})

    answer = post(client, "no_such_skill", "{not json")

    assert (answer.status_code, answer.json()["code"]) == (429, "RATE_LIMITED")
    assert 1 <= int(answer.headers["Retry-After"]) <= 60
    assert not SkillExecution.objects.exists()


@pytest.mark.req("W5")
def test_other_changes_have_a_limit_of_their_own(
    api: Any, orchestrator: Agent, limit: Callable[[int], None]
) -> None:
    client = api(orchestrator)
    limit(1)
    content = package()
    assert client.post(CONTENT, content, content_type="application/json").status_code == 201

    for path in (CONTENT, "/api/v1/approvals/", "/api/v1/workflows/"):
        answer = client.post(path, package(), content_type="application/json")
        assert (answer.status_code, answer.json()["code"]) == (429, "RATE_LIMITED")

    assert ContentPackage.objects.count() == 1 and not ApprovalRequest.objects.exists()
    assert post(client, "echo", {"input": {}}).status_code == 202


def test_an_unknown_skill_is_told_before_the_body_is_read(api: Any, orchestrator: Agent) -> None:
    answer = post(api(orchestrator), "no_such_skill", "{not json")

    assert (answer.status_code, answer.json()["code"]) == (404, "SKILL_NOT_FOUND")


@pytest.mark.req("A0.7")
def test_a_version_that_was_served_once_is_gone(
    api: Any, orchestrator: Agent, make_skill: MakeSkill
) -> None:
    make_skill(metadata={"version": "3.0"})

    answer = post(api(orchestrator), "probe@v1.0", {"input": {}})

    assert (answer.status_code, answer.json()["code"]) == (410, "VERSION_GONE")


@pytest.mark.req("A0.7")
def test_a_compatible_version_is_kept_on_the_execution(
    orchestrator: Agent, make_skill: MakeSkill
) -> None:
    make_skill(metadata={"version": "1.1"}, compatible_versions=("1.0",))

    old = call(orchestrator, "probe@v1.0")
    new = call(orchestrator, "probe")

    assert (old.version, new.version) == ("1.0", "1.1")


@pytest.mark.req("A0.2")
def test_another_role_is_forbidden_before_its_input_is_looked_at(api: Any, cashier: Agent) -> None:
    answer = post(api(cashier), "fetch_trends", {"input": {"platform": 7}})

    assert (answer.status_code, answer.json()["code"]) == (403, "FORBIDDEN")
    assert not SkillExecution.objects.exists()


@pytest.mark.req("A0.2")
def test_a_token_of_another_scope_is_forbidden(api: Any, orchestrator: Agent) -> None:
    answer = post(api(orchestrator, "skills:semantic_filter"), "fetch_trends", "{not json")

    assert (answer.status_code, answer.json()["code"]) == (403, "FORBIDDEN")
    assert "skills:fetch_trends" in answer.json()["detail"]


@pytest.mark.parametrize("role", [role for role in Role if role != Role.CFO_JUDGE])
@pytest.mark.req("A0.2")
def test_nobody_but_the_cfo_judge_may_reach_the_wallet_skills(role: str, db: None) -> None:
    agent = Agent.objects.create(name="Somebody", type=role)

    for skill in ("debit_wallet", "fetch_wallet_balance"):
        with pytest.raises(ChimeraError, match="FORBIDDEN"):
            submit(agent=agent, skill_name=skill, data={}, wake=False)


@pytest.mark.parametrize(
    ("body", "named"),
    [
        ({}, "input"),
        ({"input": {}, "more": 1}, "input"),
        ([], "input"),
        ({"input": {"word": 7}}, "word"),
        ({"input": {"word": None}}, "word"),
        ({"input": {"other": "x"}}, "other"),
        ({"input": "text"}, ""),
        ({"input": {"word": "a\0b"}}, "input.word"),
    ],
)
def test_bad_input_is_named_and_nothing_is_stored(
    body: Any, named: str, api: Any, orchestrator: Agent, make_skill: MakeSkill
) -> None:
    calls = make_skill()

    answer = post(api(orchestrator), "probe", body)

    assert (answer.status_code, answer.json()["code"]) == (400, "INVALID_INPUT")
    assert named in answer.json()["errors"]
    assert not SkillExecution.objects.exists() and not calls


@pytest.mark.req("A0.8")
def test_a_replay_returns_the_same_execution(
    api: Any, orchestrator: Agent, make_skill: MakeSkill
) -> None:
    calls = make_skill()
    first = call(orchestrator, "probe", key="k1", word="once")

    answer = post(
        api(orchestrator), "probe", {"input": {"word": "once"}}, **{"Idempotency-Key": "k1"}
    )

    assert answer.status_code == 200 and answer.headers["Idempotency-Replayed"] == "true"
    assert answer.json()["id"] == str(first.id)
    assert len(calls) == 1 and SkillExecution.objects.count() == 1


def test_a_key_with_another_body_is_a_conflict(orchestrator: Agent, make_skill: MakeSkill) -> None:
    calls = make_skill()
    call(orchestrator, "probe", key="k1", word="once")

    with pytest.raises(ChimeraError, match="IDEMPOTENCY_CONFLICT"):
        call(orchestrator, "probe", key="k1", word="twice")

    assert len(calls) == 1


def test_a_key_whose_first_call_still_runs_says_so(
    orchestrator: Agent, make_skill: MakeSkill
) -> None:
    make_skill()
    first = submit(
        agent=orchestrator, skill_name="probe", data={}, idempotency_key="k1", wake=False
    )

    with pytest.raises(ChimeraError) as refusal:
        submit(agent=orchestrator, skill_name="probe", data={}, idempotency_key="k1", wake=False)

    assert refusal.value.code == "IN_PROGRESS"
    assert refusal.value.details == {"execution_id": str(first.execution.id)}


def test_two_agents_may_use_the_same_key(
    orchestrator: Agent, outsider: Agent, make_skill: MakeSkill
) -> None:
    make_skill()

    mine = call(orchestrator, "probe", key="k1")
    theirs = call(outsider, "probe", key="k1")

    assert mine.id != theirs.id


def test_a_key_is_free_again_after_thirty_days(orchestrator: Agent, make_skill: MakeSkill) -> None:
    make_skill()
    first = call(orchestrator, "probe", key="k1")
    SkillExecution.objects.update(created_at=now() - timedelta(days=30, seconds=1))

    second = call(orchestrator, "probe", key="k1", word="another")

    assert second.id != first.id and second.idempotency_key == "k1"


@pytest.mark.parametrize("key", ["x" * 201, "tab\there"])
def test_an_unusable_key_is_refused(key: str, orchestrator: Agent, make_skill: MakeSkill) -> None:
    make_skill()

    with pytest.raises(ChimeraError, match="Idempotency-Key"):
        submit(agent=orchestrator, skill_name="probe", data={}, idempotency_key=key, wake=False)

    assert not SkillExecution.objects.exists()


@pytest.mark.req("A9.2", "A9.7")
def test_a_blocked_payment_called_again_is_the_same_execution(
    api: Any, purse: Any, cashier: Agent
) -> None:
    body = {
        "wallet_address": purse.address,
        "amount": "2.50",
        "currency": "USDC",
        "tx_description": "October boost",
        "idempotency_key": str(uuid4()),
    }
    first = call(cashier, "debit_wallet", **body)

    answer = post(api(cashier), "debit_wallet", {"input": body}, Prefer="wait=5")

    assert first.status == Status.BLOCKED
    assert answer.status_code == 202 and answer.json()["id"] == str(first.id)
    assert answer.json()["approval_id"] == str(first.approval_id)


@pytest.mark.req("A9.2")
def test_the_key_of_a_payment_belongs_to_the_wallet_and_not_to_the_caller(
    purse: Any, cashier: Agent, reviewer: User
) -> None:
    another = Agent.objects.create(name="Second cashier", type=Role.CFO_JUDGE)
    body = {
        "wallet_address": purse.address,
        "amount": 2,
        "currency": "USDC",
        "tx_description": "October boost",
        "idempotency_key": str(uuid4()),
    }
    call(cashier, "debit_wallet", **body)

    with pytest.raises(ChimeraError, match="IDEMPOTENCY_CONFLICT"):
        call(another, "debit_wallet", **body)

    assert SkillExecution.objects.count() == 1


@pytest.mark.parametrize("status", [Status.QUEUED, Status.RETRYING, Status.BLOCKED])
def test_a_call_without_effect_yet_can_be_cancelled(
    status: str, orchestrator: Agent, make_skill: MakeSkill
) -> None:
    calls = make_skill()
    execution = submit(agent=orchestrator, skill_name="probe", data={}, wake=False).execution
    SkillExecution.objects.update(status=status)

    cancelled = execution_cancel(agent=orchestrator, execution_id=execution.id)

    assert cancelled.status == Status.CANCELLED and cancelled.completed_at
    assert drive(cancelled).status == Status.CANCELLED and not calls


@pytest.mark.parametrize(
    "status", [Status.RUNNING, Status.COMPLETED, Status.FAILED, Status.OUTCOME_UNKNOWN]
)
def test_a_call_that_may_have_had_its_effect_cannot_be_cancelled(
    status: str, orchestrator: Agent, make_skill: MakeSkill
) -> None:
    make_skill()
    execution = submit(agent=orchestrator, skill_name="probe", data={}, wake=False).execution
    SkillExecution.objects.update(status=status)

    with pytest.raises(ChimeraError, match="NOT_CANCELLABLE"):
        execution_cancel(agent=orchestrator, execution_id=execution.id)

    execution.refresh_from_db()
    assert execution.status == status


def test_the_call_of_another_agent_cannot_be_cancelled(
    orchestrator: Agent, outsider: Agent, make_skill: MakeSkill
) -> None:
    make_skill()
    execution = submit(agent=orchestrator, skill_name="probe", data={}, wake=False).execution

    with pytest.raises(ChimeraError, match="NOT_FOUND"):
        execution_cancel(agent=outsider, execution_id=execution.id)

    execution.refresh_from_db()
    assert execution.status == Status.QUEUED


def test_the_window_slides_and_lets_calls_in_again(db: None, time_machine: Any) -> None:
    time_machine.move_to("2026-11-21T10:00:00Z", tick=False)
    ratelimit.hit("someone", 1)
    with pytest.raises(ChimeraError):
        ratelimit.hit("someone", 1)

    time_machine.shift(61)

    ratelimit.hit("someone", 1)
