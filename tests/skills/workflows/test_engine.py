"""Durable runs on real executions, driven as the worker and the scheduler drive them."""

from datetime import timedelta
from typing import Any

import pytest
import time_machine
from django.contrib.auth.models import User

from agents.models import Agent
from approvals.models import ApprovalRequest
from chimera.core.clock import now
from chimera.core.errors import ChimeraError
from skills.models import SkillExecution
from skills.workflows.definition import parse
from skills.workflows.engine import advance, runs_to_look_at
from skills.workflows.models import StepRecord, WorkflowRun
from skills.workflows.scheduled import start_scheduled
from skills.workflows.services import (
    definition_get,
    run_cancel,
    run_resume,
    run_start,
    workflow_store,
)
from tests.helpers.calls import attempt, sign

pytestmark = [pytest.mark.django_db, pytest.mark.req("W2", "W6")]


def started(agent: Agent, steps: list[dict[str, Any]], data: Any = None) -> WorkflowRun:
    """A run of these steps, walked once."""
    definition = parse({"name": "test-flow", "steps": steps})
    return advance(run_start(agent=agent, definition=definition, data=data or {}).id)


def driven(run: WorkflowRun) -> WorkflowRun:
    """The run once nothing more can be done now."""
    for _ in range(50):
        run = advance(run.id)
        jobs = SkillExecution.objects.filter(workflow_run_id=run.id)
        waiting = list(jobs.filter(status__in=["queued", "retrying"]))
        if not waiting:
            return run
        for execution in waiting:
            SkillExecution.objects.filter(id=execution.id).update(due_at=now())
            attempt(execution)
    raise AssertionError("the run does not settle")


def states(run: WorkflowRun) -> dict[str, str]:
    return {record.path: record.state for record in run.records.order_by("attempt")}


NORMALIZE = [{"skill_name": "echo"}, {"skill_name": "normalize_handle"}]


def test_output_of_a_step_is_input_of_the_next(orchestrator: Agent) -> None:
    run = driven(started(orchestrator, NORMALIZE, {"handle": " @Aurora "}))

    assert (run.status, run.output) == ("completed", {"handle": "aurora"})
    assert states(run) == {"0": "succeeded", "1": "succeeded"}
    assert all(record.completed_at and record.execution_id for record in run.records.all())


def test_a_failed_step_halts_the_run_and_its_error_is_kept(orchestrator: Agent) -> None:
    steps = [{"skill_name": "normalize_handle"}, {"skill_name": "echo"}]
    run = driven(started(orchestrator, steps, {"handle": "no handle!"}))

    assert run.status == "failed" and run.error["code"] == "INVALID_INPUT"
    assert states(run) == {"0": "failed"}


def test_input_that_breaks_a_schema_fails_the_step_by_field(orchestrator: Agent) -> None:
    run = driven(started(orchestrator, [{"skill_name": "normalize_handle"}], {"handel": "x"}))

    assert run.status == "failed" and "handle" in run.error["details"]["errors"]
    assert run.error["details"]["step"] == run.records.get(state="failed").path
    assert not SkillExecution.objects.exists()


def test_a_literal_is_merged_and_a_mapping_replaces(orchestrator: Agent) -> None:
    steps = [
        {"name": "first", "skill_name": "echo", "input": {"b": 2}},
        {"skill_name": "echo", "mapping": {"sum": "[input.a, steps.first.b]", "run": "run.id"}},
    ]
    run = driven(started(orchestrator, steps, {"a": 1}))

    assert run.output == {"sum": [1, 2], "run": str(run.id)}


def test_steps_are_skipped_and_lists_run_item_by_item(orchestrator: Agent) -> None:
    steps = [
        {
            "name": "all",
            "skill_name": "normalize_handle",
            "for_each": "input.handles[].{handle: @}",
        },
        {"skill_name": "echo", "when": "length(steps.all) > `5`", "input": {"never": True}},
        {"skill_name": "echo", "mapping": {"names": "steps.all[].handle"}},
    ]
    run = driven(started(orchestrator, steps, {"handles": ["@A", "@B", "@C"]}))

    assert run.output == {"names": ["a", "b", "c"]}
    assert states(run)["1"] == "skipped" and states(run)["0.2"] == "succeeded"


def test_a_longer_list_than_allowed_fails_before_its_first_item(orchestrator: Agent) -> None:
    steps = [{"skill_name": "echo", "for_each": "input.items", "max_items": 2}]
    run = driven(started(orchestrator, steps, {"items": [{}, {}, {}]}))

    assert run.status == "failed" and "at most 2" in run.error["message"]
    assert not SkillExecution.objects.exists()


def test_branches_run_side_by_side_and_join(orchestrator: Agent) -> None:
    steps = [
        {
            "branches": {
                "left": [{"skill_name": "normalize_handle", "mapping": {"handle": "input.a"}}],
                "right": [{"skill_name": "echo", "mapping": {"b": "input.b"}}],
            }
        }
    ]
    run = started(orchestrator, steps, {"a": "@X", "b": 1})
    assert SkillExecution.objects.filter(workflow_run_id=run.id).count() == 2

    assert driven(run).output == {"left": {"handle": "x"}, "right": {"b": 1}}


def test_a_wait_holds_nothing_and_ends_by_itself(orchestrator: Agent) -> None:
    run = driven(started(orchestrator, [{"wait_seconds": 3600}, {"skill_name": "echo"}], {"a": 1}))
    assert run.status == "running" and runs_to_look_at(now()) == []

    with time_machine.travel(now() + timedelta(seconds=3601), tick=True):
        assert runs_to_look_at(now()) == [run.id]
        assert driven(run).output == {"a": 1}


