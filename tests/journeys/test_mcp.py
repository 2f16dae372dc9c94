"""Agents at the MCP endpoint of the running platform: the same answers as REST, and a person between."""

import json
import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from mcp import Client

from agents.roles import Role
from chimera import stack as stacks
from chimera.demo.reviewer import Reviewer
from skills.catalogue import registry
from skills.presenters import examples_of, skill_dict
from tests.helpers.calls import trend
from tests.helpers.mcp_doors import Caller, Doors, await_answer
from tests.helpers.stack import Stack

SKILLS = registry.all()
INSPECTOR = ("@modelcontextprotocol/inspector@2", "node@22")


@pytest.fixture(scope="module")
def both(shared_stack: Stack) -> Doors:
    """Both doors of the shared platform; an agent of each role, and the demo's, who has a wallet."""
    at = shared_stack
    found = Doors(at.url, stacks.mcp_url(at.port), at.environment())
    found.add(**{str(role): str(role) for role in Role})
    for agent in json.loads((at.data_dir / "demo-agents.json").read_text()):
        name, of = agent["name"], ("agent_id", "client_id", "client_secret")
        found.known[name] = [agent[field] for field in of]
    return found


def _error(code: str, errors: Any) -> tuple[str, list[str]]:
    return code, sorted(errors or {})


def ends_over_rest(who: Caller, skill: str, data: Any) -> tuple[Any, ...]:
    """(status, code and fields of the error, names of the output)"""
    answer = who.skill(skill, data, wait=60)
    body = answer.json()
    if answer.status_code >= 400:
        return "failed", _error(body["code"], body.get("errors")), None
    return body["status"], None, sorted(body["output"] or {})


def ends_over_mcp(who: Caller, skill: str, data: Any) -> tuple[Any, ...]:
    result = who.tool(skill, data)
    problem = result["_meta"].get("problem")
    if problem:
        assert result["isError"]
        return "failed", _error(problem["code"], problem.get("errors")), None
    return result["_meta"]["status"], None, sorted(result.get("structuredContent") or {})


@pytest.mark.req("X4", "W5")
@pytest.mark.parametrize("skill", SKILLS, ids=[skill.name for skill in SKILLS])
def test_both_doors_end_the_examples_of_a_skill_alike(skill: Any, both: Doors) -> None:
    who = both.caller(sorted(skill.roles)[0])
    for example in examples_of(skill):
        data = json.loads(json.dumps(example["input"], default=float))
        over_rest = ends_over_rest(who, skill.name, data)
        assert ends_over_mcp(who, skill.name, data) == over_rest
        assert over_rest[0] in ("completed", "failed", "blocked")


@pytest.mark.req("X4")
def test_the_sdks_client_finds_each_output_true_to_its_schema(both: Doors) -> None:
    """The client checks the structured content itself and raises where it differs."""
    who = both.caller("orchestrator")

    async def call(client: Client) -> None:
        for name in ("echo", "normalize_handle", "text_analysis", "fetch_trends"):
            example = examples_of(registry.get(name))[0]["input"]
            result = await client.call_tool(name, json.loads(json.dumps(example, default=float)))
            assert not result.is_error, result
            assert json.loads(result.content[0].text) == result.structured_content

    who.with_client(call)
    who.with_client(call, mode="legacy")


@pytest.mark.req("W5")
def test_a_client_hears_how_its_call_goes(both: Doors) -> None:
    told: list[tuple[float, str | None]] = []

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        told.append((progress, message))

    async def call(client: Client) -> Any:
        data = {"platform": "twitter", "limit": 3}
        return await client.call_tool("fetch_trends", data, progress_callback=hear)

    for options in ({}, {"mode": "legacy"}):
        told.clear()
        assert not both.caller("orchestrator").with_client(call, **options).is_error
        assert [step for step, _ in told] == list(range(1, len(told) + 1))
        assert told[0][1] == "fetch_trends: queued"
        assert told[-1][1] == "fetch_trends: completed"


@pytest.mark.req("C3", "W5")
def test_a_blocked_payment_is_picked_up_after_a_person_has_signed(
    both: Doors, stack: Stack
) -> None:
    who = both.caller("Cashier")
    wallet = who.read("chimera://agents/me")["wallet_address"]
    posted = lambda: who.rest.get(f"/api/v1/wallets/{wallet}/").json()  # noqa: E731
    before = posted()
    payment = {
        "wallet_address": wallet,
        "amount": 1.25,
        "currency": "USDC",
        "tx_description": "Signed over MCP",
        "idempotency_key": str(uuid4()),
    }

    blocked = who.with_client(lambda client: client.call_tool("debit_wallet", payment))
    text, meta = blocked.content[0].text, blocked.meta
    assert blocked.is_error and meta["status"] == "blocked"
    assert "a person must decide" in text
    assert f"{stack.url}/review/{meta['approval_id']}/" in text.replace("127.0.0.1", "localhost")
    uri = f"chimera://executions/{meta['execution_id']}"
    assert uri in text
    assert who.read(f"chimera://approvals/{meta['approval_id']}")["status"] == "pending"
    again = who.with_client(lambda client: client.call_tool("debit_wallet", payment))
    assert again.meta["execution_id"] == meta["execution_id"], "asked twice, opened once"

    person_of(stack).approve(meta["approval_id"])

    paid = _final(who, uri)
    assert paid["status"] == "completed", paid
    last = who.with_client(lambda client: client.call_tool("debit_wallet", payment))
    assert not last.is_error and last.meta["replayed"]
    assert last.structured_content["tx_id"] == paid["output"]["tx_id"]
    assert who.read(f"chimera://approvals/{meta['approval_id']}")["status"] == "consumed"
    spent = [_usdc(balances) for balances in (before, posted())]
    assert round(spent[0] - spent[1], 6) == 1.25, "paid once"


