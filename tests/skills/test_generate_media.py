"""Media of a draft: whatever the tools do, the text comes; what they are asked is counted there."""

import json
from collections.abc import Iterator
from pathlib import Path
from time import monotonic
from typing import Any

import pytest

from agents.models import Agent
from chimera.core.jsontext import plain
from skills.models import SkillExecution, Status
from skills.skill_generate_content import media
from tests.helpers.calls import call, trend
from tests.helpers.mcp_server import refusal
from tests.helpers.media_tools import Tools, media_tools
from tests.helpers.world import arm_fault

SAFE = {
    "images": [
        {
            "url": "https://media.example/a.jpg",
            "sha256": "9f2c6b1e0d4a7f3358c1e2a9b6d40c7715e8a3f2b1c09d8e7f6a5b4c3d2e1f00",
            "size_bytes": 5,
            "is_image_safe": True,
        }
    ]
}
UNSAFE = {"images": [{"url": None, "sha256": None, "size_bytes": 0, "is_image_safe": False}]}
VIDEO = {"task_id": "t", "status": "SUCCEEDED", "video": SAFE["images"][0] | {"duration_sec": 6}}
FAILED = {"task_id": "t", "status": "FAILED", "video": None}


@pytest.fixture(scope="module")
def server() -> Iterator[Tools]:
    with media_tools() as running:
        yield running


@pytest.fixture
def tools(server: Tools, settings: Any, tmp_path: Path) -> Tools:
    server.calls.clear()
    server.answers = [SAFE]
    path = tmp_path / "mcp.json"
    path.write_text(json.dumps({"mcpServers": {"tools": {"url": f"{server.url}/mcp"}}}))
    settings.CHIMERA = settings.CHIMERA.model_copy(update={"chimera_mcp_config": path})
    return server


def generate(agent: Agent, platform: str = "instagram", **more: Any) -> SkillExecution:
    data = {"content_type": "single_post", "trend": trend(), "platform": platform, **more}
    return call(agent, "generate_content", persona=plain(agent.persona.as_dict()), **data)


def assert_text_alone(execution: SkillExecution) -> None:
    """A completed draft with its text, no media and the warning."""
    assert execution.status == Status.COMPLETED, execution.error
    content = execution.output["content"]
    assert content["script"] and content["media_urls"] == [] and not content.get("media_metadata")
    assert "MEDIA_GENERATION_FAILED" in execution.warnings


@pytest.mark.req("A3.3")
def test_the_order_carries_the_execution_and_the_shape_of_the_platform(
    tools: Tools, orchestrator: Agent
) -> None:
    made = generate(orchestrator)

    [asked] = tools.calls
    assert asked.name == "ideogram" and asked.arguments["aspect_ratio"] == "1:1"
    assert asked.meta["chimera/order"] == str(made.id)
    assert made.output["content"]["media_urls"] == ["https://media.example/a.jpg"]
    assert "MEDIA_GENERATION_FAILED" not in made.warnings


@pytest.mark.req("A3.3")
def test_a_video_script_for_a_video_platform_gets_a_video(
    tools: Tools, orchestrator: Agent
) -> None:
    tools.answers = [VIDEO]

    made = generate(orchestrator, "tiktok", content_type="video_script")

    assert [asked.name for asked in tools.calls] == ["runwayml"]
    [described] = made.output["content"]["media_metadata"]
    assert (described["type"], described["generated_by"]) == ("video", "runwayml")
    assert described["duration_sec"] == 6


@pytest.mark.req("A3.7")
@pytest.mark.parametrize("kind", ["down", "500_after_effect", "cut_after_effect", "malformed"])
def test_two_retries_bring_the_media(sandbox: str, orchestrator: Agent, kind: str) -> None:
    arm_fault(sandbox, "media", kind, 2)

    made = generate(orchestrator)

    assert made.output["content"]["media_urls"] and made.warnings == []
    assert made.retry_count == 0  # the tool's retries are not the execution's


@pytest.mark.req("A3.7", "A0.5")
@pytest.mark.provokes("generate_content", "MEDIA_GENERATION_FAILED")
def test_after_two_retries_the_text_goes_on_alone_and_the_record_says_so(
    tools: Tools, orchestrator: Agent, caplog: Any
) -> None:
    tools.answers = [refusal("PLATFORM_UNAVAILABLE")]

    with caplog.at_level("INFO"):
        made = generate(orchestrator)

    assert_text_alone(made)
    assert len(tools.calls) == 3
    assert len({asked.meta["chimera/order"] for asked in tools.calls}) == 1
    [line] = [json.loads(r.message) for r in caplog.records if r.name == "chimera.skills.record"]
    assert (line["error_code"], line["success"]) == ("MEDIA_GENERATION_FAILED", True)


@pytest.mark.req("A3.7", "A3.2")
@pytest.mark.parametrize("kind", ["slow", "down", "429"])
def test_a_tool_that_takes_too_long_never_takes_the_text_with_it(
    sandbox: str, orchestrator: Agent, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    monkeypatch.setattr(media, "MEDIA_SECONDS", 1.5)
    arm_fault(sandbox, "media", kind, 9)

    begun = monotonic()
    made = generate(orchestrator)

    assert_text_alone(made)
    assert monotonic() - begun < 5


@pytest.mark.req("A3.2")
def test_media_have_less_than_thirty_seconds_in_all() -> None:
    assert media.MEDIA_SECONDS < 29.5


@pytest.mark.req("A3.7", "A3.4")
@pytest.mark.parametrize(
    "answer",
    [
        UNSAFE,
        FAILED,
        refusal("SAFETY_VIOLATION"),
        refusal("MEDIA_GENERATION_FAILED", final=True),
    ],
)
def test_what_is_refused_for_good_is_asked_for_once(
    tools: Tools, orchestrator: Agent, answer: Any
) -> None:
    tools.answers = [answer]

    assert_text_alone(generate(orchestrator))
    assert len(tools.calls) == 1


@pytest.mark.req("A3.7")
def test_a_wait_that_is_longer_than_the_time_left_is_not_waited_for(
    tools: Tools, orchestrator: Agent
) -> None:
    tools.answers = [refusal("RATE_LIMITED", retry_after=60)]

    begun = monotonic()
    assert_text_alone(generate(orchestrator))

    assert len(tools.calls) == 1 and monotonic() - begun < 5


@pytest.mark.parametrize(
    "answer", [{"images": [{"url": "javascript:alert(1)"}]}, {"images": "many"}, {"video": 7}]
)
def test_an_answer_that_is_nonsense_is_asked_for_again(
    tools: Tools, orchestrator: Agent, answer: Any
) -> None:
    tools.answers = [answer, SAFE]

    made = generate(orchestrator)

    assert made.output["content"]["media_urls"] and len(tools.calls) == 2


def test_without_a_media_server_the_text_goes_on_alone(
    tools: Tools, settings: Any, tmp_path: Path, orchestrator: Agent
) -> None:
    config = json.dumps({"mcpServers": {"other": {"url": "http://127.0.0.1:9", "offers": ["x"]}}})
    (tmp_path / "mcp.json").write_text(config)

    assert_text_alone(generate(orchestrator))


@pytest.mark.req("A3.3")
def test_no_tool_is_asked_where_no_media_are_wanted(tools: Tools, orchestrator: Agent) -> None:
    made = generate(orchestrator, media_generation=False)

    assert made.status == Status.COMPLETED and tools.calls == [] and made.warnings == []
