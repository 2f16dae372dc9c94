"""fetch_trends against MCP servers that fail in every way; the servers count what they were asked."""

import json
import socket
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from pytest_httpserver import HTTPServer

from agents.models import Agent
from approvals.models import Escalation
from chimera.core.clock import iso, now
from skills.models import SkillExecution, Status
from skills.services import deadline_of, submit
from skills.skill_fetch_trends import skill as fetch_trends
from tests.helpers.calls import attempt, call, trend
from tests.helpers.mcp_server import Source, refusal, trend_server
from tests.helpers.world import arm_fault

PRIMARY, GENERAL = "trends://twitter", "trends://twitter/feed/general"


@pytest.fixture(scope="module")
def server() -> Iterator[Source]:
    with trend_server() as source:
        yield source


@pytest.fixture
def source(server: Source, settings: Any, tmp_path: Path) -> Source:
    """The deployment's only MCP server, with one trend under the platform's own resource."""
    server.reads.clear()
    server.answers = {PRIMARY: [loud()]}
    use_server(settings, tmp_path, f"{server.url}/mcp")
    return server


def use_server(settings: Any, folder: Path, url: str) -> None:
    path = folder / "mcp.json"
    path.write_text(json.dumps({"mcpServers": {"trends": {"url": url}}}))
    settings.CHIMERA = settings.CHIMERA.model_copy(update={"chimera_mcp_config": path})


def limit_calls(settings: Any, most: int) -> None:
    update = {"chimera_trends_per_hour": most}
    settings.CHIMERA = settings.CHIMERA.model_copy(update=update)


def loud(**changes: Any) -> dict[str, Any]:
    """A trend that passes the default threshold."""
    counts = {"likes": 20000, "comments": 0, "shares": 0, "impressions": 90000}
    return trend(engagement={**counts, "engagement_score": 20000}, **changes)


def fetch(agent: Agent, **more: Any) -> SkillExecution:
    return call(agent, "fetch_trends", platform="twitter", **more)


def waits_until_done(agent: Agent, time_machine: Any) -> list[float]:
    """The waits between the attempts of one call, each waited for on the clock of the test."""
    made = submit(
        agent=agent, skill_name="fetch_trends", data={"platform": "twitter"}, wake=False
    ).execution
    waits = []
    attempt(made)
    while made.status == Status.RETRYING:
        waits.append((made.due_at - now()).total_seconds())
        time_machine.shift(waits[-1])
        attempt(made)
    return waits


# --- attempts, waits, fallback --------------------------------------------------------------------


@pytest.mark.req("A1.4")
@pytest.mark.parametrize("kind", ["down", "429", "500_after_effect", "cut_after_effect"])
def test_every_retryable_failure_is_tried_three_times_after_one_and_two_seconds(
    sandbox: str, orchestrator: Agent, time_machine: Any, kind: str
) -> None:
    time_machine.move_to("2026-11-21T10:00:00Z", tick=False)
    arm_fault(sandbox, "trends", kind, 20)

    first, second = waits_until_done(orchestrator, time_machine)

    least = 2 if kind == "429" else 1  # the world asks for two seconds
    assert least <= first <= 2 and 2 <= second <= 3
    failed = SkillExecution.objects.get()
    assert failed.status == Status.FAILED and failed.retry_count == 2 and failed.output is None


@pytest.mark.req("A1.4")
def test_a_source_that_recovers_is_not_replaced_by_the_general_feed(
    source: Source, orchestrator: Agent
) -> None:
    answers = iter([refusal("PLATFORM_UNAVAILABLE"), refusal("PLATFORM_UNAVAILABLE"), list])
    source.answers = {PRIMARY: lambda: next(answers)(), GENERAL: [loud()]}

    found = fetch(orchestrator)

    assert source.reads == [PRIMARY] * 3
    assert (found.status, found.retry_count, found.warnings) == (Status.COMPLETED, 2, [])


@pytest.mark.req("A1.5")
def test_the_general_feed_is_asked_once_after_the_third_failure(
    source: Source, orchestrator: Agent
) -> None:
    source.answers = {PRIMARY: refusal("PLATFORM_UNAVAILABLE"), GENERAL: [loud(topic="General")]}

    found = fetch(orchestrator)

    assert source.reads == [PRIMARY] * 3 + [GENERAL]
    assert found.status == Status.COMPLETED and found.warnings == ["PLATFORM_UNAVAILABLE"]
    assert [item["topic"] for item in found.output["trends"]] == ["General"]


@pytest.mark.req("A1.5", "A1.9")
def test_when_the_general_feed_fails_too_the_first_failure_is_reported(
    source: Source, orchestrator: Agent
) -> None:
    source.answers = {
        PRIMARY: refusal("PLATFORM_UNAVAILABLE"),
        GENERAL: refusal("RATE_LIMITED", retry_after=5),
    }

    failed = fetch(orchestrator)

    assert source.reads == [PRIMARY] * 3 + [GENERAL]
    assert failed.status == Status.FAILED and failed.error["code"] == "PLATFORM_UNAVAILABLE"
    assert failed.error["http_status"] == 503 and failed.error["retryable"]


