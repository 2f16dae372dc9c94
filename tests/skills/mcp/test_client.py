"""The MCP client against the sandbox world, a stdio server, and nobody at all."""

import json
import socket
import sys
from collections.abc import Coroutine
from pathlib import Path
from typing import Any, TypeVar

import anyio
import pytest
from pytest_httpserver import HTTPServer

from chimera.core.errors import ChimeraError
from skills.mcp.client import MCPClient, ServerConfig, load_config
from tests.helpers.world import arm_fault

Answer = TypeVar("Answer")

STDIO_SERVER = """
from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
server = MCPServer("adder")

@server.tool()
def add(a: int, b: int) -> dict[str, int]:
    return {"sum": a + b}

@server.tool()
def fail() -> dict[str, int]:
    raise ToolError("the cupboard is bare")

server.run("stdio")
"""


def run(work: Coroutine[Any, Any, Answer]) -> Answer:
    async def main() -> Answer:
        return await work

    return anyio.run(main)


def client_of(world: str, **options: Any) -> MCPClient:
    return MCPClient({"sandbox": ServerConfig(url=f"{world}/mcp")}, **options)


def adder(directory: Path) -> ServerConfig:
    """A server over stdio with the tools add and fail."""
    script = directory / "adder.py"
    script.write_text(STDIO_SERVER)
    return ServerConfig(command=sys.executable, args=[str(script)])


def code_of(work: Coroutine[Any, Any, Any]) -> str:
    with pytest.raises(ChimeraError) as failure:
        run(work)
    return failure.value.code


@pytest.mark.req("A1.2")
def test_a_resource_is_read_as_json(world: str) -> None:
    trends = run(client_of(world).read_resource("trends://twitter"))
    assert len(trends) == 25
    assert {trend["platform"] for trend in trends} == {"twitter"}


@pytest.mark.req("A3.3")
def test_a_tool_is_listed_and_answers_with_an_object(world: str) -> None:
    client = client_of(world)
    tools = {tool["name"]: tool for tool in run(client.list_tools())}
    assert set(tools) == {"ideogram", "runwayml"}
    assert tools["ideogram"]["input_schema"]["required"] == ["prompt"]
    result = run(client.call_tool("ideogram", {"prompt": "Addis style"}))
    assert len(result["images"]) == 1


@pytest.mark.req("W4")
def test_an_unknown_tool_or_resource_is_not_found(world: str) -> None:
    assert code_of(client_of(world).call_tool("weather", {})) == "NOT_FOUND"
    assert code_of(client_of(world).read_resource("trends://myspace")) == "NOT_FOUND"


def test_bad_arguments_are_told_apart_from_an_unknown_tool(world: str) -> None:
    assert code_of(client_of(world).call_tool("ideogram", {"prompt": ""})) == "INVALID_INPUT"


@pytest.mark.req("W4", "A1.9")
@pytest.mark.parametrize(
    ("kind", "code"),
    [
        ("down", "PLATFORM_UNAVAILABLE"),
        ("429", "RATE_LIMITED"),
        ("500_after_effect", "PLATFORM_UNAVAILABLE"),
        ("cut_after_effect", "NETWORK_ERROR"),
        ("malformed", "VALIDATION_FAILED"),
    ],
)
def test_each_fault_has_its_own_error_and_passes(world: str, kind: str, code: str) -> None:
    client = client_of(world)
    arm_fault(world, "trends", kind)
    assert code_of(client.read_resource("trends://news")) == code
    arm_fault(world, "media", kind)
    assert code_of(client.call_tool("ideogram", {"prompt": "Addis style"})) == code
    assert len(run(client.read_resource("trends://news"))) == 25


def test_a_rate_limit_carries_the_wait(world: str) -> None:
    arm_fault(world, "trends", "429")
    with pytest.raises(ChimeraError) as failure:
        run(client_of(world).read_resource("trends://twitter"))
    assert failure.value.backoff_sec == 2
    assert failure.value.details == {"server": "sandbox"}


@pytest.mark.req("W4")
def test_a_slow_server_is_a_timeout(world: str) -> None:
    arm_fault(world, "trends", "slow")
    assert code_of(client_of(world, timeout_sec=1).read_resource("trends://twitter")) == "TIMEOUT"
    arm_fault(world, "trends", "slow")
    reading = client_of(world).read_resource("trends://twitter", timeout_sec=1)
    assert code_of(reading) == "TIMEOUT"


@pytest.mark.req("W4")
def test_a_refused_connection_is_a_network_error() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound, not listening
        client = client_of(f"http://127.0.0.1:{taken.getsockname()[1]}")
        assert code_of(client.read_resource("trends://twitter")) == "NETWORK_ERROR"


