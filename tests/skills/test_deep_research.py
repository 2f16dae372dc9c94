"""Research in the configured sources: findings with addresses, and what happens when a source is down."""

import socket
from collections.abc import Iterator
from typing import Any

import pytest

from agents.models import Agent
from skills.catalogue import Registry
from skills.models import SkillExecution, Status
from tests.helpers.calls import call, trend
from tests.helpers.mcp_server import Source, refusal, trend_server

ADDIS = "Addis street style"


@pytest.fixture
def source(settings: Any, tmp_path: Any) -> Iterator[Source]:
    """The one MCP server of the deployment."""
    with trend_server() as made:
        point_at(settings, tmp_path, made.url)
        yield made


def point_at(settings: Any, tmp_path: Any, url: str) -> None:
    config = tmp_path / "mcp.json"
    config.write_text('{"mcpServers": {"one": {"url": "URL/mcp"}}}'.replace("URL", url))
    settings.CHIMERA = settings.CHIMERA.model_copy(update={"chimera_mcp_config": config})


def item(topic: str, platform: str = "news", **more: Any) -> dict[str, Any]:
    url = f"https://{platform}.example/{topic.replace(' ', '-')}"
    return trend(topic=topic, platform=platform, metadata={"source_urls": [url]}, **more)


def research(agent: Agent, *sources: str, **more: Any) -> SkillExecution:
    return call(agent, "deep_research", question=ADDIS, sources=list(sources or ("news",)), **more)


@pytest.mark.req("I4")
def test_what_bears_on_the_question_is_found_with_its_address(
    orchestrator: Agent, source: Source
) -> None:
    source.answers["trends://news"] = [
        item("Interest rates in Norway"),
        item("Addis street style is back"),
        trend(topic="Addis street style without an address", platform="news"),
    ]
    source.answers["trends://reddit"] = [item("Street style of Addis Ababa", "reddit")]

    execution = research(orchestrator, "news", "reddit")

    assert execution.status == Status.COMPLETED, execution.error
    found = execution.output["findings"]
    assert {each["statement"] for each in found} == {
        "Addis street style is back",
        "Street style of Addis Ababa",
    }
    assert all(each["source_urls"][0].startswith("https://") for each in found)
    assert found == sorted(found, key=lambda each: -each["relevance"])
    assert (execution.output["asked"], execution.output["searched"]) == (["news", "reddit"], 4)


@pytest.mark.req("I4")
def test_a_source_that_is_down_is_named_and_the_others_are_used(
    orchestrator: Agent, source: Source
) -> None:
    source.answers["trends://news"] = [item("Addis street style is back")]
    source.answers["trends://reddit"] = refusal("PLATFORM_UNAVAILABLE")

    execution = research(orchestrator, "news", "reddit")

    assert execution.status == Status.COMPLETED
    assert execution.output["failed"] == {"reddit": "PLATFORM_UNAVAILABLE"}
    assert execution.warnings == ["PLATFORM_UNAVAILABLE"] and execution.output["findings"]


@pytest.mark.req("I4")
def test_a_source_that_no_server_has_is_a_resource_that_is_not_there(
    orchestrator: Agent, source: Source
) -> None:
    execution = research(orchestrator)

    assert execution.error["code"] == "RESOURCE_UNAVAILABLE"
    assert execution.error["http_status"] == 503 and execution.retry_count == 0


@pytest.mark.req("I4", "I8")
def test_a_server_that_cannot_be_reached_is_noticed_when_the_call_is_constructed(
    orchestrator: Agent, settings: Any, tmp_path: Any
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    point_at(settings, tmp_path, f"http://127.0.0.1:{port}")

    execution = research(orchestrator)

    assert execution.error["code"] == "NETWORK_ERROR"
    assert execution.retry_count == 2, "a transient cause is tried again"


@pytest.mark.req("I4", "I8")
def test_without_any_server_the_catalogue_still_lists_it_and_a_call_says_why(
    orchestrator: Agent, settings: Any, tmp_path: Any
) -> None:
    none = {"chimera_mcp_config": tmp_path / "none.json", "chimera_environment": "staging"}
    settings.CHIMERA = settings.CHIMERA.model_copy(update=none)

    listed = Registry().get("deep_research")
    execution = research(orchestrator)

    assert listed.name == "deep_research"
    assert execution.error["code"] == "RESOURCE_UNAVAILABLE"


@pytest.mark.req("I4")
def test_an_answer_that_is_no_list_of_items_is_refused(orchestrator: Agent, source: Source) -> None:
    source.answers["trends://news"] = {"hello": "world"}

    assert research(orchestrator).error["code"] == "VALIDATION_FAILED"


@pytest.mark.req("I4")
def test_an_item_that_is_no_trend_is_left_out_and_named_by_a_warning(
    orchestrator: Agent, source: Source
) -> None:
    source.answers["trends://news"] = [item("Addis street style is back"), {"topic": ADDIS}]

    execution = research(orchestrator)

    assert [each["statement"] for each in execution.output["findings"]] == [
        "Addis street style is back"
    ]
    assert execution.warnings == ["VALIDATION_FAILED"]


@pytest.mark.req("I4")
def test_a_topic_is_found_once_and_the_limit_holds(orchestrator: Agent, source: Source) -> None:
    source.answers["trends://news"] = [item("Addis street style"), item("ADDIS street style")] + [
        item(f"Addis street style {number}") for number in range(9)
    ]

    execution = research(orchestrator, limit=5)

    topics = [each["statement"].casefold() for each in execution.output["findings"]]
    assert len(topics) == len(set(topics)) == 5
