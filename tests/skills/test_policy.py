"""The approval policy: its whole table, its rules, and what a call meets."""

from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import User

from agents.models import Agent
from approvals.models import ApprovalRequest
from approvals.services import request_reject, request_revoke
from chimera.checks import approval_rules_can_be_used
from chimera.core.models import AuditEntry
from skills import policy_rules, tasks
from skills.contract import CostClass, RiskLevel, SkillMetadata
from skills.contracted import ContractBroken
from skills.models import SkillExecution, Status
from skills.policy import Verdict, decide
from skills.services import submit
from tests.helpers.calls import call, drive, sign

MakeSkill = Callable[..., Any]
WriteRules = Callable[[str], Path]
ALLOW, ASK, DENY = Verdict
RISKY = {"risk_level": RiskLevel.HIGH}
DEAR = {"cost_class": CostClass.EXPENSIVE}


def expected(risk: str, once: bool, effects: bool, rule: Verdict | None) -> Verdict | None:
    """The specification's table written out; None: the rule is refused."""
    if risk == "high":
        return {None: ASK, ALLOW: None, ASK: ASK, DENY: DENY}[rule]
    if rule is not None:
        return rule
    return ASK if risk == "medium" and (effects or not once) else ALLOW


@pytest.mark.req("I2")
def test_every_risk_effect_and_rule_has_the_verdict_of_the_table() -> None:
    seen = 0
    rules = (None, ALLOW, ASK, DENY)
    cases = product(RiskLevel, CostClass, (True, False), (True, False), rules, (True, False))
    for risk, cost, once, effects, rule, within in cases:
        facts = SkillMetadata(
            risk_level=risk, cost_class=cost, side_effects=effects, idempotent=once, timeout_sec=1
        )
        wanted = expected(risk, once, effects, rule)
        if wanted is None:
            with pytest.raises(ValueError, match="always asks a person"):
                decide(facts, rule, within_budget=within)
        else:
            if cost == "expensive" and not within:
                wanted = max(wanted, ASK)
            assert decide(facts, rule, within_budget=within) is wanted
        seen += 1
    assert seen == 3 * 3 * 2 * 2 * 4 * 2


# --- rules ----------------------------------------------------------------------------------------


@pytest.fixture
def write_rules(settings: Any, tmp_path: Path) -> WriteRules:
    """`write_rules(text)` makes it the rules of the deployment."""

    def write(text: str) -> Path:
        path = tmp_path / "rules.json"
        path.write_text(text)
        settings.CHIMERA = settings.CHIMERA.model_copy(update={"chimera_approval_rules": path})
        return path

    return write


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ('{"publish_content": "allow"}', "publish_content: a skill of high risk always asks"),
        ('{"no_such_skill": "deny"}', "no_such_skill is no skill"),
        ('{"echo": "perhaps"}', "'perhaps' is none of allow, ask, deny"),
        ('{"echo": ["allow"]}', "['allow'] is none of allow, ask, deny"),
        ('["echo"]', "an object of skill names"),
        ("{", "rules.json"),
        ("\udc80", "rules.json"),
    ],
)
@pytest.mark.req("I2")
def test_rules_that_loosen_or_cannot_be_read_deny_every_call_and_nothing_runs(
    text: str, why: str, orchestrator: Agent, make_skill: MakeSkill, write_rules: WriteRules
) -> None:
    calls = make_skill(cache_seconds=300)
    call(orchestrator, "probe")
    write_rules("{}").write_bytes(text.encode(errors="surrogateescape"))

    execution = call(orchestrator, "probe")

    assert execution.status == Status.FAILED and execution.error["code"] == "SECURITY_VIOLATION"
    assert why in execution.error["message"]
    assert len(calls) == 1 and execution.output is None, "neither run nor answered from the cache"
    assert AuditEntry.objects.filter(object_id=str(execution.id)).count() == 1
    assert [problem.id for problem in approval_rules_can_be_used()] == ["chimera.E003"]


@pytest.mark.req("I2")
def test_missing_rules_deny_and_rules_put_right_hold_at_once(
    orchestrator: Agent, make_skill: MakeSkill, write_rules: WriteRules
) -> None:
    calls = make_skill()
    write_rules("{}").unlink()
    assert call(orchestrator, "probe").error["code"] == "SECURITY_VIOLATION" and not calls

    write_rules('{"echo": "deny"}')

    assert call(orchestrator, "probe").status == Status.COMPLETED
    assert call(orchestrator, "echo", text="hi").error["code"] == "SECURITY_VIOLATION"


@pytest.mark.req("I2")
def test_the_rules_that_come_with_the_product_are_usable() -> None:
    assert set(policy_rules.rules().values()) == {ALLOW}
    assert approval_rules_can_be_used() == []


# --- a call ---------------------------------------------------------------------------------------


def question(execution: SkillExecution) -> ApprovalRequest:
    return ApprovalRequest.objects.get(id=execution.approval_id)


