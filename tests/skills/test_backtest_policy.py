"""A draft policy tried on past decisions: right figures, progress, no halt of the loop, no loss by a kill."""

import asyncio
from datetime import timedelta
from decimal import Decimal
from typing import Any
from uuid import uuid4

import pytest
from django.test import Client

from agents.models import Agent
from approvals.models import ApprovalRequest
from chimera.core.clock import iso, now
from chimera.core.errors import ChimeraError
from chimera.core.ids import new_id
from skills import artifacts, progress, runner
from skills.contract import SkillContext
from skills.models import SkillExecution, Status
from skills.services import submit
from skills.skill_backtest_policy import skill as backtest
from skills.skill_backtest_policy.skill import BacktestPolicy, Input
from tests.helpers.calls import call, drive


@pytest.fixture(autouse=True)
def own_folder(tmp_path: Any, settings: Any) -> None:
    settings.CHIMERA = settings.CHIMERA.model_copy(update={"chimera_data_dir": tmp_path})


def decided(agent: Agent, lane: str, status: str = "consumed", **more: Any) -> ApprovalRequest:
    """A request that was decided an hour ago."""
    made = {
        "kind": "publish_content",
        "action": {"type": "publish_content"},
        "action_digest": uuid4().hex,
        "sentence": f"Publish ({lane})",
        "agent": agent,
        "lane": lane,
        "status": status,
        "confidence": Decimal("0.92"),
        "expires_at": now(),
        "decided_at": now() - timedelta(hours=1),
        "consumed_by": new_id(),
    }
    return ApprovalRequest.objects.create(**(made | more))


def payment(agent: Agent, amount: str, currency: str = "USDC", **more: Any) -> ApprovalRequest:
    action = {"type": "debit_wallet", "amount": amount, "currency": currency}
    return decided(agent, "standard", kind="debit_wallet", action=action, confidence=None, **more)


def replay(agent: Agent, **policy: Any) -> SkillExecution:
    return call(agent, "backtest_policy", policy=policy)


@pytest.mark.req("I4")
def test_what_would_have_been_decided_otherwise_is_counted(
    orchestrator: Agent, outsider: Agent
) -> None:
    decided(orchestrator, "fast")
    decided(orchestrator, "fast", "rejected", confidence=Decimal("0.97"))
    decided(orchestrator, "careful", confidence=Decimal("0.99"))
    decided(orchestrator, "standard", confidence=Decimal("0.72"))
    payment(orchestrator, "60")
    payment(orchestrator, "600")
    payment(orchestrator, "600", currency="ETH")
    decided(outsider, "fast")
    decided(orchestrator, "fast", "pending", decided_at=None)
    decided(orchestrator, "fast", decided_at=now() - timedelta(days=31))

    policy = {"fast_above": 0.95, "refuse_below": 0.75, "careful_amount": 50, "refuse_amount": 500}
    execution = replay(orchestrator, **policy)

    assert execution.status == Status.COMPLETED, execution.error
    found = execution.output
    assert found["requests"] == 7 and found["moved"] == 4
    assert found["lanes_before"] == {"fast": 2, "careful": 1, "standard": 4}
    assert found["lanes_after"] == {"standard": 2, "fast": 1, "careful": 2, "refused": 2}
    assert (found["refused_but_approved"], found["fast_but_rejected"]) == (2, 1)
    assert [each["would_be"] for each in found["examples"]] == [
        "standard",
        "refused",
        "careful",
        "refused",
    ]


@pytest.mark.req("I4", "I6")
def test_the_chart_is_a_file_of_the_execution(orchestrator: Agent, api: Any) -> None:
    decided(orchestrator, "fast")
    execution = replay(orchestrator)
    client: Client = api(orchestrator)

    shown = client.get(f"/api/v1/executions/{execution.id}/").json()

    assert [each["name"] for each in shown["artifacts"]] == ["lanes.svg"]
    chart = b"".join(client.get(shown["artifacts"][0]["url"]).streaming_content)  # type: ignore[attr-defined]
    assert chart.startswith(b"<svg") and b"Requests by lane" in chart
    assert shown["progress"] == {"fraction": 1.0, "message": "1 decisions"}


class Killed(BaseException):
    """What ends a process ends no attempt: nothing of the framework runs after it."""


