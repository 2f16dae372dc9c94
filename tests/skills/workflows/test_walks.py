"""What steps see of each other, and what becomes of failures, retries and time limits."""

from datetime import timedelta
from typing import Any

import pytest
import time_machine
from django.contrib.auth.models import User

from agents.models import Agent
from approvals.models import ApprovalRequest
from approvals.services import request_expire, request_reject, requests_expire
from chimera.core.clock import now
from chimera.core.errors import ChimeraError
from skills.models import SkillExecution
from skills.workflows import engine
from skills.workflows.definition import parse
from skills.workflows.engine import advance, runs_to_look_at
from skills.workflows.models import WorkflowRun
from skills.workflows.services import run_cancel, run_resume
from tests.helpers.calls import attempt, sign
from tests.skills.workflows.test_engine import driven, started, states

pytestmark = [pytest.mark.django_db, pytest.mark.req("W2", "W6")]
QUESTION = {"approval": {"question": "Shall we go on?"}}


def executions(run: WorkflowRun) -> int:
    return SkillExecution.objects.filter(workflow_run_id=run.id).count()


def test_a_branch_does_not_see_the_names_of_another_but_what_follows_sees_them_all(
    orchestrator: Agent,
) -> None:
    steps = [
        {
            "branches": {
                "a": [{"name": "left", "skill_name": "echo", "mapping": {"v": "input.v"}}],
                "b": [
                    {"skill_name": "echo", "mapping": {"v": "input.v"}},
                    {"name": "right", "skill_name": "echo", "mapping": {"seen": "steps.left"}},
                ],
            }
        },
        {"skill_name": "echo", "mapping": {"a": "steps.left.v", "b": "steps.right"}},
    ]
    run = driven(started(orchestrator, steps, {"v": 7}))

    assert run.output == {"a": 7, "b": {"seen": None}}


def test_a_skipped_step_passes_the_output_on_and_its_name_is_empty(orchestrator: Agent) -> None:
    steps = [
        {"name": "maybe", "skill_name": "echo", "when": "input.wanted"},
        {"skill_name": "echo", "mapping": {"maybe": "steps.maybe", "previous": "previous.v"}},
    ]
    run = driven(started(orchestrator, steps, {"v": 7}))

    assert run.output == {"maybe": None, "previous": 7}


def test_a_wrong_item_fails_alone_and_the_step_waits_for_the_others(orchestrator: Agent) -> None:
    steps = [{"skill_name": "normalize_handle", "for_each": "input.handles"}]
    run = started(orchestrator, steps, {"handles": [{"handle": "@A"}, {"wrong": 1}]})
    assert states(run) == {"0.0": "running", "0.1": "failed"}

    run = driven(run)
    assert run.status == "failed" and states(run)["0.0"] == "succeeded"

    run_resume(agent=orchestrator, run_id=run.id)
    assert driven(run).status == "failed"
    assert executions(run) == 1, "what has succeeded is not done again"


def test_every_attempt_of_a_step_has_a_key_of_its_own(orchestrator: Agent, make_skill: Any) -> None:
    calls = make_skill([ChimeraError("INVALID_INPUT", "no"), "fine"])
    steps = [
        {"skill_name": "probe", "mapping": {"word": "key"}, "retry": {"times": 1, "wait_sec": 0}},
        {"skill_name": "probe", "mapping": {"word": "key"}},
    ]
    run = driven(started(orchestrator, steps))

    assert run.status == "completed"
    assert len({ctx.params.word for ctx in calls}) == 3


def test_a_new_attempt_has_its_whole_time_limit(orchestrator: Agent, make_skill: Any) -> None:
    make_skill(ChimeraError("INVALID_INPUT", "no"))
    step = {"skill_name": "probe", "input": {}, "retry": {"times": 1, "wait_sec": 60}}
    run = driven(started(orchestrator, [step | {"timeout_sec": 30}]))

    with time_machine.travel(now() + timedelta(seconds=61), tick=False):
        run = advance(run.id)
        assert run.status == "running" and run.due_at == now() + timedelta(seconds=30)
        assert SkillExecution.objects.filter(status="queued").count() == 1


def test_a_step_that_took_too_long_is_tried_again(orchestrator: Agent) -> None:
    retry = {"times": 1, "wait_sec": 0}
    run = started(orchestrator, [{"skill_name": "echo", "timeout_sec": 30, "retry": retry}])

    with time_machine.travel(now() + timedelta(seconds=31), tick=True):
        run = driven(advance(run.id))
    assert (run.status, executions(run)) == ("completed", 2)


def test_a_question_that_nobody_answers_in_time_is_taken_back(orchestrator: Agent) -> None:
    run = started(orchestrator, [QUESTION | {"timeout_sec": 60}])
    asked = ApprovalRequest.objects.get()
    assert abs(asked.expires_at - asked.created_at - timedelta(seconds=60)) < timedelta(seconds=5)

    with time_machine.travel(now() + timedelta(seconds=61), tick=True):
        assert advance(run.id).error["code"] == "TIMEOUT"
    assert ApprovalRequest.objects.get().status == "revoked"


