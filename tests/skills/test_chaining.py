"""A worker goes on with what it alone has woken; everything else is sent to others."""

from collections.abc import Callable
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest

from agents.models import Agent
from chimera.core import hints
from skills.chaining import follow
from skills.models import SkillExecution
from skills.services import submit
from skills.workflows.definition import parse
from skills.workflows.services import run_start
from skills.workflows.tasks import advance_run

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.req("W6", "X3")]
MakeSkill = Callable[..., Any]


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of the tasks that were sent, in place of a broker."""
    found: list[str] = []
    send = lambda task, **options: found.append(task)  # noqa: E731
    monkeypatch.setattr(hints, "current_app", SimpleNamespace(send_task=send))
    return found


def test_a_workflow_of_short_steps_ends_in_the_worker_that_began_it(
    orchestrator: Agent, sent: list[str]
) -> None:
    made = parse({"name": "two", "steps": [{"skill_name": "echo"}, {"skill_name": "echo"}]})
    run = run_start(agent=orchestrator, definition=made, data={"text": "hi"})
    assert sent == ["workflows.advance"]

    advance_run(str(run.id))
    run.refresh_from_db()

    assert (run.status, run.output) == ("completed", {"text": "hi"})
    assert sent == ["workflows.advance"], "no other message was needed"


def test_of_steps_side_by_side_one_is_done_here_and_the_others_are_sent(
    orchestrator: Agent, sent: list[str]
) -> None:
    branches = {name: [{"skill_name": "echo"}] for name in ("a", "b", "c")}
    made = parse({"name": "three", "steps": [{"branches": branches}]})
    run = run_start(agent=orchestrator, definition=made, data={"text": "hi"})

    advance_run(str(run.id))

    assert sent == ["workflows.advance", "skills.run", "skills.run"]
    assert SkillExecution.objects.filter(status="completed").count() == 1


@pytest.mark.parametrize(
    ("attributes", "seconds"),
    [
        ({"metadata": {"timeout_sec": 30}}, 20),
        ({}, 0.1),
        ({"queue": "elsewhere"}, 20),
    ],
    ids=["longer than a chain", "no time left", "another queue"],
)
def test_what_does_not_fit_is_sent(
    attributes: Any, seconds: float, orchestrator: Agent, make_skill: MakeSkill, sent: list[str]
) -> None:
    calls = make_skill(**attributes)

    follow(partial(submit, agent=orchestrator, skill_name="probe", data={}), seconds)

    assert sent == ["skills.run"] and not calls


def test_what_a_broken_work_has_woken_is_sent(
    orchestrator: Agent, make_skill: MakeSkill, sent: list[str]
) -> None:
    calls = make_skill()

    def work() -> None:
        submit(agent=orchestrator, skill_name="probe", data={})
        raise ConnectionError("the line is cut")

    with pytest.raises(ConnectionError):
        follow(work)

    assert sent == ["skills.run"] and not calls
