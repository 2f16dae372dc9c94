"""validate_content: which verdict is served again, and what happens when rules fail or do not end."""

import time
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from agents.models import Agent, Campaign, Persona
from chimera.core.clock import now
from chimera.core.errors import ChimeraError
from chimera.core.ids import new_id
from chimera.core.jsontext import plain
from content import wordlists
from content.models import ContentPackage, PlatformAccount, Publication, Validation
from content.services import content_revise, content_store
from content.validation import offensive, rules
from skills.models import SkillExecution, Status
from tests.helpers.calls import asked, call, package, stored, trend

CAREFUL = {"requires_human_review": True, "valid": False, "confidence_score": 0.0}


def check(agent: Agent, data: dict[str, Any], **switches: bool) -> SkillExecution:
    """One call of the skill, driven to its end."""
    return call(agent, "validate_content", content=data, validation_rules=switches)


def draft(agent: Agent, **changes: Any) -> ContentPackage:
    """A stored package that nobody has validated."""
    return content_store(
        agent=agent, package=package(**changes), trends=[trend()], actor=agent.actor
    )


def published(agent: Agent, text: str, **fields: Any) -> Publication:
    """A post of the agent that is out."""
    content = stored(agent)
    account, _ = PlatformAccount.objects.get_or_create(
        platform="twitter", handle=f"of_{agent.name.lower()}", agent=agent
    )
    made = {
        "content": content, "revision": 1, "platform": "twitter", "account": account, "text": text,
        "action_digest": "0" * 64, "approval_id": new_id(), "execution_id": new_id(), "agent": agent,
        "reviewer_id": "1", "state": "published", "post_id": "1", "post_url": "https://x.example/1",
    }  # fmt: skip
    return Publication.objects.create(**made | fields)


def wording(data: dict[str, Any]) -> str:
    """What is posted of a package without variants."""
    return f"{data['captions']}\n\n{' '.join(data['hashtags'])}"


def not_requestable(agent: Agent, content: ContentPackage) -> bool:
    with pytest.raises(ChimeraError) as refusal:
        asked(agent, content, "twitter")
    return refusal.value.code == "NOT_VALIDATED"


# --- what is served again ---------------------------------------------------------------------


@pytest.mark.req("A4.5")
def test_the_same_package_is_answered_from_the_verdict_that_was_kept(orchestrator: Agent) -> None:
    content = draft(orchestrator)
    first = check(orchestrator, content.current.data)
    again = check(orchestrator, content.current.data)
    assert (first.cached, again.cached) == (False, True)
    for execution in (first, again):
        execution.output.pop("validation_time_ms")
    assert first.output == again.output
    assert Validation.objects.count() == 1


@pytest.mark.req("A4.5")
def test_a_package_that_is_not_stored_is_answered_from_the_verdict_too(orchestrator: Agent) -> None:
    data = package(captions="You stupid fucking idiots, buy this now or be sorry for ever.")
    assert [check(orchestrator, data).cached for _ in "ab"] == [False, True]


@pytest.mark.req("A4.5")
def test_after_six_hours_the_rules_run_again(orchestrator: Agent) -> None:
    content = draft(orchestrator)
    check(orchestrator, content.current.data)
    Validation.objects.update(created_at=now() - timedelta(hours=6, seconds=1))
    assert check(orchestrator, content.current.data).cached is False


