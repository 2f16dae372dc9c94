"""Both doors of one deployment as real processes, REST and MCP, and agents that use them."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
import httpx
import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from chimera.probes import answers
from tests.helpers.http import HTTP
from tests.helpers.servers import own_database, own_servers
from tests.helpers.stack import free_ports

ROOT = Path(__file__).parents[2]
Json = dict[str, Any]
_AGENTS = """
import json, sys
from agents.services import agent_create, credential_issue
made = {}
for name, role in json.loads('%s').items():
    agent = agent_create(name=name, role=role, actor="system:test")
    issued = credential_issue(agent=agent, actor="system:test")
    made[name] = [str(agent.id), issued.client_id, issued.client_secret]
print("MADE" + json.dumps(made))
"""


@dataclass(frozen=True)
class Caller:
    """An agent with an access token, at both doors."""

    agent_id: str
    token: str
    rest: httpx.Client
    mcp_url: str

    def skill(self, name: str, body: Any, wait: int = 0, key: str = "") -> httpx.Response:
        """A call over REST. body: the raw bytes, or the input."""
        headers = {"Content-Type": "application/json"}
        headers |= {"Prefer": f"wait={wait}"} if wait else {}
        headers |= {"Idempotency-Key": key} if key else {}
        raw = body if isinstance(body, bytes) else json.dumps({"input": body}).encode()
        return self.rest.post(f"/api/v1/skills/{name}/executions/", content=raw, headers=headers)

    def post(self, body: Any, **headers: str) -> httpx.Response:
        """A raw message to the MCP endpoint."""
        raw = body if isinstance(body, bytes) else json.dumps(body).encode()
        accepted = {"Accept": "application/json, text/event-stream"}
        told = accepted | {"Content-Type": "application/json"} | headers
        return self.rest.post(self.mcp_url, content=raw, headers=told)

    def rpc(self, method: str, params: Json | None = None, **headers: str) -> Json:
        """The `result` or the `error` of one message."""
        message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params or {}}
        answer = message_of(self.post(message, **headers))
        found: Json = answer.get("result") or answer["error"]
        return found

    def tool(self, name: str, arguments: Any, wait: float | None = None, **meta: Any) -> Json:
        """The result of a tool call. meta: entries of `_meta` without their `chimera/`."""
        entries = meta if wait is None else meta | {"wait": wait}
        told = {f"chimera/{entry}": value for entry, value in entries.items()}
        return self.rpc("tools/call", {"name": name, "arguments": arguments, "_meta": told})

    def read(self, uri: str) -> Json:
        """A resource as JSON, or the error."""
        found = self.rpc("resources/read", {"uri": uri})
        read: Json = json.loads(found["contents"][0]["text"]) if "contents" in found else found
        return read

    def with_client(self, work: Callable[[Client], Awaitable[Any]], **options: Any) -> Any:
        """What `work` gives with the SDK's own client."""

        async def main() -> Any:
            headers = {"Authorization": f"Bearer {self.token}"}
            async with httpx2.AsyncClient(headers=headers, timeout=90, trust_env=False) as http:
                transport = streamable_http_client(self.mcp_url, http_client=http)
                async with Client(transport, **options) as client:
                    return await work(client)

        return anyio.run(main)


def message_of(answer: httpx.Response) -> Json:
    """The last message of an answer, which comes as JSON or as a stream of events."""
    text = answer.text
    if answer.headers["content-type"].startswith("text/event-stream"):
        text = [line[6:] for line in text.splitlines() if line.startswith("data: ")][-1]
    message: Json = json.loads(text)
    return message


def problem_of(result: Json) -> Json:
    """The problem document of a tool call that was refused or failed."""
    found: Json = result["_meta"]["problem"]
    return found


@dataclass
class Doors:
    """Where the two doors are, and a way to run a line of Python on their data."""

    web_url: str
    mcp_url: str
    env: dict[str, str]
    known: dict[str, list[str]] = field(default_factory=dict)
    endpoint: "subprocess.Popen[bytes] | None" = None

    def shell(self, code: str) -> str:
        argv = [sys.executable, str(ROOT / "manage.py"), "shell", "-c", code]
        return subprocess.check_output(argv, cwd=ROOT, env=self.env, text=True)

    def add(self, **roles: str) -> None:
        """Agents by name and role."""
        said = self.shell(_AGENTS % json.dumps(roles))
        self.known |= json.loads(said.partition("MADE")[2])

    def caller(self, name: str, scope: str = "") -> Caller:
        """The agent with a fresh token."""
        agent_id, client_id, secret = self.known[name]
        body = {"grant_type": "client_credentials", "client_id": client_id, "client_secret": secret}
        body |= {"scope": scope} if scope else {}
        answer = HTTP.post(f"{self.web_url}/oauth/token/", data=body, timeout=60)
        token = str(answer.raise_for_status().json()["access_token"])
        headers = {"Authorization": f"Bearer {token}"}
        rest = httpx.Client(base_url=self.web_url, headers=headers, trust_env=False, timeout=90)
        return Caller(agent_id, token, rest, self.mcp_url)


@contextmanager
def doors(folder: Path, **settings: str) -> Iterator[Doors]:
    """REST and MCP on a database of their own; nobody works the jobs off."""
    port = free_ports()
    with own_servers() as servers, own_database(folder) as database, ExitStack() as running:
        env = (
            os.environ
            | {"CELERY_BROKER_URL": "", "CACHE_URL": "", "DATABASE_URL": database}
            | servers
        )
        env |= {"CHIMERA_DATA_DIR": str(folder), "PORT": str(port), "PYTHONUNBUFFERED": "1"}
        env |= {"DJANGO_SETTINGS_MODULE": "chimera.settings"} | settings
        manage = [sys.executable, str(ROOT / "manage.py")]
        web = ("-m", "gunicorn", "chimera.wsgi", "--worker-class", "gthread", "--threads", "8")
        quick = ("--graceful-timeout", "2")  # clients of the tests keep their connections open
        bind = ("--bind", f"127.0.0.1:{port}", "--no-control-socket")
        processes = []
        for argv in (
            [sys.executable, *web, *quick, *bind],
            [*manage, "serve_mcp", "--port", str(port + 1)],
        ):
            processes.append(subprocess.Popen(argv, cwd=ROOT, env=env))
            running.callback(_end, processes[-1])
        for each in (port, port + 1):
            await_answer(f"http://127.0.0.1:{each}/healthz")
        at = [f"http://127.0.0.1:{each}" for each in (port, port + 1)]
        yield Doors(at[0], f"{at[1]}/mcp", env, endpoint=processes[1])


def _end(process: "subprocess.Popen[bytes]") -> None:
    process.terminate()
    process.wait(60)


def await_answer(url: str, seconds: float = 180) -> None:
    deadline = time.monotonic() + seconds
    while not answers(url):
        assert time.monotonic() < deadline, f"{url} does not answer"
        time.sleep(0.1)
