"""skill_ingest_trend_feeds against MCP servers that count what they were asked, and fail."""

import json
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.apps import apps

from agents.models import Agent
from chimera.core.clock import iso, now
from skills.models import SkillExecution, Status
from skills.skill_ingest_trend_feeds import skill as ingest_trend_feeds
from tests.helpers.calls import call, trend
from tests.helpers.mcp_server import Source, refusal, trend_server
from tests.helpers.world import arm_fault

NAME = "skill_ingest_trend_feeds"
NEWS, TWITTER, REDDIT, TIKTOK = (
    f"trends://{name}" for name in ("news", "twitter", "reddit", "tiktok")
)


@pytest.fixture(scope="module")
def server() -> Iterator[Source]:
    with trend_server() as source:
        yield source


@pytest.fixture
def source(server: Source, settings: Any, tmp_path: Path) -> Source:
    """The deployment's only MCP server; all four feeds answer, without an item."""
    server.reads.clear()
    server.answers = {NEWS: [], TWITTER: [], REDDIT: [], TIKTOK: []}
    path = tmp_path / "mcp.json"
    path.write_text(json.dumps({"mcpServers": {"trends": {"url": f"{server.url}/mcp"}}}))
    settings.CHIMERA = settings.CHIMERA.model_copy(update={"chimera_mcp_config": path})
    return server


def ingest(agent: Agent, title: str = "Street fashion from Addis", **filters: Any) -> Any:
    goal = {"id": "goal-uuid", "title": title}
    return call(agent, NAME, requestId="req-1", goal=goal, filters=filters)


def topics(made: SkillExecution) -> list[str]:
    assert made.status == Status.COMPLETED, made.error
    return [item["payload"]["topic"] for item in made.output["items"]]


@pytest.mark.req("B1")
def test_the_request_of_the_document_gets_the_response_of_the_document(
    source: Source, orchestrator: Agent
) -> None:
    seen = trend(topic="The launch of productX", platform="news")
    source.answers[NEWS] = [seen]

    made = call(
        orchestrator,
        NAME,
        requestId="req-uuid",
        goal={"id": "goal-uuid", "title": "Increase engagement for product X"},
        filters={
            "tags": ["productX", "launch"],
            "sources": ["news", "social", "mentions"],
            "lookbackHours": 24,
        },
        trace={"planId": "plan-uuid", "taskId": "task-uuid"},
    )

    assert made.status == Status.COMPLETED, made.error
    assert set(made.output) == {"requestId", "goalId", "items", "capturedAt"}
    assert (made.output["requestId"], made.output["goalId"]) == ("req-uuid", "goal-uuid")
    [item] = made.output["items"]
    assert set(item) == {"trendId", "source", "tag", "score", "capturedAt", "payload"}
    assert (item["trendId"], item["source"]) == (seen["trend_id"], "news")
    assert item["tag"] in ("productX", "launch") and 0 < item["score"] <= 1
    assert item["capturedAt"] == seen["timestamp"]
    assert made.output["capturedAt"].endswith("Z")
    assert made.input["trace"] == {"planId": "plan-uuid", "taskId": "task-uuid"}


@pytest.mark.req("B1.1")
def test_it_writes_nothing_but_the_record_and_the_count_of_its_calls(
    sandbox: str, orchestrator: Agent
) -> None:
    own = {"skills.skillexecution", "django_celery_results.taskresult", "core.ratewindow"}
    models = [model for model in apps.get_models() if model._meta.label_lower not in own]
    before = {model._meta.label: model._default_manager.count() for model in models}

    made = ingest(orchestrator)

    assert topics(made)
    after = {model._meta.label: model._default_manager.count() for model in models}
    assert {name for name in after if after[name] != before[name]} == set()


@pytest.mark.req("B1")
def test_the_most_relevant_item_comes_first_and_trend_ids_can_be_given_on(
    sandbox: str, orchestrator: Agent
) -> None:
    made = ingest(orchestrator, "Fashion and style")

    items = made.output["items"]
    scores = [float(item["score"]) for item in items]
    assert scores == sorted(scores, reverse=True) and scores[0] > 0.75
    assert items[0]["payload"]["metadata"]["category"] == "fashion"
    assert all(item["trendId"] == item["payload"]["trend_id"] for item in items)


