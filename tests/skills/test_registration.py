"""What may not be registered, and that a refused class leaves nothing behind."""

import inspect
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from pydantic import BaseModel, ConfigDict, field_validator

from agents.models import Agent
from skills.catalogue import IncompleteSkill, Registry
from skills.contract import Retry, Skill, SkillMetadata, SkillResult
from skills.registration import example_problems
from tests.helpers.calls import call
from tests.skills.conftest import PURE, Word


class Opaque:
    """Has no form in JSON."""


class Unwritable(BaseModel):
    model_config = ConfigDict(arbitrary_types_allowed=True)
    thing: Opaque


class Callback(BaseModel):
    thing: Callable[[int], int]


async def execute(self: Skill, ctx: Any) -> SkillResult:
    return SkillResult(output={"word": "x"})


def shouted(**changes: Any) -> Any:
    """A class that would be registered but for the changes; None takes an attribute away."""
    body = {
        "name": "probe",
        "input_model": Word,
        "output_model": Word,
        "metadata": SkillMetadata(**PURE),
        "execute": execute,
        **changes,
    }
    return type("Probe", (Skill,), {key: each for key, each in body.items() if each is not None})


METADATA = SkillMetadata(**PURE | {"capabilities": frozenset({"TELEPATHY"})})


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"input_model": None}, "input_model is missing"),
        ({"output_model": None}, "output_model is missing"),
        ({"metadata": None}, "metadata is missing"),
        ({"execute": None}, "a subclass of Skill that defines execute"),
        ({"execute": lambda self, ctx: None}, "execute must be async"),
        ({"input_model": dict}, "input_model is no Pydantic model"),
        ({"input_model": Unwritable}, "input_model is not JSON-serialisable"),
        ({"output_model": Unwritable}, "output_model is not JSON-serialisable"),
        ({"input_model": Callback}, "input_model is not JSON-serialisable"),
        ({"metadata": {"version": "1.0"}}, "metadata is no SkillMetadata"),
        ({"metadata": METADATA}, r"unknown capabilities \['TELEPATHY'\]"),
        ({"__module__": "undocumented"}, "its module has no docstring"),
        ({"__module__": "undocumented", "__doc__": " "}, "its module has no docstring"),
        ({"name": "Not A Name"}, "must be lower_snake_case"),
        ({"name": "x" * 65}, "must be lower_snake_case"),
        ({"error_codes": ("NO_SUCH_CODE",)}, r"unknown error codes \['NO_SUCH_CODE'\]"),
        ({"timeout_code": "LATE"}, r"unknown error codes \['LATE'\]"),
        ({"retry": Retry(2, frozenset({"FORBIDDEN"}))}, r"never retried: \['FORBIDDEN'\]"),
        ({"requires_approval": True}, "needs GatedSkill"),
        ({"compatible_versions": ("1.1",)}, "no earlier minor version"),
        ({"compatible_versions": ("0.9",)}, "no earlier minor version"),
    ],
)
@pytest.mark.req("W1")
def test_an_incomplete_class_is_refused_with_what_it_lacks(
    changes: dict[str, Any], why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = Registry()
    monkeypatch.setitem(sys.modules, "undocumented", ModuleType("undocumented"))

    with pytest.raises(IncompleteSkill, match=why):
        own.register(shouted(**changes))
    assert own._majors == {} and own._classes == {}


@pytest.mark.req("W1")
def test_the_docstring_of_the_class_does_where_the_module_has_none() -> None:
    Registry().register(shouted(__module__="undocumented", __doc__="Give a word back."))


@pytest.mark.parametrize("thing", [Word, 7, "fetch_trends", object()])
@pytest.mark.req("W1")
def test_what_is_no_skill_class_is_refused(thing: Any) -> None:
    with pytest.raises(IncompleteSkill, match="a subclass of Skill"):
        Registry().register(thing)


@pytest.mark.req("W1")
def test_everything_that_is_wrong_is_named_at_once() -> None:
    with pytest.raises(IncompleteSkill, match=r"input_model.*output_model.*metadata"):
        Registry().register(shouted(input_model=None, output_model=None, metadata=None))


@pytest.mark.req("W1")
def test_two_skills_may_not_share_a_class_name() -> None:
    own = Registry()
    own.register(shouted())

    with pytest.raises(IncompleteSkill, match="the class name is that of the skill probe"):
        own.register(shouted(name="other"))
    assert list(own._majors) == ["probe"]


@pytest.mark.req("W1")
def test_registering_the_same_class_again_changes_nothing() -> None:
    own, cls = Registry(), shouted()

    assert own.register(cls) is own.register(cls) is cls


EXAMPLES_THAT_BREAK = [
    ("[]", "must be a list with at least one example"),
    ("[7", "Expecting"),
    ('[{"input": {"word": "x"}}]', "example 1: must hold input and output, and nothing else"),
    ('[{"input": {"word": 5}, "output": {"word": "x"}}]', "example 1: input.word: Input should be"),
    ('[{"input": {}, "output": {"word": 5}}]', "example 1: output.word: Input should be a valid"),
    ('[{"input": {}, "output": []}]', "example 1: output: Input should be a valid dict"),
    ('[{"input": {}, "output": {"word": "x", "wrd": 1}}]', "example 1: output.wrd: Extra inputs"),
]


@pytest.mark.parametrize(("text", "why"), EXAMPLES_THAT_BREAK)
@pytest.mark.req("B4")
def test_a_wrong_example_is_told_by_its_file_its_number_and_its_field(
    text: str, why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "examples_probe.json").write_text(text)
    monkeypatch.setattr(inspect, "getfile", lambda cls: str(tmp_path / "probe.py"))

    (said,) = example_problems(shouted())

    assert said.startswith(f"{tmp_path.name}/examples_probe.json: {why}")


@pytest.mark.req("I8", "I4")
def test_a_skill_is_constructed_for_a_call_and_never_to_be_listed(
    orchestrator: Agent, make_skill: Any
) -> None:
    made: list[str] = []

    def check(self: Skill) -> None:
        made.append("here")
        raise ConnectionError("the machine is not there")

    make_skill(__init__=check, retry=Retry(0))
    assert made == []

    execution = call(orchestrator, "probe")

    assert made == ["here"] and execution.error["code"] == "NETWORK_ERROR"


class Guarded(Word):
    """Refuses a word with a text that quotes it."""

    @field_validator("word")
    @classmethod
    def is_calm(cls, word: str) -> str:
        if word.endswith("!"):
            raise ValueError(f"{word} is too loud")
        return word


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (["hush-hush"], "word: Input should be a valid string"),
        ("hush-hush!", "word: value_error"),
    ],
)
@pytest.mark.req("A0.1")
def test_an_output_that_breaks_its_schema_is_told_by_its_field_and_never_by_its_value(
    answer: Any, why: str, orchestrator: Agent, make_skill: Any
) -> None:
    make_skill(lambda ctx: answer, output_model=Guarded)

    execution = call(orchestrator, "probe")

    assert (execution.status, execution.error["code"]) == ("failed", "INTERNAL_ERROR")
    said = f"probe gave an output that breaks its schema: {why}"
    assert execution.error["message"] == said and "hush" not in str(execution.error)
