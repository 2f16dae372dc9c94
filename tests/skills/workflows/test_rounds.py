"""Ways back to an earlier step: what is done again, what it sees, and that it ends."""

from typing import Any

import pytest
from django.contrib.auth.models import User

from agents.models import Agent
from approvals.models import ApprovalRequest
from chimera.core.errors import ChimeraError
from skills.models import SkillExecution
from skills.workflows.definition import MAX_PATH, parse
from skills.workflows.services import run_resume
from tests.helpers.calls import sign
from tests.skills.workflows.test_engine import driven, started, states

pytestmark = [pytest.mark.django_db, pytest.mark.req("W2", "W6")]
ECHO: dict[str, Any] = {"skill_name": "echo"}
COUNT: dict[str, Any] = ECHO | {"name": "count", "mapping": {"n": "length(rounds)"}}


def back(to: dict[str, str], at_most: int = 3, **more: Any) -> dict[str, Any]:
    return {"go_back": {"to": to, "at_most": at_most} | more}


def test_a_list_goes_back_until_nothing_holds_and_keeps_every_round(orchestrator: Agent) -> None:
    steps = [ECHO, COUNT, ECHO, back({"count": "steps.count.n < `2`"})]
    run = driven(started(orchestrator, steps, {"a": 1}))

    assert (run.status, run.output) == ("completed", {"n": 2})
    positions = ["0", "1", "2", "3", "1~1", "2~1", "3~1", "1~2", "2~2", "3~2"]
    assert list(states(run)) == positions and states(run)["3~2"] == "skipped"
    taken = run.records.get(path="3~1")
    assert taken.output == {"to": "count", "why": ""} and taken.label == "go back"


def test_a_way_back_is_taken_no_more_often_than_it_says(orchestrator: Agent) -> None:
    steps = [COUNT, back({"count": "`true`"}, at_most=2), ECHO]
    run = driven(started(orchestrator, steps))

    assert (run.status, run.output) == ("completed", {"n": 2})
    assert SkillExecution.objects.filter(skill="echo").count() == 4


def test_a_step_that_runs_again_sees_what_came_before_it_and_the_rounds(
    orchestrator: Agent,
) -> None:
    seen = {
        "before": "previous.a",
        "earlier": "rounds[].again.before",
        "last": "steps.again.before",
    }
    steps = [
        ECHO | {"mapping": {"a": "input.a"}},
        ECHO | {"name": "again", "mapping": seen},
        back({"again": "!(steps.again.last)"}),
    ]
    run = driven(started(orchestrator, steps, {"a": 7}))

    assert run.output == {"before": 7, "earlier": [7], "last": 7}


def test_of_several_ways_the_earliest_is_taken(orchestrator: Agent) -> None:
    steps = [COUNT, ECHO | {"name": "later"}, back({"later": "`true`", "count": "`true`"}, 1)]
    run = driven(started(orchestrator, steps))

    assert run.records.get(path="2").output["to"] == "count"


def test_the_skill_that_runs_again_is_told_why_and_answers_from_no_cache(
    orchestrator: Agent, make_skill: Any
) -> None:
    calls = make_skill(["dull", "bright"], cache_seconds=60)
    probe = {"name": "word", "skill_name": "probe", "mapping": {"word": "'x'"}}
    why = "join(' ', ['too', steps.word.word])"
    steps = [probe, back({"word": "steps.word.word == 'dull'"}, why=why)]
    run = driven(started(orchestrator, steps))

    assert run.output == {"word": "bright"}
    assert [ctx.again for ctx in calls] == [(), ("too dull",)]


def test_items_and_branches_go_back_on_their_own(orchestrator: Agent) -> None:
    body = [
        ECHO | {"name": "turn", "mapping": {"n": "length(rounds)", "goal": "item"}},
        back({"turn": "steps.turn.n < item"}),
    ]
    steps = [
        {"for_each": "input.goals", "steps": body},
        {
            "branches": {
                "left": [COUNT, back({"count": "steps.count.n < `1`"})],
                "right": [ECHO | {"mapping": {"turns": "previous"}}],
            }
        },
    ]
    run = driven(started(orchestrator, steps, {"goals": [0, 2]}))

    assert run.status == "completed", run.error
    turns = [{"n": 0, "goal": 0}, {"n": 2, "goal": 2}]
    assert run.output == {"left": {"n": 1}, "right": {"turns": turns}}
    assert {"0.0.0", "0.1.0", "0.1.0~1", "0.1.0~2", "1.left.0~1"} <= set(states(run))
    assert "0.0.0~1" not in states(run)