@pytest.mark.req("C5", "W5")
def test_a_post_goes_from_draft_to_published_without_leaving_mcp(both: Doors, stack: Stack) -> None:
    who = both.caller("Aurora")
    persona = who.read("chimera://agents/me")["persona"]
    drafted = who.tool(
        "generate_content", {"trend": trend(), "persona": persona, "platform": "twitter"}
    )
    made = drafted["structuredContent"]["content"]
    checked = who.tool("validate_content", {"content": made})
    assert checked["structuredContent"]["valid"], checked

    body = {"action": "publish_content", "content_id": made["content_id"], "platform": "twitter"}
    asked, again = (who.tool("request_approval", body)["structuredContent"] for _ in range(2))
    assert asked["status"] == "pending" and again["id"] == asked["id"], "asked twice, opened once"
    uri = f"chimera://approvals/{asked['id']}"
    assert who.read(uri)["approval_token"] is None
    person_of(stack).approve(asked["id"])

    signed = who.tool("request_approval", body)
    token = signed["structuredContent"]["approval_token"]
    assert token == who.read(uri)["approval_token"] and "It is signed" in str(signed)
    post = {"content": made, "platform": "twitter", "approval_token": token}
    published = who.tool("publish_content", post)
    assert not published.get("isError"), published
    assert published["structuredContent"]["post_url"].startswith("http")
    assert who.read(uri)["status"] == "consumed"
    url, again = published["structuredContent"]["post_url"], who.tool("publish_content", post)
    assert again["isError"] and url in again["content"][0]["text"], again


def person_of(stack: Stack) -> Reviewer:
    """The reviewer of the demo, signed in."""
    logins = json.loads((stack.data_dir / "demo-logins.json").read_text())
    person = Reviewer.from_logins(stack.url, logins, lambda *_: None)
    person.sign_in()
    return person


def _usdc(wallet: Any) -> float:
    found = wallet.get("balances", wallet)
    rows = found if isinstance(found, list) else [found]
    return float(next(row for row in rows if row.get("currency", "USDC") == "USDC")["posted"])


def _final(who: Caller, uri: str) -> Any:
    deadline = time.monotonic() + 90
    while (found := who.read(uri))["status"] not in ("completed", "failed"):
        assert time.monotonic() < deadline, found
        time.sleep(0.3)
    return found


@pytest.mark.req("X3")
def test_a_killed_endpoint_is_started_again_and_serves_on(both: Doors, stack: Stack) -> None:
    before = stack.pids()["mcp"]
    who = both.caller("orchestrator")
    begun = who.tool("echo", {"n": 1})["_meta"]["execution_id"]

    stack.kill("mcp")
    assert stack.await_restart("mcp", before) != before
    await_answer(both.mcp_url.replace("/mcp", "/healthz"))

    assert who.read(f"chimera://executions/{begun}")["status"] == "completed"
    assert "mcp stopped (status -9); starting it again" in stack.said()


# --- a program of others ----------------------------------------------------------------------


@pytest.fixture(scope="module")
def inspector(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[str]]:
    """The command of the MCP inspector with a Node that is new enough for it."""
    if shutil.which("npm") is None:
        pytest.skip("needs npm: install it to try the MCP inspector")
    folder = tmp_path_factory.mktemp("inspector")
    install = ["npm", "install", "--no-audit", "--no-fund", "--prefix", str(folder), *INSPECTOR]
    try:
        subprocess.run(install, cwd=folder, check=True, capture_output=True, timeout=180)
    except (subprocess.CalledProcessError, subprocess.TimeoutExpired):
        pytest.skip("needs the MCP inspector: npm cannot fetch it")
    binaries = folder / "node_modules" / ".bin"
    node = Path(os.path.realpath(binaries / "node"))
    if subprocess.run([node, "--version"], capture_output=True, check=False).returncode:
        pytest.skip("needs Node 22: npm has not brought one that runs here")
    yield [str(node), str((binaries / "mcp-inspector").resolve()), "--cli"]


@pytest.mark.req("W5")
def test_the_mcp_inspector_lists_and_calls_the_tools(inspector: list[str], both: Doors) -> None:
    who = both.caller("orchestrator")

    def inspect(*options: str) -> Any:
        token = ("--header", f"Authorization: Bearer {who.token}")
        argv = [*inspector, both.mcp_url, "--transport", "http", *token, "--method", *options]
        answer = subprocess.run(argv, capture_output=True, text=True, timeout=90, check=False)
        assert answer.stdout.lstrip().startswith("{"), answer.stderr
        return json.loads(answer.stdout)

    tools = {tool["name"]: tool for tool in inspect("tools/list")["tools"]}
    assert tools["fetch_trends"]["outputSchema"]["required"] == list(
        skill_dict(registry.get("fetch_trends"))["output_schema"]["required"]
    )
    called = inspect(
        "tools/call", "--tool-name", "normalize_handle", "--tool-arg", "handle=@Addis.Style"
    )
    assert called["structuredContent"] == {"handle": "addis.style"}
    templates = inspect("resources/templates/list")["resourceTemplates"]
    assert "chimera://executions/{id}" in [each["uriTemplate"] for each in templates]
    assert len(inspect("prompts/list")["prompts"]) == 3
