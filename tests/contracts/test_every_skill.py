"""What holds for every skill that the registry finds."""

import sys
from contextlib import suppress
from io import StringIO
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from django.core.management import call_command

from chimera.core.capabilities import CAPABILITIES
from chimera.core.errors import CODES, ChimeraError
from chimera.core.jsontext import dumps, loads, plain
from skills.catalogue import KEEP_PREFIX, IncompleteSkill, Registry, registry
from skills.contract import STORED, GatedSkill, Skill, SkillContext
from skills.gating import bounded
from skills.presenters import description_of, examples_of, skill_dict
from skills.registration import example_problems, misfits

SKILLS = registry.every()
NAMES = [f"{skill.name}@v{skill.metadata.version}" for skill in SKILLS]
every_skill = pytest.mark.parametrize("skill", SKILLS, ids=NAMES)
TAKES_ANYTHING = {"echo@v2.0"}

# risk, cost, side effects, idempotent, approval: the table of the requirements
METADATA = {
    "fetch_trends": ("low", "cheap", False, True, False),
    "skill_ingest_trend_feeds": ("low", "cheap", False, True, False),
    "semantic_filter": ("low", "normal", False, True, False),
    "validate_content": ("low", "normal", False, True, False),
    "generate_content": ("medium", "expensive", False, True, False),
    "skill_generate_media_asset": ("medium", "expensive", False, True, False),
    "publish_content": ("high", "normal", True, True, True),
    "skill_execute_publish_intent": ("high", "normal", True, True, True),
    "get_agent_profile": ("low", "cheap", False, True, False),
    "fetch_wallet_balance": ("low", "cheap", False, True, False),
    "update_agent_state": ("medium", "cheap", True, True, False),
    "debit_wallet": ("high", "expensive", True, True, True),
    "register_openclaw_profile": ("medium", "cheap", True, True, False),
    "echo": ("low", "cheap", False, True, False),
    "normalize_handle": ("low", "cheap", False, True, False),
    "text_analysis": ("low", "cheap", False, True, False),
    "research": ("low", "expensive", False, True, False),
    "ctr": ("low", "expensive", False, True, False),
    "script": ("low", "expensive", False, True, False),
    "eval": ("low", "expensive", False, True, False),
    "deep_research": ("low", "expensive", False, True, False),
    "backtest_policy": ("low", "normal", False, True, False),
    "generate_report": ("low", "normal", False, True, False),
}
TIMEOUTS = {
    "fetch_trends": 30,
    "semantic_filter": 10,
    "generate_content": 45,
    "validate_content": 5,
    "publish_content": 15,
    "get_agent_profile": 2,
    "fetch_wallet_balance": 5,
    "debit_wallet": 10,
    "update_agent_state": 5,
    "register_openclaw_profile": 10,
}


def _folder(skill: Skill) -> Path:
    return Path(sys.modules[type(skill).__module__].__file__ or "").parent


@every_skill
@pytest.mark.req("B4", "B5")
def test_the_name_is_that_of_the_folder(skill: Skill) -> None:
    folder = _folder(skill).name

    assert skill.name == (folder if folder in KEEP_PREFIX else folder.removeprefix("skill_"))


@every_skill
@pytest.mark.req("W1")
def test_it_is_found_by_name_by_class_and_by_version(skill: Skill) -> None:
    for version in (skill.metadata.version, *skill.compatible_versions):
        assert registry.get(f"{skill.name}@v{version}") is skill
    assert registry.get(type(skill).__name__) is skill
    if skill in registry.all():
        assert registry.get(skill.name) is skill


@every_skill
@pytest.mark.req("B4")
def test_its_description_is_one_short_paragraph(skill: Skill) -> None:
    text = description_of(skill)

    assert 20 <= len(text) <= 300 and text.endswith(".") and "\n" not in text


@every_skill
@pytest.mark.req("A0.1", "B4")
def test_every_input_field_says_what_it_means(skill: Skill) -> None:
    silent = [
        name for name, field in skill.input_model.model_fields.items() if not field.description
    ]

    assert silent == []


@every_skill
@pytest.mark.req("A0.1", "W1")
def test_its_schemas_are_json_schema_2020_12_and_survive_the_wire(skill: Skill) -> None:
    shown = skill_dict(skill)

    for schema in (shown["input_schema"], shown["output_schema"]):
        jsonschema.Draft202012Validator.check_schema(schema)
        assert plain(loads(dumps(schema))) == plain(schema)
        assert "$ref" not in dumps(schema)


