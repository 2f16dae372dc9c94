"""The written contract of a skill follows from the code, in both languages."""

import importlib
from pathlib import Path

import pytest

from agents.models import Agent
from chimera.core.capabilities import CAPABILITIES
from chimera.env import ROOT
from skills.catalogue import registry
from skills.contract import Skill, SkillMetadata, SkillResult
from skills.contract_page import EXAMPLE, page
from tests.helpers.calls import call


@pytest.mark.req("I7", "I1")
def test_every_field_and_capability_stands_in_english_and_in_russian() -> None:
    both = english, russian = page().split("\n---\n")

    for name in (*SkillMetadata.model_fields, *SkillResult.model_fields, *Skill.__annotations__):
        assert f"| `{name}` | " in english and f"| `{name}` | " in russian
    assert all(name in english and name in russian for name in CAPABILITIES)
    assert all(f"`{name}" in part for name in ("ctx.params", "ctx.folder()") for part in both)
    assert "Контракт скилла" in russian and "Skill contract" in english


@pytest.mark.req("I7")
def test_the_document_is_the_one_that_the_code_gives() -> None:
    assert (ROOT / "docs" / "skill_contract.md").read_text() == page()


@pytest.mark.req("I7", "B5")
def test_the_skill_on_the_page_works_as_it_stands(
    orchestrator: Agent, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "counting_agents.py").write_text(EXAMPLE)
    monkeypatch.syspath_prepend(str(tmp_path))
    registry.all()
    registry.register(importlib.import_module("counting_agents").CountAgents)

    counted = call(orchestrator, "count_agents", role="orchestrator")
    none = call(orchestrator, "count_agents", role="judge")
    registry.forget("count_agents")

    assert page().count(EXAMPLE) == 2 and counted.output == {"agents": 1}
    assert none.error["code"] == "AGENT_NOT_FOUND"
