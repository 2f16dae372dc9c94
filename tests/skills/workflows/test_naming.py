"""A typo in an expression is an error when the workflow is stored, not an empty value in every run."""

from typing import Any

import pytest

from agents.models import Agent
from chimera.core.errors import ChimeraError
from skills.workflows.models import StoredWorkflow
from skills.workflows.naming import problems
from skills.workflows.services import builtin, workflow_store

pytestmark = [pytest.mark.req("W2"), pytest.mark.django_db]


def definition(**step: Any) -> dict[str, Any]:
    """A step named draft, one that is given, and a body with a step named inner."""
    given = step or {"when": "steps.draft"}
    body = [{"name": "inner", "skill_name": "echo", "input": {"text": "hi"}}]
    kind = {} if "approval" in given or "go_back" in given else {"skill_name": "echo"}
    return {
        "name": "typo",
        "steps": [
            {"name": "draft", "skill_name": "echo"},
            kind | given,
            {"for_each": "input.items", "steps": body},
        ],
    }


@pytest.mark.parametrize(
    ("step", "field", "said"),
    [
        ({"when": "steps.drat.ok == `false`"}, "when", "no step is named drat"),
        ({"when": "input.x && steps.drat"}, "when", "no step is named drat"),
        ({"when": "length(steps.drat[?ok].x) > `1`"}, "when", "no step is named drat"),
        ({"when": "inptu.x"}, "when", "inptu stands for nothing; begin with input, previous"),
        ({"mapping": {"text": "twitter"}}, "mapping.text", "A text is written 'twitter'"),
        ({"mapping": {"text": '{a: input.x == "yes"}'}}, "mapping.text", "written 'yes'"),
        ({"mapping": {"text": "lenght(input.x)"}}, "mapping.text", "there is no function lenght"),
        ({"for_each": "steps.drat"}, "for_each", "no step is named drat"),
        (
            {"approval": {"question": "Go on?", "mapping": {"seen": "step.draft"}}},
            "approval.mapping.seen",
            "step stands for nothing",
        ),
        (
            {"go_back": {"to": {"draft": "steps.drat"}, "at_most": 1}},
            "go_back.to.draft",
            "no step is named drat",
        ),
        (
            {"go_back": {"to": {"draft": "`true`"}, "at_most": 1, "why": "whyever"}},
            "go_back.why",
            "whyever stands for nothing",
        ),
    ],
)
def test_a_name_that_nothing_bears_is_refused_by_field_and_nothing_is_stored(
    step: dict[str, Any], field: str, said: str, orchestrator: Agent
) -> None:
    with pytest.raises(ChimeraError) as refused:
        workflow_store(agent=orchestrator, data=definition(**step), actor="system:test")

    assert refused.value.code == "INVALID_INPUT" and refused.value.errors
    assert list(refused.value.errors) == [f"steps.1.{field}"]
    assert said in refused.value.errors[f"steps.1.{field}"][0]
    assert not StoredWorkflow.objects.exists()


@pytest.mark.parametrize(
    "text",
    [
        "steps.inner",
        "steps.*.valid",
        "input.items[?name == 'x' && size > `3`].{id: id, of: parent.name}",
        "sort_by(rounds[], &score)[-1].draft | text",
        "item.text || previous.text || run.started_at",
        "[index, key, steps.draft[0].a.b]",
        "map(&steps.nothing, rounds)",
    ],
)
def test_names_that_are_there_and_fields_of_values_are_taken(
    text: str, orchestrator: Agent
) -> None:
    assert (
        workflow_store(
            agent=orchestrator, data=definition(when=text), actor="system:test"
        ).definition["steps"][1]["when"]
        == text
    )


def test_a_skill_that_is_not_there_is_refused_at_its_step(orchestrator: Agent) -> None:
    wrong = definition()
    wrong["steps"][2]["steps"][0]["skill_name"] = "ehco"

    with pytest.raises(ChimeraError) as refused:
        workflow_store(agent=orchestrator, data=wrong, actor="system:test")

    assert refused.value.code == "SKILL_NOT_FOUND"
    assert list(refused.value.errors or {}) == ["steps.2.steps.0.skill_name"]


@pytest.mark.parametrize("name", builtin())
def test_the_workflows_that_come_with_the_program_name_what_is_there(name: str) -> None:
    assert problems(builtin()[name]) == {}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("input.x ==", "Incomplete expression"),
        ("input.x == 5", "a number is written with backticks: `5`"),
    ],
)
def test_what_cannot_be_read_says_why_on_one_line(
    text: str, said: str, orchestrator: Agent
) -> None:
    with pytest.raises(ChimeraError) as refused:
        workflow_store(agent=orchestrator, data=definition(when=text), actor="system:test")

    message = (refused.value.errors or {})["steps.1.when"][0]
    assert message.endswith(said) and "\n" not in message