def test_a_question_of_a_round_is_a_question_of_its_own(
    orchestrator: Agent, reviewer: User, approval_key: Any
) -> None:
    ask = {"name": "ask", "approval": {"question": "Go on like this?"}}
    run = started(orchestrator, [ask, back({"ask": "length(rounds) < `1`"})])
    sign(ApprovalRequest.objects.get(), reviewer)

    run = driven(run)

    assert run.status == "blocked" and states(run)["0~1"] == "blocked"
    sign(ApprovalRequest.objects.get(status="pending"), reviewer)
    assert driven(run).status == "completed"


def test_a_step_that_failed_in_a_later_round_is_resumed_there(
    orchestrator: Agent, make_skill: Any
) -> None:
    calls = make_skill(["first", ChimeraError("INVALID_INPUT", "no"), "second"])
    probe = {"name": "word", "skill_name": "probe", "mapping": {"word": "'x'"}}
    run = driven(started(orchestrator, [ECHO, probe, back({"word": "length(rounds) < `1`"})]))
    assert run.status == "failed" and states(run)["1~1"] == "failed"

    run_resume(agent=orchestrator, run_id=run.id)

    run = driven(run)
    assert (run.status, run.output) == ("completed", {"word": "second"})
    assert len(calls) == 3 and SkillExecution.objects.filter(skill="echo").count() == 1


def test_the_retries_of_a_step_count_anew_in_every_round(
    orchestrator: Agent, make_skill: Any
) -> None:
    no = ChimeraError("INVALID_INPUT", "no")
    make_skill([no, "first", no, "second"])
    retry = {"times": 1, "wait_sec": 0}
    probe = {"name": "word", "skill_name": "probe", "input": {}, "retry": retry}
    run = driven(started(orchestrator, [probe, back({"word": "length(rounds) < `1`"})]))

    assert (run.status, run.output) == ("completed", {"word": "second"})


def test_a_signature_of_the_last_round_alone_is_asked_for_anew(
    orchestrator: Agent, reviewer: User, approval_key: Any, make_skill: Any
) -> None:
    """The round before keeps its signature, or the run would walk another way than it went."""
    make_skill(["first", ChimeraError("INVALID_INPUT", "no"), "second"])
    steps = [
        {"name": "ask", "approval": {"question": "Go on?"}},
        {"name": "word", "skill_name": "probe", "mapping": {"word": "'x'"}},
        back({"ask": "length(rounds) < `1`"}),
    ]
    run = started(orchestrator, steps)
    for _ in range(2):
        sign(ApprovalRequest.objects.get(status="pending"), reviewer)
        run = driven(run)
    assert run.status == "failed"

    run_resume(agent=orchestrator, run_id=run.id)

    assert driven(run).output == {"word": "second"}
    assert ApprovalRequest.objects.count() == 2


@pytest.mark.parametrize(
    ("steps", "why"),
    [
        ([back({"x": "a"}), ECHO | {"name": "x"}], "x is no earlier step of the same list"),
        ([{"branches": {"b": [COUNT]}}, back({"count": "a"})], "count is no earlier step"),
        ([COUNT, back({"count": "a["})], "s not JMESPath"),
        ([COUNT, {"go_back": {"to": {"count": "a"}}}], "Field required"),
        ([COUNT, back({"count": "a"}, 11)], "less than or equal to 10"),
        ([COUNT, back({})], "at least 1 item"),
        ([COUNT, *[back({"count": "a"}, 10)] * 3], "at most 20 times, this one 30"),
        ([COUNT, back({"count": "a"}) | ECHO], "ive exactly one of"),
        (
            [
                {"name": "sign", "approval": {"action": "publish_content"}},
                {"name": "post", "skill_name": "publish_content", "approved_by": "sign"},
                back({"post": "a"}),
            ],
            "post comes after sign, whose signature post uses",
        ),
    ],
)
def test_a_way_back_that_leads_nowhere_or_has_no_end_is_refused(
    steps: list[dict[str, Any]], why: str
) -> None:
    with pytest.raises(ChimeraError) as refusal:
        parse({"name": "x-flow", "steps": steps})
    assert why in str(refusal.value.errors)


def test_the_longest_position_of_a_round_can_be_kept(orchestrator: Agent) -> None:
    name = "b" * 25
    body: list[dict[str, Any]] = [COUNT, back({"count": "`true`"}, 10)]
    for _ in range(2):
        body = [{"branches": {name: body}}]
    run = driven(started(orchestrator, body))

    assert run.status == "completed"
    assert max(map(len, states(run))) < MAX_PATH
    assert parse(run.definition).step_at(f"0.{name}.0.{name}.0~7").name == "count"
