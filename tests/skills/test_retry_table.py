"""The retry table: every code with every skill, and what the documents' sections add."""

from datetime import timedelta
from typing import Any

import pytest

from chimera.core.clock import now
from chimera.core.errors import CODES, ChimeraError
from skills.catalogue import registry
from skills.contract import ALWAYS_RETRIED, Skill
from skills.models import SkillExecution
from skills.retries import retry_in
from skills.services import deadline_of

SKILLS = registry.every()
every_skill = pytest.mark.parametrize(
    "skill", SKILLS, ids=[f"{skill.name}@v{skill.metadata.version}" for skill in SKILLS]
)
RETRYABLE = ALWAYS_RETRIED | {
    "LLM_ERROR",
    "MEDIA_GENERATION_FAILED",
    "PUBLISH_FAILED",
    "PLATFORM_ERROR",
    "WALLET_ERROR",
    "REGISTRATION_FAILED",
}
# skill: (retries after the first attempt, codes of its section beside the five of every skill)
SECTIONS: dict[str, tuple[int, set[str]]] = {
    "fetch_trends": (2, set()),
    "semantic_filter": (2, {"LLM_ERROR"}),
    "generate_content": (2, {"LLM_ERROR"}),
    "validate_content": (2, set()),
    "publish_content": (3, {"PUBLISH_FAILED", "PLATFORM_ERROR"}),
    "get_agent_profile": (2, set()),
    "update_agent_state": (2, set()),
    "fetch_wallet_balance": (2, {"WALLET_ERROR"}),
    "debit_wallet": (3, set()),
    "register_openclaw_profile": (3, {"REGISTRATION_FAILED"}),
}


def tried(count: int, **fields: Any) -> SkillExecution:
    return SkillExecution(retry_count=count, claims=count + 1, **fields)


@pytest.mark.req("A0.3", "X4")
def test_the_retryable_codes_are_those_of_the_document_and_no_other() -> None:
    assert {code for code, spec in CODES.items() if spec.retryable} == RETRYABLE


@every_skill
@pytest.mark.req("A0.3")
def test_a_skill_retries_what_its_section_says(skill: Skill) -> None:
    retries, added = SECTIONS.get(skill.name, (skill.retry.retries, skill.retry.codes))

    assert (skill.retry.retries, skill.retry.codes) == (retries, ALWAYS_RETRIED | added)


@pytest.mark.parametrize("code", sorted(set(CODES) - {"OUTCOME_UNKNOWN"}))
@every_skill
@pytest.mark.req("A0.3")
def test_a_code_is_tried_again_exactly_where_the_table_says(skill: Skill, code: str) -> None:
    again = code in skill.retry.codes
    error = ChimeraError(code)

    for count in range(skill.retry.retries):
        wait = retry_in(tried(count), skill, error)
        assert (wait is not None) == again
        assert wait is None or 2**count <= wait <= 2**count + 1
    assert retry_in(tried(skill.retry.retries), skill, error) is None
    assert retry_in(tried(0), skill, ChimeraError(code, final=True)) is None


@every_skill
@pytest.mark.req("A0.4")
def test_the_deadline_holds_every_attempt_and_every_wait(skill: Skill) -> None:
    retries = skill.retry.retries
    longest = (retries + 1) * skill.metadata.timeout_sec + sum(2**n + 1 for n in range(retries))

    assert longest < deadline_of(skill).total_seconds() < longest + 60 + 11 * (retries + 1)


@pytest.mark.parametrize(("left", "again"), [(0.9, False), (2.1, True)])
@pytest.mark.req("A0.4")
def test_a_wait_that_passes_the_deadline_is_not_begun(left: float, again: bool) -> None:
    execution = tried(0, deadline_at=now() + timedelta(seconds=left))

    wait = retry_in(execution, registry.get("fetch_trends"), ChimeraError("TIMEOUT"))

    assert (wait is not None) == again


@pytest.mark.req("A0.4")
def test_a_wait_that_the_source_asks_for_ends_the_call_when_it_passes_the_deadline() -> None:
    execution = tried(0, deadline_at=now() + timedelta(seconds=30))
    busy = ChimeraError("RATE_LIMITED", backoff_sec=60)

    assert retry_in(execution, registry.get("fetch_trends"), busy) is None