def test_a_question_blocks_until_a_person_says_yes(
    orchestrator: Agent, reviewer: User, approval_key: Any
) -> None:
    steps = [
        {"approval": {"question": "Shall we go on?", "mapping": {"topic": "input.topic"}}},
        {"skill_name": "echo", "mapping": {"topic": "input.topic"}},
    ]
    run = driven(started(orchestrator, steps, {"topic": "tea"}))
    request = ApprovalRequest.objects.get()
    assert run.status == "blocked" and request.action["shown"] == {"topic": "tea"}
    assert runs_to_look_at(now()) == []

    sign(request, reviewer)

    assert runs_to_look_at(now()) == [run.id]
    assert driven(run).output == {"topic": "tea"}


def test_a_step_that_fails_is_done_anew_as_often_as_it_says(
    orchestrator: Agent, make_skill: Any
) -> None:
    calls = make_skill([ChimeraError("INVALID_INPUT", "no"), "fine"])
    steps = [{"skill_name": "probe", "input": {}, "retry": {"times": 1, "wait_sec": 60}}]
    run = driven(started(orchestrator, steps))
    assert run.status == "running" and len(calls) == 1

    with time_machine.travel(now() + timedelta(seconds=61), tick=True):
        assert driven(run).output == {"word": "fine"}
    assert [record.state for record in run.records.order_by("attempt")] == ["failed", "succeeded"]


def test_a_failed_run_goes_on_from_its_failed_step(orchestrator: Agent, make_skill: Any) -> None:
    calls = make_skill([ChimeraError("INVALID_INPUT", "no"), "fine"])
    steps = [{"skill_name": "echo"}, {"skill_name": "probe", "mapping": {"word": "'x'"}}]
    run = driven(started(orchestrator, steps, {"a": 1}))
    assert run.status == "failed"

    run_resume(agent=orchestrator, run_id=run.id)

    assert driven(run).output == {"word": "fine"}
    assert len(calls) == 2 and SkillExecution.objects.filter(skill="echo").count() == 1


def test_a_cancelled_run_begins_nothing_more(orchestrator: Agent) -> None:
    run = started(orchestrator, NORMALIZE, {"handle": "a"})

    run_cancel(agent=orchestrator, run_id=run.id)

    assert driven(run).status == "cancelled"
    assert [e.status for e in SkillExecution.objects.all()] == ["cancelled"]
    with pytest.raises(ChimeraError, match="NOT_CANCELLABLE"):
        run_cancel(agent=orchestrator, run_id=run.id)


def test_walks_after_each_other_begin_nothing_twice(orchestrator: Agent) -> None:
    run = started(orchestrator, NORMALIZE, {"handle": "a"})
    for _ in range(3):
        advance(run.id)

    assert StepRecord.objects.count() == SkillExecution.objects.count() == 1


def test_a_lost_wake_up_is_found(orchestrator: Agent) -> None:
    run = started(orchestrator, NORMALIZE, {"handle": "a"})
    attempt(SkillExecution.objects.get())

    assert runs_to_look_at(now()) == [run.id]


def test_a_step_that_takes_too_long_is_cancelled_and_fails(orchestrator: Agent) -> None:
    run = started(orchestrator, [{"skill_name": "echo", "timeout_sec": 30}])

    with time_machine.travel(now() + timedelta(seconds=31), tick=True):
        assert runs_to_look_at(now()) == [run.id]
        late = advance(run.id)
    assert (late.status, late.error["code"]) == ("failed", "TIMEOUT")
    assert SkillExecution.objects.get().status == "cancelled"


def test_an_agent_that_may_not_call_a_step_begins_nothing(cashier: Agent) -> None:
    definition = definition_get("trend-to-post")

    with pytest.raises(ChimeraError, match="FORBIDDEN"):
        run_start(agent=cashier, definition=definition, data={})
    assert not WorkflowRun.objects.exists()


def test_a_schedule_starts_each_occasion_once(orchestrator: Agent) -> None:
    data = {
        "name": "daily",
        "steps": [{"skill_name": "echo"}],
        "schedule": {"cron": "0 9 * * *", "time_zone": "Africa/Addis_Ababa", "input": {"a": 1}},
    }
    stored = workflow_store(agent=orchestrator, data=data, actor="system:test")
    assert stored.next_at and (stored.next_at.hour, stored.next_at.minute) == (6, 0)
    assert start_scheduled(now()) == []

    with time_machine.travel(stored.next_at + timedelta(seconds=1), tick=False):
        assert len(start_scheduled(now())) == 1
        assert start_scheduled(now()) == []
    assert WorkflowRun.objects.get().input == {"a": 1}


@pytest.mark.parametrize(
    ("change", "where"),
    [
        ({"steps": []}, "steps"),
        ({"steps": [{"skill_name": "echo", "wait_seconds": 1}]}, "steps.0"),
        ({"steps": [{"skill_name": "echo", "when": "a["}]}, "steps.0.when"),
        ({"steps": [{"skill_name": "echo", "name": "Bad Name"}]}, "steps.0.name"),
        ({"surprise": 1}, "surprise"),
        ({"schedule": {"cron": "61 * * * *"}}, "schedule"),
        ({"schedule": {"cron": "0 9 * * *", "time_zone": "Mars/Base"}}, "schedule"),
    ],
)
def test_a_bad_definition_is_refused_by_field(change: dict[str, Any], where: str) -> None:
    with pytest.raises(ChimeraError) as refusal:
        parse({"name": "x-flow", "steps": [{"skill_name": "echo"}]} | change)
    assert where in (refusal.value.errors or {})
