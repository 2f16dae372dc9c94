"""The written contract of a skill follows from the code, in both languages."""

import pytest

from chimera.core.capabilities import CAPABILITIES
from chimera.env import ROOT
from skills.contract import SkillMetadata, SkillResult
from skills.contract_page import page


@pytest.mark.req("I7", "I1")
def test_every_field_and_capability_stands_in_english_and_in_russian() -> None:
    english, russian = page().split("\n---\n")

    for name in (*SkillMetadata.model_fields, *SkillResult.model_fields):
        assert f"| `{name}` | " in english and f"| `{name}` | " in russian
    assert all(name in english and name in russian for name in CAPABILITIES)
    assert "Контракт скилла" in russian and "Skill contract" in english


@pytest.mark.req("I7")
def test_the_document_is_the_one_that_the_code_gives() -> None:
    assert (ROOT / "docs" / "skill_contract.md").read_text() == page()