@pytest.mark.parametrize(
    ("status", "code"),
    [(429, "RATE_LIMITED"), (503, "PLATFORM_UNAVAILABLE"), (401, "PLATFORM_UNAVAILABLE")],
)
def test_a_bare_http_status_keeps_its_meaning(
    httpserver: HTTPServer, status: int, code: str
) -> None:
    httpserver.expect_request("/mcp").respond_with_data(
        "busy", status=status, headers={"Retry-After": "7"}
    )
    client = MCPClient({"busy": ServerConfig(url=httpserver.url_for("/mcp"))})
    with pytest.raises(ChimeraError) as failure:
        run(client.call_tool("anything", {}))
    assert failure.value.code == code
    assert failure.value.backoff_sec == (7 if status == 429 else None)


def test_the_first_server_that_has_the_tool_answers(world: str, tmp_path: Path) -> None:
    servers = {
        "adder": adder(tmp_path),
        "sandbox": ServerConfig(url=f"{world}/mcp"),
    }
    client = MCPClient(servers, timeout_sec=30)
    assert run(client.call_tool("add", {"a": 2, "b": 3})) == {"sum": 5}
    assert run(client.call_tool("ideogram", {"prompt": "Addis style"}))["images"]
    assert [tool["server"] for tool in run(client.list_tools())][:1] == ["adder"]


@pytest.mark.req("W4")
def test_a_tool_that_fails_over_stdio_says_why(tmp_path: Path) -> None:
    script = tmp_path / "adder.py"
    script.write_text(STDIO_SERVER)
    client = MCPClient(
        {"adder": ServerConfig(command=sys.executable, args=[str(script)])}, timeout_sec=30
    )
    with pytest.raises(ChimeraError, match="cupboard is bare") as failure:
        run(client.call_tool("fail", {}))
    assert failure.value.code == "PLATFORM_UNAVAILABLE"
    assert code_of(client.call_tool("multiply", {})) == "NOT_FOUND"


def test_a_command_that_is_missing_is_a_network_error() -> None:
    client = MCPClient({"gone": ServerConfig(command="/nonexistent/mcp-server")})
    assert code_of(client.list_tools()) == "NETWORK_ERROR"


def test_the_sample_configuration_names_the_sandbox() -> None:
    servers = load_config(Path(__file__).parents[3] / "mcp.sample.json")
    assert servers["sandbox"].url == "http://127.0.0.1:8002/mcp"


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("{", "Invalid JSON"),
        ("{}", "mcpServers"),
        ('{"mcpServers": {"a": {}}}', "mcpServers.a: .*url or command"),
        ('{"mcpServers": {"a": {"url": "ftp://x"}}}', "mcpServers.a.url"),
        ('{"mcpServers": {"a": {"url": "http://x", "command": "y"}}}', "url or command"),
        ('{"mcpServers": {"a": {"url": "http://x", "colour": "red"}}}', "mcpServers.a.colour"),
    ],
)
def test_a_bad_configuration_names_the_file_and_the_field(
    tmp_path: Path, text: str, named: str
) -> None:
    path = tmp_path / "mcp.json"
    path.write_text(text)
    with pytest.raises(ValueError, match=f"mcp.json: .*{named}"):
        load_config(path)


def test_a_configured_secret_is_not_printed() -> None:
    config = ServerConfig(url="http://x", headers={"Authorization": "Bearer secret-1"})
    assert "secret-1" not in repr(config)
    assert json.loads(config.model_dump_json())["url"] == "http://x"


def test_a_variable_of_the_environment_stands_for_a_secret(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TREND_TOKEN", "t-1")
    path = tmp_path / "mcp.json"
    server = {
        "url": "http://x",
        "headers": {"Authorization": "Bearer ${TREND_TOKEN}", "X-Team": "${NO_SUCH:-none}"},
    }
    path.write_text(json.dumps({"mcpServers": {"a": server}}))

    assert load_config(path)["a"].headers == {"Authorization": "Bearer t-1", "X-Team": "none"}

    monkeypatch.delenv("TREND_TOKEN")
    with pytest.raises(ValueError, match="no TREND_TOKEN"):
        load_config(path)


@pytest.mark.req("W4")
def test_a_server_is_asked_only_for_what_it_offers(world: str, tmp_path: Path) -> None:
    gone = ServerConfig(url="http://127.0.0.1:9/mcp", offers=["weather", "trends://moon"])
    client = MCPClient({"gone": gone, "sandbox": ServerConfig(url=f"{world}/mcp")})

    assert run(client.call_tool("ideogram", {"prompt": "Addis style"}))["images"]
    assert len(run(client.read_resource("trends://news"))) == 25
    assert code_of(client.call_tool("weather", {})) == "NETWORK_ERROR"
    assert code_of(client.read_resource("trends://moon/feed/general")) == "NETWORK_ERROR"
