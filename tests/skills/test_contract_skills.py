"""The contract skills in the pipeline: what breaks a contract is discarded, made again, then shown."""

from typing import Any

import pytest
from django.contrib.auth.models import User

from agents.models import Agent
from approvals.models import ApprovalRequest
from approvals.models import Status as Signed
from approvals.services import request_reject
from chimera.core.errors import ChimeraError
from content.studio.implementations import named
from skills import runner
from skills.models import SkillExecution, Status
from tests.helpers.calls import call, drive, sign
from tests.helpers.studio import BREAKS, NAMES, Mind, choose, inputs, mind, runs

__all__ = ["choose", "mind"]
every_contract = pytest.mark.parametrize("name", NAMES)


def shown(execution: SkillExecution) -> ApprovalRequest:
    return ApprovalRequest.objects.get(id=execution.approval_id)


@every_contract
@pytest.mark.req("K4", "K6")
def test_an_output_that_breaks_its_contract_is_discarded_whole_and_made_again(
    name: str, choose: Any, orchestrator: Agent
) -> None:
    choose("late")

    execution = call(orchestrator, name, **inputs()[name])

    assert execution.status == Status.COMPLETED and len(runs) == 4
    assert [order.run for order in runs] == [0, 1, 2, 3]
    assert not runs[0].broken and all(order.broken for order in runs[1:])
    for field, value in BREAKS[name].items():
        assert execution.output[field] != value
    assert execution.warnings == ["CONTRACT_RERUN"]


@every_contract
@pytest.mark.req("K4")
def test_after_three_reruns_it_is_blocked_and_a_person_sees_the_best_attempt(
    name: str, choose: Any, orchestrator: Agent
) -> None:
    choose("stubborn")

    execution = call(orchestrator, name, **inputs()[name])

    assert (execution.status, execution.error["code"]) == (Status.BLOCKED, "CONTRACT_VIOLATION")
    assert len(runs) == 4 and execution.output is None
    request = shown(execution)
    assert request.status == Signed.PENDING
    best = request.action["shown"]["best_attempt"]
    assert all(best[field] == value for field, value in BREAKS[name].items())
    assert request.action["shown"]["broken"] == execution.error["details"]["violations"] != []


@pytest.mark.provokes("ctr", "CONTRACT_VIOLATION")
@pytest.mark.req("K4")
def test_a_no_ends_it_without_an_output(choose: Any, orchestrator: Agent, reviewer: User) -> None:
    choose("stubborn")
    execution = call(orchestrator, "ctr", **inputs()["ctr"])

    request = shown(execution)
    request_reject(
        request_id=request.id,
        reviewer=reviewer,
        reason="Not like this",
        shown_digest=request.action_digest,
    )
    runner.resume(execution.approval_id)

    execution.refresh_from_db()
    assert (execution.status, execution.error["code"]) == (Status.FAILED, "CONTRACT_VIOLATION")
    assert "Not like this" in execution.error["message"]
    assert execution.output is None and len(runs) == 4


@pytest.mark.usefixtures("approval_key")
@pytest.mark.req("K4")
def test_a_yes_runs_it_again_and_accepts_nothing_that_breaks_the_contract(
    choose: Any, orchestrator: Agent, reviewer: User
) -> None:
    choose("stubborn")
    execution = call(orchestrator, "ctr", **inputs()["ctr"])
    first = shown(execution)
    sign(first, reviewer)
    runner.resume(first.id)

    drive(execution)

    second = shown(execution)
    assert execution.status == Status.BLOCKED and second.id != first.id and len(runs) == 8
    choose("another")
    sign(second, reviewer)
    runner.resume(second.id)
    drive(execution)
    assert execution.status == Status.COMPLETED and execution.error is None
    first.refresh_from_db()
    assert (first.status, first.consumed_by) == (Signed.CONSUMED, execution.id)


@every_contract
@pytest.mark.parametrize("kind", ["prose", "odd", "endless"])
@pytest.mark.req("K4")
def test_what_is_no_output_at_all_is_never_accepted_and_still_shown(
    name: str, kind: str, choose: Any, orchestrator: Agent
) -> None:
    choose(kind)

    execution = call(orchestrator, name, **inputs()[name])

    assert 0 < len(str(shown(execution).action["shown"]["best_attempt"])) <= 20_000
    assert execution.status == Status.BLOCKED and execution.output is None and len(runs) == 4


