"""The media tools as processes of their own, called as mcp.json names them; the providers count."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest
from django.conf import settings

from agents.models import Agent
from chimera.core.errors import ChimeraError
from chimera.core.jsontext import plain
from content.media import media_of
from skills.mcp.client import MCPClient, ServerConfig, load_config
from tests.fakes.fixtures import FakeServer
from tests.helpers.calls import call, trend
from tests.helpers.servers import own_database

ROOT = Path(__file__).parents[3]
CLIP = {"prompt": "Addis street style", "duration_sec": 6, "ratio": "9:16"}


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A database of the tools' own."""
    with own_database(tmp_path_factory.mktemp("tools")) as url:
        yield url


@pytest.fixture
def providers(fake: Callable[[str], FakeServer]) -> tuple[FakeServer, FakeServer]:
    return fake("ideogram"), fake("runway")


@pytest.fixture
def env(providers: tuple[FakeServer, FakeServer], database: str, tmp_path: Path) -> dict[str, str]:
    """What the tools are told about their deployment."""
    ideogram, runway = providers
    return {
        "DATABASE_URL": database,
        "CHIMERA_DATA_DIR": str(tmp_path),
        "CHIMERA_WEB_URL": "http://localhost:9150",
        "CHIMERA_IDEOGRAM_URL": ideogram.url,
        "CHIMERA_IDEOGRAM_API_KEY": ideogram.account()["access_token"],
        "CHIMERA_RUNWAY_URL": runway.url,
        "CHIMERA_RUNWAY_API_KEY": runway.account()["access_token"],
        "CHIMERA_RUNWAY_POLL_SEC": "0.1",
    }


@pytest.fixture
def stdio(env: dict[str, str]) -> MCPClient:
    config = ServerConfig(
        command=sys.executable, args=[str(ROOT / "manage.py"), "media_tools"], env=env
    )
    return MCPClient({"media": config}, timeout_sec=60)


class HttpTools:
    """The tools over HTTP, which can be killed and started again on the same port."""

    def __init__(self, env: dict[str, str]) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = int(probe.getsockname()[1])
        self.env = env
        self.start()

    def start(self) -> None:
        command = [sys.executable, "manage.py", "media_tools", "--port", str(self.port)]
        self.process = subprocess.Popen(command, cwd=ROOT, env={**os.environ, **self.env})
        deadline = time.monotonic() + 60
        while socket.socket().connect_ex(("127.0.0.1", self.port)):
            assert self.process.poll() is None and time.monotonic() < deadline
            time.sleep(0.05)

    def kill(self, how: int = signal.SIGKILL) -> None:
        self.process.send_signal(how)
        self.process.wait(20)

    def client(self) -> MCPClient:
        url = f"http://127.0.0.1:{self.port}/mcp"
        return MCPClient({"media": ServerConfig(url=url)}, timeout_sec=30)


@pytest.fixture
def over_http(env: dict[str, str]) -> Iterator[HttpTools]:
    tools = HttpTools(env)
    yield tools
    tools.kill(signal.SIGTERM)


def run(work: Coroutine[Any, Any, Any]) -> Any:
    async def main() -> Any:
        return await work

    return anyio.run(main)


def failure(work: Coroutine[Any, Any, Any]) -> ChimeraError:
    with pytest.raises(ChimeraError) as failed:
        run(work)
    return failed.value


def leave_once_ordered(work: Coroutine[Any, Any, Any], runway: FakeServer) -> None:
    """Call a tool and hang up as soon as the provider has accepted the order."""

    async def main() -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(lambda: work)
            with anyio.fail_after(60):
                while not await anyio.to_thread.run_sync(runway.effects):
                    await anyio.sleep(0.1)
            await anyio.sleep(0.3)
            group.cancel_scope.cancel()

    anyio.run(main)


@pytest.mark.req("A3.3", "W4")
def test_the_tools_are_asked_as_those_of_the_sandbox_world(stdio: MCPClient, world: str) -> None:
    sandbox = MCPClient({"sandbox": ServerConfig(url=f"{world}/mcp")})
    shape = ("name", "description", "input_schema", "annotations")

    real, played = run(stdio.list_tools()), run(sandbox.list_tools())

    assert [{key: tool[key] for key in shape} for tool in real] == [
        {key: tool[key] for key in shape} for tool in played
    ]


@pytest.mark.req("A3.3")
def test_a_picture_over_stdio_is_what_the_world_would_give_and_stays(
    stdio: MCPClient, world: str, tmp_path: Path
) -> None:
    asked = {"prompt": "Addis style", "aspect_ratio": "1:1", "count": 1}
    sandbox = MCPClient({"sandbox": ServerConfig(url=f"{world}/mcp")})

    [real] = run(stdio.call_tool("ideogram", asked))["images"]
    [played] = run(sandbox.call_tool("ideogram", asked))["images"]

    assert real.keys() == played.keys()
    assert real["url"] == f"http://localhost:9150/media/generated/{real['sha256']}.png"
    assert (tmp_path / "generated" / f"{real['sha256']}.png").stat().st_size == real["size_bytes"]