@pytest.mark.req("A4.5")
@pytest.mark.parametrize(
    "change",
    ["text", "confidence", "switches", "persona", "ruleset", "campaign", "newer post", "reverted"],
)
def test_whatever_the_verdict_depends_on_runs_the_rules_again(
    orchestrator: Agent, monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    content = draft(orchestrator)
    data, switches = dict(content.current.data), {}
    check(orchestrator, data)
    if change == "text":
        data["captions"] = "Merkato knew first, and so did we, all along."
        content_revise(content_id=content.id, package=data, actor="agent:test")
    elif change == "confidence":
        data["confidence_score"] = 0.81
    elif change == "switches":
        switches = {"check_copyright": False}
    elif change == "persona":
        Persona.objects.filter(agent=orchestrator).update(version=2)
    elif change == "ruleset":
        monkeypatch.setattr("content.validations.RULESET_VERSION", "9.9")
    elif change == "campaign":
        _campaign(orchestrator, required_mentions=["@merkato"])
    elif change == "newer post":
        published(orchestrator, "Something else entirely, about the rain.")
    elif change == "reverted":
        for captions in ("Merkato knew first, and so did we, all along.", data["captions"]):
            changed = data | {"captions": captions}
            content_revise(content_id=content.id, package=changed, actor="agent:test")
    assert check(orchestrator, data, **switches).cached is False


def _campaign(agent: Agent, **guidelines: Any) -> None:
    Campaign.objects.create(
        agent=agent, name="Rains", goal="Sell the rains", start_date=now().date(),
        budget={"total_amount": 1, "currency": "USDC"}, content_guidelines=guidelines,
    )  # fmt: skip


@pytest.mark.req("A4.5", "A4.2")
def test_a_verdict_with_a_family_off_does_not_hide_the_full_one(orchestrator: Agent) -> None:
    content = draft(
        orchestrator, captions="You stupid fucking idiots, buy this now or be sorry for ever."
    )
    data = content.current.data
    assert check(orchestrator, data).output["valid"] is False
    loose = check(orchestrator, data, check_offensive_language=False)
    assert loose.output["valid"] and loose.output["issues"][-1]["rule"] == "not_checked"
    strict = check(orchestrator, data)
    assert (strict.cached, strict.output["valid"]) == (False, False)
    assert not_requestable(orchestrator, content)


@pytest.mark.req("A4.5")
def test_an_edit_takes_the_content_back_until_it_is_validated_anew(orchestrator: Agent) -> None:
    content = draft(orchestrator)
    check(orchestrator, content.current.data)
    edited = content.current.data | {"captions": "Merkato knew first, and so did we, all along."}
    content_revise(content_id=content.id, package=edited, actor="agent:test")
    content.refresh_from_db()
    assert not_requestable(orchestrator, content)
    check(orchestrator, edited)
    assert check(orchestrator, edited).cached


# --- rules that fail or do not end -----------------------------------------------------------------


@pytest.fixture
def stuck(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A rule that does not end by itself."""

    def forever(_: Any) -> Iterator[Any]:
        end = time.monotonic() + 30
        while time.monotonic() < end:
            time.sleep(0.01)
        yield from ()

    monkeypatch.setattr(rules.copyright, "check", forever)
    yield


@pytest.mark.req("A4.6")
@pytest.mark.provokes("validate_content", "SAFETY_CHECK_TIMEOUT")
def test_a_rule_that_does_not_end_is_the_worst_case_within_five_seconds(
    orchestrator: Agent, stuck: None
) -> None:
    content = draft(orchestrator)
    began = time.monotonic()
    execution = check(orchestrator, content.current.data)
    assert time.monotonic() - began < 5
    assert (execution.status, execution.error["code"]) == (Status.FAILED, "SAFETY_CHECK_TIMEOUT")
    assert execution.error["http_status"] == 504 and execution.retry_count == 0
    assert execution.output | CAREFUL == execution.output
    assert not_requestable(orchestrator, content)


@pytest.mark.req("A4.6")
def test_a_timeout_takes_an_earlier_valid_verdict_back(
    orchestrator: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = stored(orchestrator)
    monkeypatch.setattr("skills.skill_validate_content.skill.run", lambda found: _late(found))
    assert check(orchestrator, content.current.data).error["code"] == "SAFETY_CHECK_TIMEOUT"
    assert not_requestable(orchestrator, content)


def _late(found: Any) -> Any:
    from content.validation.running import run

    return run([("slow", lambda: time.sleep(1) or [])], seconds=0.01)


@pytest.mark.req("A4.7")
@pytest.mark.provokes("validate_content", "VALIDATION_ERROR")
def test_a_word_list_that_cannot_be_read_fails_the_check_with_what_the_others_found(
    orchestrator: Agent, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    content = stored(orchestrator, captions="All rights reserved by the market, they say out loud.")
    monkeypatch.setattr(wordlists, "_FOLDER", tmp_path / "gone")
    wordlists.sections.cache_clear()
    execution = check(orchestrator, content.current.data)
    assert (execution.status, execution.error["code"]) == (Status.FAILED, "VALIDATION_ERROR")
    assert execution.error["http_status"] == 422
    assert execution.error["details"]["rules"] == ["offensive_language"]
    assert execution.output | CAREFUL == execution.output
    assert {"copyright", "offensive_language"} <= {i["rule"] for i in execution.output["issues"]}
    assert not_requestable(orchestrator, content)
    monkeypatch.undo()
    wordlists.sections.cache_clear()
    assert check(orchestrator, content.current.data).cached is False


def test_the_failed_check_is_not_served_again(
    orchestrator: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = draft(orchestrator)
    with monkeypatch.context() as broken:
        broken.setattr(offensive, "offensive_words", lambda _: 1 / 0)
        assert check(orchestrator, content.current.data).status == Status.FAILED
    again = check(orchestrator, content.current.data)
    assert (again.cached, again.output["valid"]) == (False, True)


# --- what it is held against ---------------------------------------------------------------------


@pytest.mark.req("A4.2")
def test_a_post_that_was_published_before_is_named_and_needs_a_person(orchestrator: Agent) -> None:
    content = draft(orchestrator)
    data = content.current.data
    published(orchestrator, wording(data))
    execution = check(orchestrator, data)
    [issue] = [i for i in execution.output["issues"] if i["rule"] == "duplicate"]
    assert "https://x.example/1" in issue["message"] and issue["severity"] == "warning"
    assert execution.output["requires_human_review"] and execution.output["valid"]


@pytest.mark.req("A4.2")
@pytest.mark.parametrize("changes", [{"state": "withdrawn"}, {"old": True}, {"stranger": True}])
def test_posts_that_are_gone_old_or_of_others_do_not_count(
    orchestrator: Agent, outsider: Agent, changes: dict[str, Any]
) -> None:
    content = draft(orchestrator)
    author = outsider if changes.pop("stranger", False) else orchestrator
    if changes.pop("old", False):
        changes["created_at"] = now() - timedelta(days=91)
    published(author, wording(content.current.data), **changes)
    issues = check(orchestrator, content.current.data).output["issues"]
    assert "duplicate" not in {issue["rule"] for issue in issues}


@pytest.mark.req("A4.2")
def test_a_mention_of_the_campaign_is_known_and_another_is_not(orchestrator: Agent) -> None:
    _campaign(orchestrator, required_mentions=["@merkato"])
    content = draft(orchestrator, captions="Merkato knew first, says @merkato and @somebody.")
    issues = check(orchestrator, content.current.data).output["issues"]
    assert [i["message"][:21] for i in issues if i["rule"] == "mention"] == [
        "the mention @somebody"
    ]


@pytest.mark.req("A4.2", "K6")
def test_an_edited_headline_with_a_number_of_its_own_is_not_valid(orchestrator: Agent) -> None:
    content = draft(orchestrator)
    edited = content.current.data | {"captions": "Merkato sold 42,000 hats in a week.\nReally."}
    execution = check(orchestrator, edited)
    assert execution.output["valid"] is False
    assert any(i["message"].startswith("42,000") for i in execution.output["issues"])


def test_rules_of_a_package_that_nobody_stored_run_without_a_persona(orchestrator: Agent) -> None:
    assert check(orchestrator, package(content_id=str(uuid4()))).output["valid"]
    assert plain(Validation.objects.get().persona_version) == 0