def test_a_question_that_lapsed_with_its_step_is_one_that_took_too_long(
    orchestrator: Agent,
) -> None:
    run = started(orchestrator, [QUESTION | {"timeout_sec": 60}])

    with time_machine.travel(now() + timedelta(seconds=61), tick=True):
        requests_expire()
        assert advance(run.id).error["code"] == "TIMEOUT"
    assert ApprovalRequest.objects.get().status == "expired"


def test_a_step_that_is_skipped_ends_when_it_begins(orchestrator: Agent) -> None:
    run = started(orchestrator, [{"skill_name": "echo", "when": "`false`"}])

    (record,) = run.records.all()
    assert (record.state, record.completed_at) == ("skipped", record.started_at)


def test_a_cancelled_run_takes_its_question_back(orchestrator: Agent) -> None:
    run = started(orchestrator, [QUESTION])

    run_cancel(agent=orchestrator, run_id=run.id)

    request = ApprovalRequest.objects.get()
    assert (request.status, request.reason) == ("revoked", "The run was cancelled")


def test_a_job_that_cannot_be_cancelled_ends_and_its_record_tells(orchestrator: Agent) -> None:
    run = started(orchestrator, [{"skill_name": "echo"}], {"a": 1})
    SkillExecution.objects.update(status="running", lease="somebody's")
    run_cancel(agent=orchestrator, run_id=run.id)
    assert states(run) == {"0": "running"}

    SkillExecution.objects.update(status="queued", lease="", due_at=now())
    attempt(SkillExecution.objects.get())

    assert runs_to_look_at(now()) == [run.id]
    advance(run.id)
    assert (states(run), WorkflowRun.objects.get().status) == ({"0": "succeeded"}, "cancelled")
    assert runs_to_look_at(now()) == []


def test_a_yes_counts_even_when_nobody_could_fetch_it_in_time(
    orchestrator: Agent, reviewer: User, approval_key: Any
) -> None:
    run = started(orchestrator, [QUESTION])
    request = ApprovalRequest.objects.get()
    sign(request, reviewer)
    assert request_expire(request)

    assert advance(run.id).status == "completed"
    request.refresh_from_db()
    assert (request.status, request.consumed_by) == ("consumed", run.id)


def test_a_no_fails_the_run_and_a_resumed_run_asks_again(
    orchestrator: Agent, reviewer: User
) -> None:
    run = started(orchestrator, [QUESTION])
    first = ApprovalRequest.objects.get()
    request_reject(
        request_id=first.id, reviewer=reviewer, reason="Not now", shown_digest=first.action_digest
    )
    run = advance(run.id)
    assert run.status == "failed" and "Not now" in run.error["message"]

    run_resume(agent=orchestrator, run_id=run.id)

    assert advance(run.id).status == "blocked"
    assert ApprovalRequest.objects.filter(status="pending").count() == 1


def test_a_defect_fails_its_own_run_and_no_other(
    orchestrator: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = started(orchestrator, [{"skill_name": "echo"}])
    WorkflowRun.objects.filter(id=broken.id).update(definition={"steps": "none"}, due_at=now())
    fine = started(orchestrator, [{"skill_name": "echo"}], {"a": 1})

    engine_sweep()
    assert WorkflowRun.objects.get(id=broken.id).error["code"] == "INTERNAL_ERROR"
    assert driven(fine).status == "completed"


def engine_sweep() -> None:
    """What the scheduler does every second."""
    for run_id in engine.runs_to_look_at(now()):
        engine.advance(run_id)


def test_a_run_ends_at_the_most_steps_it_may_have_and_begins_none_of_those_beyond(
    orchestrator: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine, "MOST_RECORDS", 5)
    rounds = {"go_back": {"to": {"first": "`true`"}, "at_most": 10}}
    inner = [{"name": "first", "skill_name": "echo"}, rounds]

    run = driven(
        started(orchestrator, [{"for_each": "input.items", "steps": inner}], {"items": [{}, {}]})
    )

    assert run.status == "failed" and run.error["code"] == "INVALID_INPUT"
    assert "5 steps" in run.error["message"]
    assert run.records.count() <= 5 and executions(run) <= 5


@pytest.mark.parametrize(
    "step",
    [
        {"wait_seconds": 1, "timeout_sec": 5},
        {
            "branches": {
                "b" * 50: [{"branches": {"c" * 50: [{"branches": {"d" * 50: [QUESTION]}}]}}]
            }
        },
    ],
)
def test_a_step_that_could_not_be_kept_is_refused(step: dict[str, Any]) -> None:
    with pytest.raises(ChimeraError, match="INVALID_INPUT"):
        parse({"name": "x-flow", "steps": [step]})


def test_positions_lead_back_to_their_steps() -> None:
    body = [{"skill_name": "echo"}, {"name": "inner", "skill_name": "echo", "for_each": "input.x"}]
    branches = {"left": [{"name": "one", "skill_name": "echo"}]}
    steps = [{"for_each": "input.x", "steps": [*body, {"branches": branches}]}]
    made = parse({"name": "x-flow", "steps": steps})

    assert made.step_at("0.12.1.3").name == "inner"
    assert made.step_at("0.12.2.left.0").name == "one"