@pytest.mark.req("A1.5", "A1.8")
def test_a_rate_limit_is_never_answered_with_the_general_feed(
    source: Source, orchestrator: Agent
) -> None:
    source.answers = {PRIMARY: refusal("RATE_LIMITED"), GENERAL: [loud()]}

    failed = fetch(orchestrator)

    assert source.reads == [PRIMARY] * 3 and failed.error["code"] == "RATE_LIMITED"


@pytest.mark.req("A1.9")
@pytest.mark.provokes("fetch_trends", "NETWORK_ERROR")
def test_a_refused_connection_is_a_network_error_503(
    settings: Any, tmp_path: Path, orchestrator: Agent
) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound, not listening
        use_server(settings, tmp_path, f"http://127.0.0.1:{taken.getsockname()[1]}/mcp")

        failed = fetch(orchestrator)

    assert failed.error["code"] == "NETWORK_ERROR" and failed.error["http_status"] == 503
    assert failed.retry_count == 2


@pytest.mark.req("A1.9", "A1.10", "A1.5")
@pytest.mark.provokes("fetch_trends", "TIMEOUT")
def test_a_slow_source_is_a_timeout_504_after_its_time_and_the_feed_gets_its_own(
    sandbox: str, orchestrator: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fetch_trends, "SOURCE_TIMEOUT", 0.5)
    arm_fault(sandbox, "trends", "slow", 3)
    rescued = fetch(orchestrator)
    arm_fault(sandbox, "trends", "slow", 4)
    failed = fetch(orchestrator, limit=7)

    assert rescued.status == Status.COMPLETED and rescued.warnings == ["TIMEOUT"]
    assert failed.error["code"] == "TIMEOUT" and failed.error["http_status"] == 504


@pytest.mark.req("A1.10")
def test_each_resource_has_ten_seconds_and_three_attempts_of_it_are_thirty() -> None:
    skill = fetch_trends.FetchTrends()

    assert fetch_trends.SOURCE_TIMEOUT == 10 and skill.metadata.timeout_sec == 30
    assert fetch_trends.SOURCE_TIMEOUT * (skill.retry.retries + 1) == 30
    assert deadline_of(skill) > timedelta(seconds=30 + 3 + fetch_trends.SOURCE_TIMEOUT)


@pytest.mark.req("A1.9")
@pytest.mark.provokes("fetch_trends", "INVALID_PLATFORM")
def test_an_unknown_platform_is_refused_before_anything_is_asked(
    source: Source, orchestrator: Agent, api: Any
) -> None:
    answer = api(orchestrator).post(
        "/api/v1/skills/fetch_trends/executions/",
        {"input": {"platform": "myspace"}},
        content_type="application/json",
    )

    assert (answer.status_code, answer.json()["code"]) == (400, "INVALID_PLATFORM")
    assert source.reads == [] and not SkillExecution.objects.exists()


@pytest.mark.provokes("fetch_trends", "PLATFORM_UNAVAILABLE")
def test_a_resource_that_no_server_has_is_an_unavailable_platform(
    source: Source, orchestrator: Agent
) -> None:
    source.answers = {}

    failed = fetch(orchestrator)

    assert failed.error["code"] == "PLATFORM_UNAVAILABLE"
    assert source.reads == [PRIMARY] * 3 + [GENERAL]


# --- limits ---------------------------------------------------------------------------------------


@pytest.mark.req("A1.11", "A1.8")
@pytest.mark.provokes("fetch_trends", "RATE_LIMITED")
def test_over_the_hourly_limit_nothing_is_asked_and_a_person_hears_of_it(
    source: Source, settings: Any, orchestrator: Agent
) -> None:
    limit_calls(settings, 2)
    fetch(orchestrator, limit=1)
    fetch(orchestrator, limit=2)

    failed = fetch(orchestrator, limit=3)

    assert len(source.reads) == 2
    assert failed.error["code"] == "RATE_LIMITED" and failed.error["http_status"] == 429
    assert 3500 < failed.error["backoff_sec"] <= 3601 and failed.retry_count == 0
    item = Escalation.objects.get()
    assert (item.code, item.execution_id, item.skill) == ("RATE_LIMITED", failed.id, "fetch_trends")


@pytest.mark.req("A1.11")
def test_the_limit_counts_every_attempt_and_each_platform_by_itself(
    source: Source, settings: Any, orchestrator: Agent
) -> None:
    limit_calls(settings, 2)
    source.answers = {PRIMARY: refusal("PLATFORM_UNAVAILABLE"), "trends://news": []}

    failed = fetch(orchestrator)
    other = call(orchestrator, "fetch_trends", platform="news")

    assert source.reads == [PRIMARY] * 2 + ["trends://news"]
    assert failed.error["code"] == "RATE_LIMITED" and failed.retry_count == 2
    assert other.status == Status.COMPLETED


