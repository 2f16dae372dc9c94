"""The built-in click loop: a verdict goes back to the skill that its reason names, and no more often than allowed."""

from collections import Counter
from typing import Any

import pytest
from django.contrib.auth.models import User

from agents.models import Agent
from approvals.models import ApprovalRequest
from content.studio.contracts import ResearchInput
from content.studio.order import Order
from skills.models import SkillExecution
from skills.workflows.engine import advance
from skills.workflows.models import WorkflowRun
from skills.workflows.services import definition_get, run_cancel, run_start
from tests.helpers.calls import attempt, sign
from tests.helpers.studio import RESEARCH, written
from tests.skills.workflows.test_engine import driven

pytestmark = [pytest.mark.django_db, pytest.mark.req("K5")]
PASS = {"result": "PASS", "failure_reason": None, "confidence": 0.9}
WHOLE = ["research", "thesis", "ctr", "echo", "script", "eval"]
verdicts: list[dict[str, Any]] = []


async def judge(order: Order) -> dict[str, Any]:
    """Gives the verdicts of the test, one after the other."""
    return verdicts.pop(0)


@pytest.fixture
def judged(settings: Any) -> Any:
    """`judged(("PACING", 0.8), None)`: the verdicts to come, a FAIL of this confidence or a PASS."""

    def will(*given: tuple[str, float] | None) -> None:
        verdicts[:] = [
            {"result": "FAIL", "failure_reason": f"{one[0]}: as it was", "confidence": one[1]}
            if one
            else PASS
            for one in given
        ]
        chosen = {"skill_impls": {"eval": f"{__name__}.judge"}}
        settings.CHIMERA = settings.CHIMERA.model_copy(update=chosen)

    return will


def looped(agent: Agent, **more: Any) -> WorkflowRun:
    data = {**RESEARCH, **more}
    return driven(run_start(agent=agent, definition=definition_get("click-loop"), data=data))


def calls(run: WorkflowRun) -> Counter[str]:
    made = SkillExecution.objects.filter(workflow_run_id=run.id)
    return Counter(made.values_list("skill", flat=True))


def outputs(run: WorkflowRun, name: str) -> list[Any]:
    return [record.output for record in run.records.filter(label=name, state="succeeded")]


def test_a_video_that_passes_at_once_runs_every_skill_once(orchestrator: Agent) -> None:
    run = looped(orchestrator)

    assert (run.status, run.error) == ("completed", None)
    assert run.output["video"]["verdict"]["result"] == "PASS" and run.output["mended"] == []
    assert calls(run) == Counter([*WHOLE, "echo"])


@pytest.mark.parametrize("code", ["UNCLEAR_PROMISE", "WEAK_EMOTION", "PACING"])
def test_a_failure_goes_back_to_the_skill_that_its_reason_names(
    code: str, judged: Any, orchestrator: Agent
) -> None:
    responsible = {"UNCLEAR_PROMISE": "thesis", "WEAK_EMOTION": "ctr", "PACING": "script"}[code]
    judged((code, 0.8), None)

    run = looped(orchestrator)

    assert run.status == "completed" and run.output["video"]["verdict"]["result"] == "PASS"
    assert run.output["mended"] == [f"{code}: as it was"]
    again = WHOLE[WHOLE.index(responsible) :]
    assert calls(run) == Counter([*WHOLE, *again, "echo"])
    first, second = outputs(run, responsible)
    assert first != second, "the same order again gives another text"
    told = {job.skill: job.again for job in SkillExecution.objects.all() if job.again}
    assert told == {responsible: [f"{code}: as it was"]}


def test_three_failures_reach_a_person_with_the_best_attempt(
    judged: Any, orchestrator: Agent, reviewer: User, approval_key: Any
) -> None:
    judged(("WEAK_EMOTION", 0.9), ("PACING", 0.7), ("UNCLEAR_PROMISE", 0.8))

    run = looped(orchestrator)

    assert run.status == "blocked" and calls(run)["eval"] == 3
    request = ApprovalRequest.objects.get()
    shown = request.action["shown"]
    assert shown["best_attempt"]["script"] == outputs(run, "script")[1]["script"]
    assert shown["best_attempt"]["verdict"]["failure_reason"] == "PACING: as it was"
    assert len(shown["reasons"]) == 3

    sign(request, reviewer)
    run = driven(run)
    assert (run.status, run.output["video"]) == ("completed", shown["best_attempt"])


def test_a_reason_that_no_skill_answers_for_goes_to_a_person_at_once(
    judged: Any, orchestrator: Agent
) -> None:
    judged(("TOO_BROWN", 0.6))

    run = looped(orchestrator)

    assert run.status == "blocked" and calls(run)["eval"] == 1
    assert run.records.get(label="go back").state == "skipped"


@pytest.mark.parametrize("framing", ["research", "framing_is_clear"])
def test_a_clear_framing_needs_no_research(framing: str, orchestrator: Agent) -> None:
    known = written("research", ResearchInput(**RESEARCH))
    run = looped(orchestrator, **{framing: known if framing == "research" else True})

    assert (run.status, calls(run)["research"]) == ("completed", 0), run.error
    assert run.records.get(label="research").state == "skipped"


def test_a_run_cancelled_in_its_second_round_leaves_nothing_open(
    judged: Any, orchestrator: Agent
) -> None:
    judged(("PACING", 0.8), None)
    run = run_start(agent=orchestrator, definition=definition_get("click-loop"), data=RESEARCH)
    while not (advance(run.id) and run.records.filter(path="4~1").exists()):
        attempt(SkillExecution.objects.get(status="queued"))

    assert run_cancel(agent=orchestrator, run_id=run.id).status == "cancelled"
    states = SkillExecution.objects.filter(skill="script").order_by("id")
    assert [job.status for job in states] == ["completed", "cancelled"]
