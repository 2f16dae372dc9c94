"""Skills that an installed package brings: taken when complete, else left out with the reason."""

import logging
from pathlib import Path

import pytest

from chimera.checks import installed_skills_are_complete
from skills import catalogue
from skills.catalogue import Registry
from skills.contract import Skill

GOOD = '''"""Say how long a text is; a skill of another package."""
from pydantic import BaseModel, ConfigDict, Field
from skills.contract import Skill, SkillMetadata, SkillResult

class Input(BaseModel):
    model_config = ConfigDict(extra="forbid")
    text: str = Field(description="Any text")

class Output(BaseModel):
    length: int

class MeasureText(Skill):
    input_model, output_model = Input, Output
    metadata = SkillMetadata(risk_level="low", cost_class="cheap", side_effects=False, idempotent=True, timeout_sec=1)

    async def execute(self, ctx):
        return SkillResult(output=Output(length=len(ctx.params.text)))

class Half(Skill):
    async def execute(self, ctx):
        return SkillResult()

class Echo(MeasureText):
    name = "echo"
'''
POINTS = """[chimera.skills]
measure_text = kit_of_others:MeasureText
half = kit_of_others:Half
echo = kit_of_others:Echo
gone = kit_of_others:Gone
nowhere = no_such_kit:Skill
"""


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Registry:
    """A registry of its own, beside an installed package with five entry points."""
    (tmp_path / "kit_of_others.py").write_text(GOOD)
    info = tmp_path / "kit_of_others-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: kit-of-others\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(POINTS)
    monkeypatch.syspath_prepend(str(tmp_path))
    return Registry()


@pytest.mark.req("B5", "W1")
def test_a_skill_of_an_installed_package_is_one_of_the_catalogue(package: Registry) -> None:
    skill = package.get("measure_text")

    assert isinstance(skill, Skill) and skill in package.all()
    assert package.get("MeasureText") is skill


@pytest.mark.req("B5", "W1")
def test_one_that_cannot_be_used_is_left_out_and_the_log_says_why(
    package: Registry, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, logger="chimera.skills"):
        names = [skill.name for skill in package.all()]

    said = caplog.text
    assert "half" not in names and type(package.get("echo")).__module__ == "skills.skill_echo.skill"
    assert "input_model is missing" in said and "registered already" in said
    assert "AttributeError" in said and "no_such_kit" in said


@pytest.mark.req("B5")
def test_the_start_warns_of_each_that_was_left_out(
    package: Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("chimera.checks.registry", package)

    found = installed_skills_are_complete()

    assert [message.id for message in found] == ["chimera.W001"] * 4
    assert any("half" in str(message.msg) for message in found)


@pytest.mark.req("B5")
def test_without_such_packages_nothing_is_left_out() -> None:
    assert catalogue.registry.refused() == {} and installed_skills_are_complete() == []