@every_contract
@pytest.mark.req("K4", "K6")
def test_a_language_model_is_told_what_it_broke_and_asked_again(
    name: str, choose: Any, mind: Mind, orchestrator: Agent
) -> None:
    choose("llm")
    mind.spoil = 1

    execution = call(orchestrator, name, **inputs()[name])

    assert execution.status == Status.COMPLETED, execution.error
    assert len(mind.asked) == 2 and mind.asked[0]["broken"] == [] != mind.asked[1]["broken"]
    assert "thrown away" in mind.asked[1]["instructions"]


@pytest.mark.req("K6")
def test_without_a_setting_the_configured_language_model_writes(
    mind: Mind, orchestrator: Agent
) -> None:
    assert call(orchestrator, "ctr", **inputs()["ctr"]).status == Status.COMPLETED
    assert [asked["task"] for asked in mind.asked] == ["ctr"]


@pytest.mark.provokes("ctr", "LLM_ERROR")
@pytest.mark.req("K6")
def test_a_language_model_that_is_not_configured_is_named(choose: Any, orchestrator: Agent) -> None:
    choose("llm")

    execution = call(orchestrator, "ctr", **inputs()["ctr"])

    assert (execution.status, execution.error["code"]) == (Status.FAILED, "LLM_ERROR")
    assert "CHIMERA_LLM_MODEL" in execution.error["message"]


@pytest.mark.parametrize(
    "path", ["no.such.module", "offlin", "content.studio.offline.nothing", "."]
)
@pytest.mark.req("K6")
def test_an_implementation_that_is_not_there_is_named_with_its_setting(path: str) -> None:
    with pytest.raises(ChimeraError, match="CHIMERA_SKILL_IMPL_CTR is"):
        named("ctr", path)


@pytest.mark.parametrize("name", ["research", "ctr", "script", "eval"])
@pytest.mark.req("K4")
def test_a_key_that_is_left_out_is_refused_and_a_null_is_taken_where_it_is_shown(
    name: str, orchestrator: Agent, choose: Any
) -> None:
    choose("offline")
    whole = inputs()[name]

    for key in whole:
        with pytest.raises(ChimeraError) as caught:
            call(orchestrator, name, **{k: v for k, v in whole.items() if k != key})
        assert caught.value.code == "INVALID_INPUT"
        nullable = (name, key) in {("research", "target_audience"), ("research", "constraints")}
        if nullable:
            assert call(orchestrator, name, **{**whole, key: None}).status == Status.COMPLETED
        else:
            with pytest.raises(ChimeraError):
                call(orchestrator, name, **{**whole, key: None})


@pytest.mark.req("K1", "K5")
def test_a_failure_names_its_reason_by_a_code_and_a_pass_names_none(
    choose: Any, orchestrator: Agent
) -> None:
    choose("offline")
    video = inputs()["eval"]
    slow = video["script"] + "\n\n" + "and so it goes on " * 60

    passed = call(orchestrator, "eval", **video).output
    unclear = call(orchestrator, "eval", **{**video, "click_thesis": "Fasting exists."}).output
    calm = {"hook": "About intermittent fasting", "title": "Intermittent fasting"}
    weak = call(orchestrator, "eval", **{**video, **calm}).output
    paced = call(orchestrator, "eval", **{**video, "script": slow}).output

    assert (passed["result"], passed["failure_reason"]) == ("PASS", None)
    reasons = [failed["failure_reason"].split(":")[0] for failed in (unclear, weak, paced)]
    assert reasons == ["UNCLEAR_PROMISE", "WEAK_EMOTION", "PACING"]
    assert {failed["result"] for failed in (unclear, weak, paced)} == {"FAIL"}


@pytest.mark.req("K6")
def test_names_that_could_not_be_checked_are_said(choose: Any, orchestrator: Agent) -> None:
    choose("titled")

    execution = call(orchestrator, "ctr", **inputs()["ctr"])

    assert (execution.status, execution.warnings) == (Status.COMPLETED, ["NAMES_UNCHECKED"])
