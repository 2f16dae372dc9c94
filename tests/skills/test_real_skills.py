"""Skills that ask no person, against the sandbox world and the embedded chain."""

from datetime import timedelta
from decimal import Decimal
from typing import Any
from uuid import uuid4

import pytest

from agents.models import Agent
from chimera.core.clock import now
from chimera.core.jsontext import plain
from content.models import ContentPackage, Validation
from skills.models import SkillExecution, Status
from tests.helpers.calls import call, package, stored, trend
from tests.helpers.world import arm_fault
from wallets.models import Wallet


def persona(agent: Agent) -> dict[str, Any]:
    return dict(plain(agent.persona.as_dict()))


@pytest.mark.req("A1.1", "A1.2", "A1.3")
def test_trends_come_from_the_world_and_then_from_the_cache(
    sandbox: str, orchestrator: Agent
) -> None:
    first = call(orchestrator, "fetch_trends", platform="twitter", limit=5)
    second = call(orchestrator, "fetch_trends", platform="twitter", limit=5)

    assert first.status == Status.COMPLETED, first.error
    assert 1 <= first.output["count"] == len(first.output["trends"]) <= 5
    assert all(item["engagement"]["engagement_score"] >= 10000 for item in first.output["trends"])
    assert (first.cached, second.cached) == (False, True) and second.output == first.output
    assert first.input["timeWindow"] == "24h" and first.input["excludeTopics"] == []


@pytest.mark.req("A2.1", "A2.4")
def test_relevant_trends_are_kept_in_the_same_order_every_time(
    orchestrator: Agent, time_machine: Any
) -> None:
    time_machine.move_to(now(), tick=False)  # freshness is reckoned anew at every moment
    trends = [trend(), trend(topic="Interest rates in Norway")]
    data = {
        "trends": trends,
        "campaign_goals": ["Addis street style"],
        "relevance_threshold": 0.5,
    }

    first = call(orchestrator, "semantic_filter", **data)
    SkillExecution.objects.all().delete()
    second = call(orchestrator, "semantic_filter", **data)

    assert first.status == Status.COMPLETED, first.error
    assert first.output["filtered_trends"] == second.output["filtered_trends"]
    assert [kept["trend"]["topic"] for kept in first.output["filtered_trends"]] == [
        "Addis street style is back"
    ]
    assert (first.output["total_input"], first.output["total_output"]) == (2, 1)


@pytest.mark.req("A3.1", "A3.3", "A3.10", "B1.2")
def test_a_package_with_media_is_made_and_stored_with_its_trend(
    sandbox: str, orchestrator: Agent
) -> None:
    source = trend()

    execution = call(
        orchestrator,
        "generate_content",
        trend=source,
        persona=persona(orchestrator),
        platform="twitter",
        content_type="single_post",
    )

    assert execution.status == Status.COMPLETED, execution.error
    made = execution.output["content"]
    kept = ContentPackage.objects.get(id=made["content_id"])
    assert made["media_urls"][0].startswith(sandbox) and made["media_metadata"][0]["sha256"]
    assert [str(item.id) for item in kept.trends.all()] == [source["trend_id"]]
    assert kept.current.data["captions"] == made["captions"] and not kept.publications.exists()


@pytest.mark.req("A3.7")
def test_without_media_the_package_goes_on_with_a_warning(
    sandbox: str, orchestrator: Agent
) -> None:
    arm_fault(sandbox, "media", "down", 9)

    execution = call(
        orchestrator,
        "generate_content",
        trend=trend(),
        persona=persona(orchestrator),
        platform="twitter",
    )

    assert execution.status == Status.COMPLETED and execution.output["content"]["media_urls"] == []
    assert "MEDIA_GENERATION_FAILED" in execution.warnings