@every_skill
@pytest.mark.req("A0.1")
def test_it_refuses_a_field_that_it_does_not_know(skill: Skill) -> None:
    extra = "allow" if f"{skill.name}@v{skill.metadata.version}" in TAKES_ANYTHING else "forbid"

    assert skill.input_model.model_config.get("extra") == extra


@every_skill
@pytest.mark.req("A0.1")
def test_its_error_codes_are_in_the_table(skill: Skill) -> None:
    named = {
        *skill.error_codes,
        *skill.retry.codes,
        *skill.stale_codes,
        *skill.field_codes.values(),
    }

    assert named | {skill.timeout_code} <= set(CODES)


@every_skill
@pytest.mark.req("A0.3")
def test_it_retries_only_codes_that_are_retryable(skill: Skill) -> None:
    assert all(CODES[code].retryable for code in skill.retry.codes)


@every_skill
@pytest.mark.req("B4")
def test_its_examples_fit_its_models(skill: Skill) -> None:
    assert list(example_problems(type(skill))) == []
    shown = skill_dict(skill)
    for example in shown["examples"]:
        for part in ("input", "output"):
            validator = jsonschema.Draft202012Validator(shown[f"{part}_schema"])
            validator.validate(_on_the_wire(example[part]))


def _on_the_wire(value: Any) -> Any:
    """Numbers as a client's JSON parser gives them."""
    if isinstance(value, dict):
        return {key: _on_the_wire(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_on_the_wire(item) for item in value]
    return float(value) if type(value).__name__ == "Decimal" else value


RUN_ALONE = [
    skill for skill in SKILLS if skill.capabilities <= {"IO"} and not skill.requires_approval
]
"""Skills that need nothing but their input and a folder: they are run here on their examples."""


@pytest.mark.parametrize(
    "skill", RUN_ALONE, ids=[f"{skill.name}@v{skill.metadata.version}" for skill in RUN_ALONE]
)
@pytest.mark.req("B4", "W1")
def test_its_output_for_its_examples_fits_its_model(skill: Skill, tmp_path: Path) -> None:
    for number, example in enumerate(examples_of(skill), 1):
        params = skill.input_model.model_validate(example["input"], context=STORED)
        result = bounded(skill, SkillContext(params=params, home=tmp_path), "execute")

        wrong = list(misfits(skill.output_model, result.output))
        assert wrong == [], f"the output of execute for example {number}"


@every_skill
@pytest.mark.req("C5", "I2")
def test_an_effect_that_needs_a_person_is_never_served_from_a_cache(skill: Skill) -> None:
    assert skill.requires_approval == isinstance(skill, GatedSkill)
    if isinstance(skill, GatedSkill):
        assert skill.cache_seconds == 0 and not skill.stale_codes
        assert skill.secret_field or type(skill).ask is not GatedSkill.ask, "no way to say yes"


@every_skill
@pytest.mark.req("A5.6", "I1", "I8")
def test_its_metadata_is_that_of_the_table(skill: Skill) -> None:
    meta = skill.metadata
    shown = (
        meta.risk_level,
        meta.cost_class,
        meta.side_effects,
        meta.idempotent,
        skill.requires_approval,
    )

    if skill.name in METADATA:
        assert shown == METADATA[skill.name]
    assert meta.timeout_sec == TIMEOUTS.get(skill.name, meta.timeout_sec)
    assert meta.capabilities <= CAPABILITIES


@pytest.mark.req("B4")
def test_every_generated_document_is_up_to_date() -> None:
    stale = StringIO()
    with suppress(SystemExit):
        call_command("docs", check=True, stdout=stale, stderr=StringIO())

    assert stale.getvalue() == "", "run manage.py docs and commit the result"


@pytest.mark.req("W1")
def test_a_class_without_models_is_refused() -> None:
    class Incomplete(Skill):
        name = "incomplete"

        async def execute(self, ctx: Any) -> Any:
            return None

    with pytest.raises(IncompleteSkill, match=r"input_model is missing.*metadata is missing"):
        Registry().register(Incomplete)


@pytest.mark.req("W1")
def test_a_second_class_of_the_same_name_is_refused() -> None:
    own = Registry()
    first = type(SKILLS[0])
    own.register(first)
    second = type("Second", (first,), {"name": first.name})

    with pytest.raises(IncompleteSkill, match="registered already"):
        own.register(second)


@pytest.mark.parametrize("reference", ["", "no_such", "fetch_trends@v9.9", "../x", "a" * 200, "é"])
def test_an_unknown_reference_is_not_found(reference: str) -> None:
    with pytest.raises(ChimeraError, match="SKILL_NOT_FOUND"):
        registry.get(reference)
