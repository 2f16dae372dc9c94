"""One suite for every implementation of the contract skills, and the names that may not change."""

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from agents.models import Agent
from chimera.core.jsontext import dumps
from content.studio import contracts as c
from content.studio.rules import violations
from skills.catalogue import registry
from skills.models import SkillExecution, Status
from skills.presenters import skill_dict
from tests.helpers.calls import call
from tests.helpers.studio import NAMES, Mind, choose, inputs, mind

__all__ = ["choose", "mind"]
SNAPSHOTS = Path(__file__).parent / "snapshots" / "contract_skills.json"
IMPLEMENTATIONS = ("offline", "llm", "another")
every_contract = pytest.mark.parametrize("name", NAMES)
TOPICS: tuple[tuple[str, str | None, str | None], ...] = (
    ("intermittent fasting", "busy parents", "no fear; avoid medical claims"),
    ("How to save money on food", None, None),
    ("Researchers teach a pocket-sized sensor to smell spoiled food", "cooks", None),
    ("What is love?", "", ""),
    ("Bitcoin ETFs explained: 7 myths", "first-time investors", None),
    ("量子计算", "学生", None),
    ("**bold** `code` [a](b)", None, None),
)


@pytest.fixture(params=IMPLEMENTATIONS)
def implemented(request: pytest.FixtureRequest, choose: Any, mind: Mind) -> str:
    """Every implementation in turn, chosen by the setting alone."""
    choose(request.param)
    return str(request.param)


def _done(agent: Agent, name: str, data: dict[str, Any]) -> SkillExecution:
    execution = call(agent, name, **data)
    assert execution.status == Status.COMPLETED, execution.error
    return execution


@every_contract
@pytest.mark.req("K1", "K6")
def test_it_keeps_its_contract_at_the_first_run(
    name: str, implemented: str, orchestrator: Agent
) -> None:
    data = inputs()[name]

    execution = _done(orchestrator, name, data)

    skill = registry.get(name)
    schema = json.loads(dumps(skill_dict(skill)["output_schema"]))
    output = json.loads(dumps(execution.output))
    jsonschema.Draft202012Validator(schema).validate(output)
    params = skill.input_model.model_validate(data)
    assert violations(params, skill.output_model, output) == []
    assert execution.warnings == [] and execution.approval_id is None


@pytest.mark.parametrize("topic", TOPICS, ids=[topic for topic, _, _ in TOPICS])
@pytest.mark.req("K1", "K6")
def test_it_keeps_every_contract_on_every_kind_of_topic(
    topic: tuple[str, str | None, str | None], implemented: str, orchestrator: Agent
) -> None:
    subject, audience, constraints = topic
    given = inputs(topic=subject, target_audience=audience, constraints=constraints)

    for name in NAMES:
        assert _done(orchestrator, name, given[name]).warnings == []


@every_contract
@pytest.mark.req("K4", "K6")
def test_the_same_input_gets_the_same_output(name: str, choose: Any, orchestrator: Agent) -> None:
    choose("offline")
    data = inputs()[name]

    assert _done(orchestrator, name, data).output == _done(orchestrator, name, data).output


def frozen() -> dict[str, Any]:
    """Name and version of every contract skill -> its schemas, as they are promised."""
    found = {}
    for name in NAMES:
        skill = registry.get(name)
        shown = skill_dict(skill)
        found[f"{name}@v{skill.metadata.version}"] = {
            "input": shown["input_schema"],
            "output": shown["output_schema"],
        }
    plain: dict[str, Any] = json.loads(dumps(found))
    return plain


@pytest.mark.req("K7")
def test_the_schemas_are_those_of_the_snapshot() -> None:
    """A change needs a new version, which adds an entry, and a note in docs/contract_rules.md."""
    kept = json.loads(SNAPSHOTS.read_text(encoding="utf-8"))

    changed = [name for name, schemas in frozen().items() if kept.get(name) != schemas]

    assert changed == []


@pytest.mark.req("K1", "K7")
def test_the_field_names_are_those_of_the_document() -> None:
    fields = {
        model.__name__: tuple(model.model_fields)
        for model in (
            c.ResearchInput, c.ResearchOutput, c.CtrInput, c.CtrOutput, c.ScriptInput,
            c.ScriptOutput, c.EvalInput, c.EvalOutput,
        )
    }  # fmt: skip

    kinds = ("audience_pain", "curiosity_gaps", "emotional_triggers", "controversial_angles")
    assert fields == {
        "ResearchInput": ("topic", "target_audience", "constraints"),
        "ResearchOutput": kinds,
        "CtrInput": ("click_thesis", "research"),
        "CtrOutput": ("hooks", "titles", "thumbnail_texts"),
        "ScriptInput": ("selected_hook", "selected_title", "click_thesis"),
        "ScriptOutput": ("script",),
        "EvalInput": ("click_thesis", "hook", "title", "thumbnail_text", "script"),
        "EvalOutput": ("result", "failure_reason", "confidence"),
    }
    assert tuple(c.Research.model_fields) == kinds


@every_contract
@pytest.mark.req("K4")
def test_every_field_is_required_and_no_other_is_known(name: str) -> None:
    skill = registry.get(name)

    for model in (skill.input_model, skill.output_model):
        assert all(field.is_required() for field in model.model_fields.values())
        assert model.model_config.get("extra") == "forbid"