@pytest.mark.req("A3.3", "A3.10")
def test_a_draft_with_a_providers_video_is_kept_with_the_hash_an_approval_is_bound_to(
    over_http: HttpTools,
    providers: tuple[FakeServer, FakeServer],
    orchestrator: Agent,
    settings: Any,
    tmp_path: Path,
) -> None:
    config = {"mcpServers": {"media": {"url": f"http://127.0.0.1:{over_http.port}/mcp"}}}
    (tmp_path / "mcp.json").write_text(json.dumps(config))
    settings.CHIMERA = settings.CHIMERA.model_copy(
        update={
            "chimera_mcp_config": tmp_path / "mcp.json",
            "chimera_data_dir": tmp_path,
            "chimera_web_url": "http://localhost:9150",
        }
    )

    made = call(
        orchestrator,
        "generate_content",
        trend=trend(),
        persona=plain(orchestrator.persona.as_dict()),
        platform="tiktok",
    )

    package = made.output["content"]
    [described], [hashed] = package["media_metadata"], media_of(package)
    assert (hashed["sha256"], hashed["type"]) == (described["sha256"], "video")
    assert described["generated_by"] == "runwayml" and len(providers[1].effects()) == 1


@pytest.mark.req("A3.7", "X3")
def test_a_caller_that_gave_up_gets_the_same_task_next_time(
    stdio: MCPClient, providers: tuple[FakeServer, FakeServer]
) -> None:
    runway = providers[1]
    runway.arm("throttled", 1000)

    leave_once_ordered(stdio.call_tool("runwayml", CLIP, order="one"), runway)
    runway.disarm()
    result = run(stdio.call_tool("runwayml", CLIP, order="one"))

    assert result["task_id"] == runway.effects()[0]["id"] and len(runway.effects()) == 1


@pytest.mark.req("X3")
def test_a_killed_server_goes_on_with_the_task_it_had_ordered(
    over_http: HttpTools, providers: tuple[FakeServer, FakeServer]
) -> None:
    runway = providers[1]
    runway.arm("throttled", 1000)
    client = over_http.client()

    leave_once_ordered(client.call_tool("runwayml", CLIP, order="two"), runway)
    over_http.kill()
    runway.disarm()
    over_http.start()
    result = run(client.call_tool("runwayml", CLIP, order="two"))

    assert result["video"]["sha256"] and len(runway.effects()) == 1


@pytest.mark.req("X3")
def test_of_four_callers_at_once_one_orders_and_all_get_its_video(
    over_http: HttpTools, stdio: MCPClient, providers: tuple[FakeServer, FakeServer]
) -> None:
    runway, results = providers[1], list[dict[str, Any]]()
    runway.arm("throttled", 3)

    async def one(client: MCPClient) -> None:
        results.append(await client.call_tool("runwayml", CLIP, order="three", timeout_sec=60))

    async def all_at_once() -> None:
        async with anyio.create_task_group() as group:
            for client in (over_http.client(), over_http.client(), over_http.client(), stdio):
                group.start_soon(one, client)

    anyio.run(all_at_once)

    assert len(results) == 4 and all(result == results[0] for result in results)
    assert len(runway.effects()) == 1


@pytest.mark.req("A3.7", "W4")
def test_each_failure_reaches_the_caller_in_its_own_words(
    over_http: HttpTools, providers: tuple[FakeServer, FakeServer]
) -> None:
    (ideogram, runway), client = providers, over_http.client()
    picture = {"prompt": "Addis style"}

    ideogram.arm("429_seconds")
    busy = failure(client.call_tool("ideogram", picture))
    ideogram.arm("unsafe_prompt")
    unsafe = failure(client.call_tool("ideogram", picture))
    ideogram.arm("500_before_effect")
    broken = failure(client.call_tool("ideogram", picture))
    runway.arm("cut_after_effect")
    unknown = failure(client.call_tool("runwayml", CLIP))
    wrong = failure(client.call_tool("ideogram", {"prompt": ""}))

    assert (busy.code, busy.backoff_sec) == ("RATE_LIMITED", 2)
    assert unsafe.code == "SAFETY_VIOLATION" and not unsafe.retryable
    assert (broken.code, broken.retryable) == ("MEDIA_GENERATION_FAILED", True)
    assert (unknown.code, unknown.retryable) == ("MEDIA_GENERATION_FAILED", False)
    assert wrong.code == "INVALID_INPUT" and len(runway.effects()) == 1


def test_two_calls_without_a_name_are_two_orders(
    over_http: HttpTools, providers: tuple[FakeServer, FakeServer]
) -> None:
    for _ in range(2):
        run(over_http.client().call_tool("ideogram", {"prompt": "Addis style"}))

    assert len(providers[0].effects()) == 2


def test_the_sample_starts_the_tools_with_the_deployments_settings(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("CHIMERA_RUNWAY_API_KEY", "key-1")
    monkeypatch.delenv("CHIMERA_IDEOGRAM_API_KEY", raising=False)

    media = load_config(ROOT / "mcp.sample.json")["media"]

    assert media.env["CHIMERA_RUNWAY_API_KEY"] == "key-1" and "key-1" not in repr(media)
    assert "CHIMERA_IDEOGRAM_API_KEY" not in media.env
    assert media.may_have("runwayml") and not media.may_have("trends://twitter")
    assert settings.CHIMERA.chimera_ideogram_url == "https://api.ideogram.ai"