@pytest.mark.req("B1")
@pytest.mark.parametrize(
    ("sources", "reads"),
    [
        (["news"], {NEWS}),
        (["social"], {TWITTER, REDDIT, TIKTOK}),
        (["mentions", "social"], {TWITTER, REDDIT, TIKTOK}),
        (["news", "social", "mentions"], {NEWS, TWITTER, REDDIT, TIKTOK}),
    ],
)
def test_each_feed_of_the_sources_is_read_once(
    source: Source, orchestrator: Agent, sources: list[str], reads: set[str]
) -> None:
    made = ingest(orchestrator, sources=sources)

    assert topics(made) == [] and sorted(source.reads) == sorted(reads)


@pytest.mark.req("B1")
def test_a_mention_names_a_tag_and_the_rest_of_a_social_feed_is_social(
    source: Source, orchestrator: Agent
) -> None:
    hashtag = trend(topic="New arrivals", metadata={"hashtags": ["#Merkato"]})
    account = trend(topic="They did it again", metadata={"mentions": ["@merkato"]})
    related = trend(topic="Markets of Addis", platform="reddit")
    source.answers |= {TWITTER: [hashtag, account], REDDIT: [related]}

    alone = ingest(orchestrator, tags=["merkato", "market"], sources=["mentions"])
    both = ingest(orchestrator, tags=["merkato", "market"], sources=["mentions", "social"])

    assert set(topics(alone)) == {"New arrivals", "They did it again"}
    assert {item["source"] for item in alone.output["items"]} == {"mentions"}
    kinds = {
        item["payload"]["topic"]: (item["source"], item["tag"]) for item in both.output["items"]
    }
    assert kinds["Markets of Addis"] == ("social", "market")
    assert kinds["New arrivals"] == ("mentions", "merkato")


@pytest.mark.req("B1")
def test_what_fits_no_tag_or_is_too_old_stays_out(source: Source, orchestrator: Agent) -> None:
    old = iso(now() - timedelta(hours=7))
    source.answers[TWITTER] = [
        trend(topic="Linen suits are back", metadata={"category": "fashion"}),
        trend(topic="Rates rise again", metadata={"category": "finance"}),
        trend(topic="Linen dresses of last week", timestamp=old),
    ]

    made = ingest(orchestrator, tags=["linen"], lookbackHours=6)

    assert topics(made) == ["Linen suits are back"]


@pytest.mark.req("B1", "A1.7")
def test_a_feed_that_fails_is_a_warning_while_another_answers(
    source: Source, orchestrator: Agent
) -> None:
    source.answers |= {
        NEWS: refusal("PLATFORM_UNAVAILABLE"),
        REDDIT: "{broken",
        TWITTER: [trend(), {"topic": "no engagement"}],
    }

    made = ingest(orchestrator)

    assert topics(made) == ["Addis street style is back"] and made.retry_count == 0
    assert sorted(made.warnings) == ["PLATFORM_UNAVAILABLE", "VALIDATION_FAILED"]


@pytest.mark.req("B1", "A0.3")
@pytest.mark.parametrize(("kind", "code"), [("down", "PLATFORM_UNAVAILABLE"), ("slow", "TIMEOUT")])
def test_the_call_is_tried_again_and_fails_where_no_feed_answers(
    sandbox: str, orchestrator: Agent, monkeypatch: pytest.MonkeyPatch, kind: str, code: str
) -> None:
    monkeypatch.setattr(ingest_trend_feeds, "SOURCE_TIMEOUT", 1.0)
    arm_fault(sandbox, "trends", kind, 20)

    failed = ingest(orchestrator, sources=["news"])

    assert (failed.status, failed.retry_count, failed.output) == (Status.FAILED, 2, None)
    assert failed.error["code"] == code and failed.error["retryable"]


@pytest.mark.req("B1", "A1.11")
def test_it_counts_against_the_hourly_limit_of_the_feeds(
    source: Source, settings: Any, orchestrator: Agent
) -> None:
    limit = {"chimera_trends_per_hour": 1}
    settings.CHIMERA = settings.CHIMERA.model_copy(update=limit)
    ingest(orchestrator, sources=["news"])

    failed = ingest(orchestrator, "Another goal", sources=["news"])

    assert failed.error["code"] == "RATE_LIMITED" and failed.error["backoff_sec"] > 0
    assert source.reads == [NEWS]
