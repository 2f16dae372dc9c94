"""skill_generate_media_asset: candidates within money and time, and never a post."""

import json
from asyncio import sleep
from collections.abc import Iterator
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from agents.models import Agent
from approvals.models import ApprovalRequest
from chimera.core.clock import now
from chimera.core.secrets import encrypt
from content.models import ContentPackage, PlatformAccount, Publication
from content.services import content_store
from skills import runner
from skills.models import SkillExecution, Status
from skills.skill_generate_media_asset import making
from tests.helpers.calls import attempt, call, package, trend
from tests.helpers.intents import execute, intent, review
from tests.helpers.language_models import MINI, Thinkers, arm, thinkers
from tests.helpers.mcp_server import refusal
from tests.helpers.media_tools import Tools, media_tools
from tests.helpers.world import list_posts, open_account

__all__ = ["thinkers"]

NAME = "skill_generate_media_asset"
IMAGE = {
    "url": "https://media.example/a.jpg",
    "sha256": "9f2c6b1e0d4a7f3358c1e2a9b6d40c7715e8a3f2b1c09d8e7f6a5b4c3d2e1f00",
    "size_bytes": 5,
    "is_image_safe": True,
}
VIDEO = {"task_id": "t", "status": "SUCCEEDED", "video": IMAGE | {"duration_sec": 6}}
UNSAFE = {"images": [{"url": None, "is_image_safe": False}]}


@pytest.fixture(scope="module")
def server() -> Iterator[Tools]:
    with media_tools() as running:
        yield running