@pytest.mark.req("A3.5")
def test_the_same_input_gives_the_same_structure(orchestrator: Agent) -> None:
    data = {
        "trend": trend(),
        "persona": persona(orchestrator),
        "platform": "twitter",
        "media_generation": False,
    }
    one, two = (call(orchestrator, "generate_content", **data).output["content"] for _ in "ab")

    assert len(one["hashtags"]) == len(two["hashtags"])
    assert abs(len(one["script"]) - len(two["script"])) <= 0.1 * len(one["script"])
    assert one["content_id"] != two["content_id"]


@pytest.mark.req("A4.1")
def test_a_clean_package_is_valid_and_the_verdict_is_kept(orchestrator: Agent) -> None:
    content = stored(orchestrator)
    Validation.objects.all().delete()

    execution = call(orchestrator, "validate_content", content=content.current.data)

    assert execution.status == Status.COMPLETED and execution.output["valid"] is True
    assert Validation.objects.get().revision == content.current


@pytest.mark.req("A4.4", "A4.7")
def test_a_package_that_breaks_a_rule_completes_as_not_valid(orchestrator: Agent) -> None:
    bad = package(captions="You stupid fucking idiots, buy this now or be sorry for ever.")

    execution = call(orchestrator, "validate_content", content=bad)

    assert execution.status == Status.COMPLETED and execution.output["valid"] is False
    assert execution.output["requires_human_review"] and execution.output["issues"]


@pytest.mark.req("A4.2")
def test_a_rule_family_that_is_off_finds_nothing(orchestrator: Agent) -> None:
    bad = package(captions="You stupid fucking idiots, buy this now or be sorry for ever.")
    off = {"check_offensive_language": False}

    execution = call(orchestrator, "validate_content", content=bad, validation_rules=off)

    assert not [found for found in execution.output["issues"] if "offensive" in found["rule"]]


@pytest.mark.req("A6.1", "A6.3")
def test_a_profile_is_read_and_kept_for_ten_seconds(
    orchestrator: Agent, outsider: Agent, time_machine: Any
) -> None:
    time_machine.move_to(now(), tick=False)
    first = call(orchestrator, "get_agent_profile", agent_id=str(outsider.id))
    Agent.objects.filter(id=outsider.id).update(status="paused")
    second = call(orchestrator, "get_agent_profile", agent_id=str(outsider.id))
    time_machine.shift(11)
    third = call(orchestrator, "get_agent_profile", agent_id=str(outsider.id))

    assert first.output["name"] == "Outsider" and second.cached
    assert second.output["status"] == "active" and third.output["status"] == "paused"


@pytest.mark.req("A6.5")
def test_the_profile_of_nobody_is_404(orchestrator: Agent) -> None:
    execution = call(orchestrator, "get_agent_profile", agent_id=str(uuid4()))

    assert execution.error["code"] == "AGENT_NOT_FOUND" and execution.error["http_status"] == 404


@pytest.mark.req("A8.1", "A8.2", "A8.3")
def test_a_balance_is_read_from_the_chain_exactly(purse: Wallet, cashier: Agent) -> None:
    first = call(cashier, "fetch_wallet_balance", wallet_address=purse.address)
    second = call(cashier, "fetch_wallet_balance", wallet_address=purse.address.lower())

    assert first.status == Status.COMPLETED, first.error
    assert first.output["balance"] == Decimal(100) and first.output["network"] == "devnet"
    assert second.cached, "the address is the same in every spelling"


@pytest.mark.req("A8.4")
def test_a_chain_that_is_down_gives_the_old_balance_with_a_warning(
    purse: Wallet, cashier: Agent, settings: Any, time_machine: Any
) -> None:
    call(cashier, "fetch_wallet_balance", wallet_address=purse.address)
    dead = {"devnet": "http://127.0.0.1:9"}
    settings.CHIMERA = settings.CHIMERA.model_copy(update={"rpc_urls": dead})
    time_machine.move_to(now() + timedelta(seconds=31))

    execution = call(cashier, "fetch_wallet_balance", wallet_address=purse.address)

    assert execution.status == Status.COMPLETED and execution.warnings == ["STALE_CACHE"]
    assert execution.output["balance"] == Decimal(100)
