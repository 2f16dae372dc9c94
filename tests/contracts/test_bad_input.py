"""Bad input of every skill through the REST door: refused by name, and nothing was begun."""

import json
from typing import Any

import pytest
from django.test import Client

from agents.models import Agent
from agents.services import agent_create
from chimera.core.jsontext import dumps
from skills.catalogue import registry
from skills.contract import Skill
from skills.models import SkillExecution
from skills.presenters import examples_of, skill_dict
from tests.helpers import bad_input

SKILLS = registry.all()
every_skill = pytest.mark.parametrize("skill", SKILLS, ids=[skill.name for skill in SKILLS])
MOST = 120
"""Cases of one kind that are sent; a schema with hundreds of fields repeats its own types."""


@pytest.fixture
def calls(api: Any, settings: Any) -> Any:
    """`calls(skill)` -> a function that posts a raw body as an agent that may call the skill."""
    free = {"chimera_rate_limit": 100_000}
    settings.CHIMERA = settings.CHIMERA.model_copy(update=free)

    def for_skill(skill: Skill) -> Any:
        role = sorted(skill.roles)[0]
        agent: Agent = agent_create(name="Tester", role=role, actor="system:test")
        client: Client = api(agent)
        path = f"/api/v1/skills/{skill.name}/executions/"
        return lambda body: client.post(path, body, content_type="application/json")

    return for_skill


def _example(skill: Skill) -> dict[str, Any]:
    given: dict[str, Any] = json.loads(dumps(examples_of(skill)[0]["input"]))
    return given


def _schema(skill: Skill) -> dict[str, Any]:
    schema: dict[str, Any] = json.loads(dumps(skill_dict(skill)["input_schema"]))
    return schema


def _body(data: Any) -> str:
    return json.dumps({"input": data})


def _codes(skill: Skill, path: str) -> set[str]:
    return {"INVALID_INPUT", skill.field_codes.get(path.split(".")[0], "INVALID_INPUT")}


def _names(errors: dict[str, Any], path: str) -> bool:
    """Whether an error stands at the field, or at the object that holds it."""
    plain = [key.removeprefix("input.") for key in errors]
    return any(path == key or path.startswith(f"{key}.") or key.startswith(path) for key in plain)


@every_skill
@pytest.mark.parametrize("kind", bad_input.KINDS)
@pytest.mark.req("A0.1", "X4")
def test_a_wrong_field_is_named_and_nothing_is_begun(skill: Skill, kind: str, calls: Any) -> None:
    cases = list(bad_input.KINDS[kind](_schema(skill), _example(skill)))[:MOST]
    post = calls(skill)

    for path, data in cases:
        answer = post(_body(data))
        problem = answer.json()
        assert 400 <= answer.status_code < 500, (path, problem)
        assert problem["code"] in _codes(skill, path), (path, problem)
        assert _names(problem["errors"], path), (path, problem["errors"])
    assert not SkillExecution.objects.exists()


@every_skill
@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b'{"input": {"a": "\xff\xfe"}}', "MALFORMED_JSON"),
        (b'{"input": {"a": 1', "MALFORMED_JSON"),
        (b'{"input": {"a": NaN}}', "MALFORMED_JSON"),
        (b'{"input": {"a": 1, "a": 2}}', "MALFORMED_JSON"),
        (b'{"input": ' + b"[" * 500 + b"]" * 500 + b"}", "MALFORMED_JSON"),
        (b'{"input": []}', "INVALID_INPUT"),
        (b'{"input": null}', "INVALID_INPUT"),
        (b'{"input": {}, "extra": 1}', "INVALID_INPUT"),
        (b"[]", "INVALID_INPUT"),
        (b"", "INVALID_INPUT"),
    ],
    ids=[
        "not utf-8",
        "cut",
        "nan",
        "doubled",
        "deep",
        "list",
        "null",
        "extra",
        "no object",
        "empty",
    ],
)
@pytest.mark.req("A0.1", "X4")
def test_a_broken_body_is_refused(skill: Skill, body: bytes, code: str, calls: Any) -> None:
    answer = calls(skill)(body)

    assert (answer.status_code, answer.json()["code"]) == (400, code)
    assert not SkillExecution.objects.exists()


@every_skill
@pytest.mark.req("A0.1", "X4")
def test_a_huge_body_is_refused_and_a_huge_field_does_no_harm(skill: Skill, calls: Any) -> None:
    post = calls(skill)

    assert post(_body({"a": "x" * 12_000_000})).json()["code"] == "PAYLOAD_TOO_LARGE"
    assert not SkillExecution.objects.exists()
    for path, data in list(bad_input.huge(_schema(skill), _example(skill)))[:5]:
        assert post(_body(data)).status_code < 500, path


@every_skill
@pytest.mark.req("A0.1", "X4")
def test_hostile_text_is_refused_by_name_or_kept_as_text(skill: Skill, calls: Any) -> None:
    post = calls(skill)

    for path, data in list(bad_input.hostile_text(_schema(skill), _example(skill)))[:MOST]:
        answer = post(_body(data))
        assert answer.status_code in (202, 409) or _names(answer.json()["errors"], path), path
        assert "X-Injected" not in answer.headers
    for execution in SkillExecution.objects.all():
        assert execution.agent.name == "Tester"


@every_skill
@pytest.mark.req("A0.2")
def test_other_roles_and_strangers_are_refused_before_the_input_is_read(
    skill: Skill, api: Any, db: None
) -> None:
    path = f"/api/v1/skills/{skill.name}/executions/"
    broken = "{"

    assert Client().post(path, broken, content_type="application/json").status_code == 401
    for role in ("content_creator", "trend_analyst", "distribution_manager", "judge", "cfo_judge"):
        if role not in skill.roles:
            agent = agent_create(name="Other", role=role, actor="system:test")
            answer = api(agent).post(path, broken, content_type="application/json")
            assert (answer.status_code, answer.json()["code"]) == (403, "FORBIDDEN"), role
    assert not SkillExecution.objects.exists()