@pytest.mark.req("A1.11")
def test_the_limit_is_a_hundred_an_hour_unless_a_deployment_says_otherwise(settings: Any) -> None:
    assert settings.CHIMERA.chimera_trends_per_hour == 100


@pytest.mark.req("A1.4", "A1.8")
@pytest.mark.parametrize(("asked", "retries"), [(20, 2), (86_400, 0)])
def test_the_wait_a_source_asks_for_is_kept_or_the_call_fails_at_once_with_it(
    source: Source, orchestrator: Agent, asked: int, retries: int
) -> None:
    source.answers = {PRIMARY: refusal("RATE_LIMITED", retry_after=asked)}

    failed = fetch(orchestrator)

    assert failed.error["backoff_sec"] == asked and failed.retry_count == retries
    assert len(source.reads) == retries + 1
    assert Escalation.objects.get().execution_id == failed.id


@pytest.mark.req("A1.8")
def test_a_plain_http_429_is_kept_apart_from_a_source_that_is_down(
    httpserver: HTTPServer, settings: Any, tmp_path: Path, orchestrator: Agent
) -> None:
    httpserver.expect_request("/mcp").respond_with_data(
        "busy", status=429, headers={"Retry-After": "7"}
    )
    use_server(settings, tmp_path, httpserver.url_for("/mcp"))

    failed = fetch(orchestrator)

    assert (failed.error["code"], failed.error["backoff_sec"]) == ("RATE_LIMITED", 7)
    assert Escalation.objects.count() == 1


# --- answers --------------------------------------------------------------------------------------


@pytest.mark.req("A1.3")
def test_two_equal_calls_within_five_minutes_are_one_upstream_call(
    source: Source, orchestrator: Agent, time_machine: Any
) -> None:
    time_machine.move_to(now())
    first = fetch(orchestrator)
    second = fetch(orchestrator)
    other = fetch(orchestrator, limit=3)
    time_machine.shift(301)
    later = fetch(orchestrator)

    assert [one.cached for one in (first, second, other, later)] == [False, True, False, False]
    assert second.output == first.output and len(source.reads) == 3


@pytest.mark.req("A1.7", "A0.5")
@pytest.mark.provokes("fetch_trends", "VALIDATION_FAILED")
def test_malformed_items_are_dropped_and_named_in_the_record(
    source: Source, orchestrator: Agent, caplog: Any
) -> None:
    source.answers = {PRIMARY: [loud(), {"topic": "no engagement"}, 7, loud(timestamp="soon")]}

    with caplog.at_level("INFO"):
        found = fetch(orchestrator)

    assert found.status == Status.COMPLETED and found.output["count"] == 1
    assert found.warnings == ["VALIDATION_FAILED"] and found.error is None
    [line] = [json.loads(r.message) for r in caplog.records if r.name == "chimera.skills.record"]
    assert (line["error_code"], line["success"]) == ("VALIDATION_FAILED", True)
    assert "no engagement" in caplog.text


@pytest.mark.req("A1.7")
@pytest.mark.parametrize("answer", ["{broken", "7", {"items": []}, {"trends": "many"}])
def test_an_answer_that_is_no_list_of_trends_is_an_empty_result_and_a_warning(
    source: Source, orchestrator: Agent, answer: Any
) -> None:
    source.answers = {PRIMARY: answer}

    found = fetch(orchestrator)

    assert found.status == Status.COMPLETED and found.output["trends"] == []
    assert found.warnings == ["VALIDATION_FAILED"] and source.reads == [PRIMARY]


@pytest.mark.req("A1.7")
def test_a_negative_number_is_mended_without_a_warning(source: Source, orchestrator: Agent) -> None:
    source.answers = {PRIMARY: {"trends": [loud(trend_velocity=-1)]}}

    found = fetch(orchestrator)

    assert found.output["trends"][0]["trend_velocity"] == 0 and found.warnings == []


@pytest.mark.req("A1.6", "A1.1")
@pytest.mark.parametrize(("limit", "count", "truncated"), [(2, 2, True), (3, 3, False)])
def test_truncated_says_whether_more_matched_than_the_limit(
    source: Source, orchestrator: Agent, limit: int, count: int, truncated: bool
) -> None:
    old = iso(now() - timedelta(hours=30))
    matching = [loud(topic=f"Topic {number}") for number in range(3)]
    passed_over = [loud(timestamp=old), trend(), loud(topic="An election")]
    source.answers = {PRIMARY: matching + passed_over}

    found = fetch(orchestrator, limit=limit, excludeTopics=["election"])

    assert (found.output["count"], found.output["truncated"]) == (count, truncated)


def test_a_configuration_that_cannot_be_read_is_no_mistake_of_the_caller(
    settings: Any, tmp_path: Path, orchestrator: Agent
) -> None:
    use_server(settings, tmp_path, "ftp://nowhere")

    failed = fetch(orchestrator)

    assert failed.error["code"] == "INTERNAL_ERROR" and "mcpServers" in failed.error["message"]