@pytest.fixture
def killed_after_two_chunks(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The skill works in chunks of 2; the first process dies after its second one."""
    reached: list[str] = []

    def reach(point: str) -> None:
        reached.append(point)
        if len(reached) == 2:
            raise Killed

    monkeypatch.setattr(backtest, "CHUNK", 2)
    monkeypatch.setattr(backtest, "reach", reach)
    return reached


@pytest.mark.req("I4", "X3")
def test_after_a_kill_it_goes_on_where_it_was_and_counts_nothing_twice(
    orchestrator: Agent, killed_after_two_chunks: list[str], api: Any
) -> None:
    for _ in range(7):
        decided(orchestrator, "fast")
    data = {"policy": {"fast_above": 0.95}}
    execution = submit(
        agent=orchestrator, skill_name="backtest_policy", data=data, wake=False
    ).execution
    path = f"/api/v1/executions/{execution.id}/"
    client: Client = api(orchestrator)
    queued = client.get(path).json()

    with pytest.raises(Killed):
        runner.run(execution.id)
    cut = client.get(path).json()
    SkillExecution.objects.filter(id=execution.id).update(lease_until=now())
    drive(execution)

    assert (queued["status"], queued["progress"]) == ("queued", None)
    assert cut["status"] == "running"
    assert cut["progress"] == {"fraction": 0.5714, "message": "4 of 7 decisions"}
    assert execution.status == Status.COMPLETED, execution.error
    assert execution.output["requests"] == execution.output["moved"] == 7
    assert len(killed_after_two_chunks) == 4, "two chunks before the kill, two after it"


@pytest.mark.req("I4", "X3")
def test_a_worker_that_has_lost_the_execution_stops_counting(orchestrator: Agent) -> None:
    execution = submit(
        agent=orchestrator, skill_name="backtest_policy", data={"policy": {}}, wake=False
    ).execution
    SkillExecution.objects.filter(id=execution.id).update(status="running", lease="of another")
    execution.lease = "mine"

    with pytest.raises(ChimeraError, match="CONCURRENCY_ERROR"):
        progress.keep(execution, {"fraction": 1, "message": "", "state": None})
    execution.refresh_from_db()
    assert execution.progress is None


@pytest.mark.django_db(transaction=True)
@pytest.mark.req("I4")
def test_others_of_the_same_loop_go_on_while_it_works(
    orchestrator: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backtest, "CHUNK", 1)
    for _ in range(10):
        decided(orchestrator, "fast")
    turns: list[int] = []

    async def other() -> None:
        while True:
            turns.append(1)
            await asyncio.sleep(0.001)

    async def both() -> int:
        beside = asyncio.create_task(other())
        context = SkillContext(params=Input(policy={}), agent=orchestrator)
        result = await BacktestPolicy().execute(context)
        beside.cancel()
        return int(result.output.requests)

    assert asyncio.run(both()) == 10 and len(turns) > 10


@pytest.mark.parametrize(
    ("data", "field"),
    [
        ({"policy": {"fast_above": 0.5, "refuse_below": 0.6}}, "policy"),
        ({"policy": {"careful_amount": 50, "refuse_amount": 20}}, "policy"),
        ({"policy": {}, "since": iso(now()), "until": iso(now() - timedelta(1))}, "until"),
        ({"policy": {}, "since": "2026-10-01T00:00:00"}, "since"),
    ],
)
@pytest.mark.req("I5")
def test_a_draft_that_contradicts_itself_is_refused(
    data: dict[str, Any], field: str, orchestrator: Agent, api: Any
) -> None:
    answer = api(orchestrator).post(
        "/api/v1/skills/backtest_policy/executions/",
        {"input": data},
        content_type="application/json",
    )

    assert (answer.status_code, answer.json()["code"]) == (400, "INVALID_INPUT")
    assert any(field in name for name in answer.json()["errors"])
    assert not SkillExecution.objects.exists() and not artifacts.root().exists()


@pytest.mark.req("I5")
def test_a_span_that_begins_in_the_future_fails_at_once(orchestrator: Agent) -> None:
    execution = call(
        orchestrator, "backtest_policy", policy={}, since=iso(now() + timedelta(days=1))
    )

    assert execution.error["code"] == "INVALID_INPUT" and execution.retry_count == 0