@pytest.fixture
def tools(server: Tools, settings: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Tools:
    """The deployment's only MCP server: an image costs 1 USD, a second of video 0.10."""
    server.calls.clear()
    server.answers = [{"images": [IMAGE]}]
    path = tmp_path / "mcp.json"
    prices = {"ideogram": 1, "runwayml": "0.10"}
    named = {"tools": {"url": f"{server.url}/mcp", "prices": prices}}
    path.write_text(json.dumps({"mcpServers": named}))
    settings.CHIMERA = settings.CHIMERA.model_copy(update={"chimera_mcp_config": path})
    monkeypatch.setattr(making, "sleep", _at_once)
    return server


async def _at_once(seconds: float) -> None:
    """A wait between two tries, without waiting."""


def asked(kind: str = "text", **changes: Any) -> dict[str, Any]:
    """The request of the document; `brief__x`, `length__x` and constraints by name are changed."""
    brief = {
        "prompt": "30s launch teaser",
        "persona": "brand-safe upbeat",
        "goalId": "goal-uuid",
        "trendRefs": ["trend-uuid-1", "trend-uuid-2"],
        "mediaContext": [{"mediaId": "vid-123", "url": "s3://bucket/vid-123", "role": "source"}],
    }
    limits: dict[str, Any] = {"budgetUsd": 50, "maxLatencySec": 120}
    length = {"maxChars": 280, "maxDurationSec": 30}
    for name, value in changes.items():
        part, _, field = name.partition("__")
        {"brief": brief, "length": length}.get(part, limits)[field or name] = value
    return {
        "taskId": "task-uuid",
        "planId": "plan-uuid",
        "type": kind,
        "brief": brief,
        "constraints": limits | {"length": length},
        "trace": {"requestId": "req-uuid"},
    }


def make(agent: Agent, kind: str = "text", **changes: Any) -> SkillExecution:
    return call(agent, NAME, **asked(kind, **changes))


def refusal_of(execution: SkillExecution) -> tuple[str, list[str]]:
    """Code and fields of an error after which nothing is kept."""
    assert execution.status == Status.FAILED and not ContentPackage.objects.exists()
    return execution.error["code"], list(execution.error["details"].get("errors", {}))


@pytest.mark.req("B2", "B2.1")
def test_the_request_of_the_document_gets_the_response_of_the_document(
    sandbox: str, orchestrator: Agent
) -> None:
    posts = len(list_posts(sandbox))

    made = make(orchestrator)

    assert made.status == Status.COMPLETED, made.error
    output = made.output
    assert set(output) == {
        *("taskId", "planId", "output", "evidence", "confidence"),
        *("costUsd", "startedAt", "endedAt"),
    }
    assert (output["taskId"], output["planId"]) == ("task-uuid", "plan-uuid")
    assert set(output["output"]) == {"type", "content", "mediaRefs"}
    assert "30s launch teaser" in output["output"]["content"]
    assert output["output"]["mediaRefs"] == ["vid-123"]
    assert output["evidence"]["sources"] == [{"url": "s3://bucket/vid-123", "type": "media"}]
    assert {"rule": "offensive_language", "passed": True} in output["evidence"]["safetyChecks"]
    assert output["startedAt"] <= output["endedAt"] and output["costUsd"] == 0
    assert not Publication.objects.exists() and not ApprovalRequest.objects.exists()
    assert len(list_posts(sandbox)) == posts
    again = make(orchestrator)
    assert again.output["output"] == output["output"], "the same brief, the same text"


@pytest.mark.req("B2.1")
@pytest.mark.parametrize("most", [1, 90, 280])
def test_a_text_is_never_longer_than_allowed(orchestrator: Agent, most: int) -> None:
    content = make(orchestrator, length__maxChars=most).output["output"]["content"]

    assert 0 < len(content) <= most


@pytest.mark.req("B2.1")
def test_a_text_with_no_room_for_what_the_persona_must_say_is_refused(orchestrator: Agent) -> None:
    persona = orchestrator.persona
    persona.data["brand_guidelines"] = {"required_disclaimers": ["Paid partnership with Merkato"]}
    persona.save()

    assert refusal_of(make(orchestrator, length__maxChars=20)) == (
        "INVALID_INPUT",
        ["constraints.length.maxChars"],
    )
    kept = make(orchestrator, length__maxChars=60).output["output"]["content"]
    assert "Paid partnership with Merkato" in kept


@pytest.mark.req("B1.2", "B2", "B3")
def test_an_image_is_kept_with_its_trends_and_can_be_posted_by_its_reference(
    sandbox: str, orchestrator: Agent, account: PlatformAccount
) -> None:
    seen = trend(metadata={"source_urls": ["https://news.example/addis"]})
    content_store(agent=orchestrator, package=package(), trends=[seen], actor=orchestrator.actor)

    made = make(orchestrator, "image", brief__trendRefs=[seen["trend_id"], "trend-unknown"])

    [ref] = made.output["output"]["mediaRefs"]
    assert made.output["output"]["content"] == ref and ref.startswith("img-")
    sources = made.output["evidence"]["sources"]
    assert [source["type"] for source in sources] == ["image", "link", "media"]
    kept = ContentPackage.objects.get(id=made.id)
    assert kept.current.data["trend_refs"] == [seen["trend_id"], "trend-unknown"]
    assert [str(item.id) for item in kept.trends.all()] == [seen["trend_id"]]
    wanted = intent(account, payload={"content": "Merkato at dawn.", "mediaRefs": [ref]})
    shown = review(orchestrator, wanted).context
    assert shown["trend"]["trend_id"] == seen["trend_id"] and "trend-unknown" in shown["trend_refs"]
    posted = execute(orchestrator, wanted)
    assert posted.output["status"] == "executed", posted.output
    [post] = list_posts(sandbox, account.handle)
    assert post["text"] == "Merkato at dawn." and len(post["media"]) == 1


@pytest.mark.req("B2", "B3")
def test_what_was_made_can_be_handed_on_as_it_is_to_be_uploaded(
    sandbox: str, orchestrator: Agent
) -> None:
    handle = f"aurora_{orchestrator.id.hex[-10:]}"
    channel = PlatformAccount.objects.create(
        platform="youtube",
        handle=handle,
        agent=orchestrator,
        sealed_credentials=encrypt(open_account(sandbox, "youtube", handle).encode()),
    )
    made = make(orchestrator, "video", length__maxDurationSec=2)
    payload = {name: made.output["output"][name] for name in ("content", "mediaRefs")}

    posted = execute(orchestrator, intent(channel, action="upload_video", payload=payload))

    assert posted.output["status"] == "executed", posted.output
    [post] = list_posts(sandbox, handle)
    assert post["text"] == "" and len(post["media"]) == 1


@pytest.mark.req("B2.1")
@pytest.mark.parametrize(("most", "seconds"), [(2, 2), (30, 10)])
def test_a_video_is_ordered_no_longer_than_allowed(
    tools: Tools, orchestrator: Agent, most: int, seconds: int
) -> None:
    tools.answers = [VIDEO | {"video": VIDEO["video"] | {"duration_sec": seconds}}]

    made = make(orchestrator, "video", length__maxDurationSec=most)

    assert tools.calls[0].arguments["duration_sec"] == seconds
    assert made.output["costUsd"] == Decimal("0.1") * seconds
    assert made.output["output"]["mediaRefs"][0].startswith("vid-")


@pytest.mark.req("B2.1")
def test_a_video_that_came_out_too_long_is_not_handed_on(tools: Tools, orchestrator: Agent) -> None:
    tools.answers = [VIDEO]

    failed = make(orchestrator, "video", length__maxDurationSec=5)

    assert refusal_of(failed)[0] == "MEDIA_GENERATION_FAILED"


@pytest.mark.req("B2.1")
@pytest.mark.provokes(NAME, "BUDGET_EXCEEDED")
@pytest.mark.parametrize(
    ("kind", "budget"), [("image", "0.99"), ("image", 0), ("video", "0.99"), ("image", None)]
)
def test_what_costs_more_than_the_budget_or_has_no_price_is_not_asked_for(
    tools: Tools, orchestrator: Agent, settings: Any, kind: str, budget: Any
) -> None:
    if budget is None:  # the price is not known
        path = settings.CHIMERA.chimera_mcp_config
        path.write_text(path.read_text().replace('"ideogram"', '"another"'))

    failed = make(orchestrator, kind, budgetUsd=50 if budget is None else budget)

    assert refusal_of(failed) == ("BUDGET_EXCEEDED", ["constraints.budgetUsd"])
    assert failed.error["http_status"] == 402 and tools.calls == []


@pytest.mark.req("B2.1")
def test_no_call_may_ask_for_more_than_the_deployment_allows(
    tools: Tools, orchestrator: Agent, settings: Any
) -> None:
    settings.CHIMERA = settings.CHIMERA.model_copy(update={"chimera_media_budget": Decimal(20)})

    refused = make(orchestrator, "image", budgetUsd="20.01")

    assert refusal_of(refused) == ("INVALID_INPUT", ["constraints.budgetUsd"])
    assert "At most 20 USD" in refused.error["message"] and tools.calls == []
    assert make(orchestrator, "image", budgetUsd=20).status == Status.COMPLETED


@pytest.mark.req("B2.1")
@pytest.mark.provokes(NAME, "MEDIA_GENERATION_FAILED")
@pytest.mark.parametrize(("budget", "tries"), [(1, 1), (2, 2), (50, 3)])
def test_a_tool_that_fails_is_tried_again_only_within_the_budget(
    tools: Tools, orchestrator: Agent, budget: int, tries: int
) -> None:
    tools.answers = [refusal("PLATFORM_UNAVAILABLE")]

    failed = make(orchestrator, "image", budgetUsd=budget)

    assert refusal_of(failed)[0] == "MEDIA_GENERATION_FAILED" and len(tools.calls) == tries
    assert failed.error["details"]["costUsd"] == tries


@pytest.mark.req("B2.1")
@pytest.mark.provokes(NAME, "SAFETY_VIOLATION")
def test_what_is_not_safe_is_not_made_and_not_tried_again(
    tools: Tools, orchestrator: Agent
) -> None:
    tools.answers = [UNSAFE]

    assert refusal_of(make(orchestrator, "image"))[0] == "SAFETY_VIOLATION"
    assert len(tools.calls) == 1
    offensive = make(orchestrator, "image", brief__prompt="Show that they are all stupid idiots")
    assert refusal_of(offensive)[0] == "SAFETY_VIOLATION" and len(tools.calls) == 1


@pytest.mark.req("B2.1")
@pytest.mark.provokes(NAME, "GENERATION_TIMEOUT")
def test_an_asset_that_takes_too_long_is_told_by_the_field(
    sandbox: str, orchestrator: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def slow(*given: Any) -> None:
        await sleep(5)

    monkeypatch.setattr(making, "ask", slow)

    failed = make(orchestrator, "image", maxLatencySec=0.3)

    assert refusal_of(failed) == ("GENERATION_TIMEOUT", ["constraints.maxLatencySec"])
    assert failed.duration_ms < 3000


@pytest.mark.provokes(NAME, "INVALID_PERSONA")
def test_an_agent_without_a_persona_is_told_so(sandbox: str, orchestrator: Agent) -> None:
    orchestrator.persona.delete()

    assert refusal_of(make(orchestrator))[0] == "INVALID_PERSONA"


# --- killed between two lines ---------------------------------------------------------------------


class Killed(BaseException):
    """Ends a run without any clean-up of the code under test, as kill -9 does."""


def _killed_at(
    monkeypatch: pytest.MonkeyPatch, module: Any, name: str, agent: Agent, **given: Any
) -> SkillExecution:
    """An execution whose worker died in this call, and whose lease has run out."""

    def die(*called: Any, **more: Any) -> None:
        if name != "reach" or called[0] == f"{NAME}.executed":
            raise Killed(name)

    with monkeypatch.context() as patch:
        patch.setattr(module, name, die)
        with pytest.raises(Killed):
            make(agent, **given)
    SkillExecution.objects.update(lease_until=now() - timedelta(seconds=1))
    return SkillExecution.objects.get()


@pytest.mark.req("B2.1", "X3")
def test_a_worker_killed_while_it_bought_an_image_spends_no_second_budget(
    tools: Tools, orchestrator: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = {"kind": "image", "budgetUsd": 1}
    execution = _killed_at(monkeypatch, making, "ask", orchestrator, **given)

    attempt(execution)

    assert refusal_of(execution)[0] == "BUDGET_EXCEEDED" and tools.calls == []
    assert execution.error["details"]["costUsd"] == 1


@pytest.mark.req("B2.1", "X3")
def test_a_worker_killed_while_it_bought_a_video_goes_on_with_the_same_order(
    tools: Tools, orchestrator: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    tools.answers = [VIDEO]
    given = {"kind": "video", "budgetUsd": 1}
    execution = _killed_at(monkeypatch, making, "ask", orchestrator, **given)

    attempt(execution)

    assert execution.output["costUsd"] == 1 and len(tools.calls) == 1
    assert tools.calls[0].meta["chimera/order"] == str(execution.id)


@pytest.mark.req("B2.1", "X3")
def test_the_time_of_a_killed_attempt_counts(
    tools: Tools, orchestrator: Agent, monkeypatch: pytest.MonkeyPatch, time_machine: Any
) -> None:
    given = {"kind": "image", "maxLatencySec": 60}
    execution = _killed_at(monkeypatch, making, "ask", orchestrator, **given)
    time_machine.move_to(now() + timedelta(seconds=61))

    attempt(execution)

    assert refusal_of(execution)[0] == "GENERATION_TIMEOUT" and tools.calls == []


@pytest.mark.req("X3")
def test_an_asset_that_was_kept_before_the_kill_is_not_made_again(
    tools: Tools, orchestrator: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    execution = _killed_at(monkeypatch, runner, "reach", orchestrator, kind="image")

    attempt(execution)

    assert execution.status == Status.COMPLETED and len(tools.calls) == 1
    assert execution.output["costUsd"] == 1 and ContentPackage.objects.count() == 1


# --- by a language model --------------------------------------------------------------------------


@pytest.mark.req("B2", "B2.1")
def test_a_model_words_the_text_and_its_dearest_price_is_told(
    thinkers: Thinkers, orchestrator: Agent
) -> None:
    thinkers.use(MINI)

    made = make(orchestrator, length__maxChars=2000)

    assert made.status == Status.COMPLETED, made.error
    assert thinkers.asked >= 1 and 0 < made.output["costUsd"] < 1
    assert ContentPackage.objects.get().current.data["asset"]["made_by"] == "gpt-4o-mini"


@pytest.mark.req("B2.1")
@pytest.mark.parametrize(
    ("model", "budget"), [(MINI, "0.000001"), ("openai:a-model-of-our-own", 50)]
)
def test_a_model_that_is_too_dear_or_has_no_price_is_not_asked(
    thinkers: Thinkers, orchestrator: Agent, model: str, budget: Any
) -> None:
    thinkers.use(model)

    failed = make(orchestrator, budgetUsd=budget)

    assert refusal_of(failed) == ("BUDGET_EXCEEDED", ["constraints.budgetUsd"])
    assert thinkers.asked == 0


@pytest.mark.req("B2")
@pytest.mark.provokes(NAME, "LLM_ERROR")
def test_models_that_fail_are_told_with_what_they_may_have_cost(
    thinkers: Thinkers, orchestrator: Agent
) -> None:
    thinkers.use(MINI)
    arm(thinkers.openai, "503", 5)

    failed = make(orchestrator)

    assert refusal_of(failed)[0] == "LLM_ERROR" and failed.error["details"]["costUsd"] > 0
