"""The acceptance criteria of the workflow framework, in its own words."""

from typing import Any

import pytest
from pydantic import BaseModel, EmailStr, ValidationError

from skills import BaseSkill, Step, Workflow, registry
from skills.catalogue import IncompleteSkill
from skills.contract import SkillContext, SkillMetadata, SkillResult
from tests.skills.conftest import PURE


class Mail(BaseModel):
    """An address."""

    email: EmailStr


@pytest.fixture
def my_skill() -> Any:
    class MySkill(BaseSkill):
        """Takes an address."""

        input_model = Mail
        output_model = Mail
        metadata = SkillMetadata(**PURE)

        async def execute(self, ctx: SkillContext[Mail]) -> SkillResult:
            return SkillResult(output=ctx.params)

    registry.all()
    yield MySkill
    registry.forget("my")


@pytest.mark.req("W1")
def test_a_registered_class_is_retrievable_by_its_name(my_skill: Any) -> None:
    registry.register(my_skill)

    assert type(registry.get("MySkill")) is my_skill


@pytest.mark.req("W2")
def test_output_of_step_1_is_passed_to_step_2_and_a_record_says_succeeded() -> None:
    workflow = Workflow(
        "tidy", steps=[Step("echo", {"handle": " @Aurora "}), Step("normalize_handle")]
    )

    records = workflow.run()

    assert records[-1].output == {"handle": "aurora"}
    assert [record.status for record in records] == ["succeeded", "succeeded"]
    assert all(record.completed_at for record in records)


@pytest.mark.req("W2")
def test_a_bad_address_raises_the_validation_error_and_halts_the_workflow(my_skill: Any) -> None:
    registry.register(my_skill)
    workflow = Workflow("mail", steps=[Step("my", {"email": "not-an-email"}), Step("echo")])

    with pytest.raises(ValidationError):
        workflow.run()

    assert [(r.skill_name, r.status) for r in workflow.records] == [("my", "failed")]
    assert "email" in str(workflow.records[0].error)


@pytest.mark.req("W1")
def test_a_second_class_of_the_same_name_is_refused(my_skill: Any) -> None:
    registry.register(my_skill)
    other = type("MySkill", (my_skill,), {"__module__": __name__})

    with pytest.raises(IncompleteSkill):
        registry.register(other)