@pytest.mark.req("I2")
def test_a_call_of_high_risk_waits_for_a_person_and_runs_once_after_a_yes(
    orchestrator: Agent, make_skill: MakeSkill, reviewer: User, approval_key: Any
) -> None:
    calls = make_skill(metadata=RISKY)
    execution = call(orchestrator, "probe", word="boom")
    assert execution.status == Status.BLOCKED and not calls
    assert "its risk is high" in question(execution).action["question"]
    assert question(execution).action["shown"]["input"] == {"word": "boom"}

    sign(question(execution), reviewer)
    tasks.resume(str(execution.approval_id))
    drive(execution)

    assert execution.status == Status.COMPLETED and len(calls) == 1
    assert call(orchestrator, "probe", word="boom").status == Status.BLOCKED, "asked for each call"


@pytest.mark.req("I2")
def test_a_call_that_a_person_refuses_never_runs(
    orchestrator: Agent, make_skill: MakeSkill, reviewer: User, approval_key: Any
) -> None:
    calls = make_skill(metadata=RISKY)
    execution = call(orchestrator, "probe")

    asked = question(execution)
    request_reject(
        request_id=asked.id, reviewer=reviewer, reason="No", shown_digest=asked.action_digest
    )
    tasks.resume(str(execution.approval_id))
    execution.refresh_from_db()

    assert execution.status == Status.FAILED and execution.error["code"] == "FORBIDDEN"
    assert not calls


@pytest.mark.req("I2")
def test_a_call_above_the_daily_budget_asks_and_the_next_day_runs(
    orchestrator: Agent, outsider: Agent, make_skill: MakeSkill, settings: Any, time_machine: Any
) -> None:
    time_machine.move_to("2026-11-21T23:00:00Z")
    settings.CHIMERA = settings.CHIMERA.model_copy(update={"chimera_expensive_calls_per_day": 2})
    calls = make_skill(metadata=DEAR, cache_seconds=300)
    for word in ("one", "two"):
        assert call(orchestrator, "probe", word=word).status == Status.COMPLETED

    over = call(orchestrator, "probe", word="three")
    cached = call(orchestrator, "probe", word="one")

    assert over.status == Status.BLOCKED and len(calls) == 2
    assert "used up its 2 expensive calls" in question(over).action["question"]
    assert cached.status == Status.COMPLETED, "an answer from the cache costs nothing"
    assert call(outsider, "probe", word="four").status == Status.COMPLETED, "each agent has its own"
    time_machine.move_to("2026-11-22T00:00:01Z")
    assert call(orchestrator, "probe", word="five").status == Status.COMPLETED


@pytest.mark.req("I2")
def test_calls_that_have_begun_count_before_they_end(
    orchestrator: Agent, make_skill: MakeSkill, settings: Any
) -> None:
    settings.CHIMERA = settings.CHIMERA.model_copy(update={"chimera_expensive_calls_per_day": 1})
    inner: list[SkillExecution] = []

    def meanwhile(ctx: Any) -> str:
        if not inner:
            inner.append(call(orchestrator, "probe", word="second"))
        return "done"

    make_skill(sync_to_async(meanwhile), metadata=DEAR | {"capabilities": {"DB"}, "timeout_sec": 5})

    first = call(orchestrator, "probe", word="first")

    assert first.status == Status.COMPLETED and inner[0].status == Status.BLOCKED


@pytest.mark.req("I2")
def test_calls_that_wait_over_midnight_are_held_to_the_budget_of_the_day_they_came(
    orchestrator: Agent, make_skill: MakeSkill, settings: Any, time_machine: Any
) -> None:
    time_machine.move_to("2026-11-21T23:59:50Z")
    settings.CHIMERA = settings.CHIMERA.model_copy(update={"chimera_expensive_calls_per_day": 1})
    calls = make_skill(metadata=DEAR)
    words = ({"word": "one"}, {"word": "two"}, {"word": "three"})
    waiting = [
        submit(agent=orchestrator, skill_name="probe", data=word, wake=False) for word in words
    ]

    time_machine.move_to("2026-11-22T00:00:10Z")
    ended = [drive(made.execution).status for made in waiting]

    assert ended == [Status.COMPLETED, Status.BLOCKED, Status.BLOCKED] and len(calls) == 1
    assert call(orchestrator, "probe").status == Status.COMPLETED, "the new day has its own"


@pytest.mark.req("I2")
def test_a_call_that_has_run_and_waits_for_a_person_counts(
    orchestrator: Agent, make_skill: MakeSkill, settings: Any
) -> None:
    settings.CHIMERA = settings.CHIMERA.model_copy(update={"chimera_expensive_calls_per_day": 1})
    calls = make_skill(ContractBroken("probe", 3, {}, ["too long"]), metadata=DEAR)

    shown, over = (call(orchestrator, "probe", word=word) for word in ("one", "two"))

    assert shown.status == over.status == Status.BLOCKED and len(calls) == 1
    assert "expensive calls of today" in question(over).action["question"]


@pytest.mark.req("I2")
def test_a_yes_that_was_taken_back_lets_no_call_run(
    orchestrator: Agent, make_skill: MakeSkill, reviewer: User, approval_key: Any
) -> None:
    calls = make_skill(metadata=RISKY)
    execution = call(orchestrator, "probe")
    first = question(execution)
    sign(first, reviewer)
    tasks.resume(str(first.id))
    request_revoke(request_id=first.id, reviewer=reviewer, reason="Not today")

    drive(execution)

    assert execution.status == Status.BLOCKED and not calls
    assert question(execution).id != first.id, "a person is asked anew"
