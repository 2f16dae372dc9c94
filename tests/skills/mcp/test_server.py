"""The MCP endpoint as a process of its own: who gets in, what is offered, what is readable."""

import hashlib
import json
from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError
from mcp_types import TextContent

from agents.roles import Role
from approvals.schemas import DebitBody, IntentBody, PublishBody
from chimera.core.errors import ChimeraError
from skills.catalogue import registry
from skills.mcp.server import approving, prompts
from skills.mcp.server.advice import key_argument
from skills.mcp.server.answers import answer_of, refusal_of
from skills.models import SkillExecution
from skills.presenters import skill_dict
from tests.helpers import bad_input
from tests.helpers.calls import package
from tests.helpers.http import HTTP
from tests.helpers.mcp_doors import Caller, Doors, doors, message_of, problem_of

FREE = {"CHIMERA_RATE_LIMIT": "100000", "CHIMERA_READ_RATE_LIMIT": "100000"}
SKILLS = registry.all()


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Doors]:
    with doors(tmp_path_factory.mktemp("mcp"), **FREE) as both:
        roles = {f"{role}_one": str(role) for role in Role}
        both.add(Aurora="orchestrator", Cashier="cfo_judge", Outsider="orchestrator", **roles)
        yield both


@pytest.fixture(scope="module")
def aurora(house: Doors) -> Caller:
    return house.caller("Aurora")


def echo(**more: Any) -> dict[str, Any]:
    return {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {"name": "echo", "arguments": {"n": 1}, "_meta": {"chimera/wait": 0}} | more,
    }


# --- who gets in ------------------------------------------------------------------------------


@pytest.mark.req("W5")
@pytest.mark.parametrize("header", [{}, {"Authorization": "Bearer nobody"}, {"Authorization": "x"}])
def test_a_stranger_gets_401_and_learns_where_tokens_come_from(
    house: Doors, header: dict[str, str]
) -> None:
    answer = HTTP.post(house.mcp_url, json=echo(), headers=header)

    assert answer.status_code == 401
    where = answer.headers["www-authenticate"].partition('resource_metadata="')[2].rstrip('"')
    metadata = HTTP.get(where).json()
    assert metadata["resource"] == house.mcp_url
    assert metadata["authorization_servers"] == [house.web_url.replace("127.0.0.1", "localhost")]


@pytest.mark.req("W5")
def test_a_revoked_token_stops_at_the_next_call_of_an_open_session(house: Doors) -> None:
    house.add(Leaver="orchestrator")
    leaver = house.caller("Leaver")
    digest = hashlib.sha256(leaver.token.encode()).hexdigest()

    async def two_calls(client: Client) -> list[str]:
        told = [(await client.call_tool("echo", {}, meta={"chimera/wait": 0})).meta["status"]]
        house.shell(
            "from oauth2_provider.models import AccessToken; "
            f"[found] = AccessToken.objects.filter(token_checksum='{digest}'); found.revoke()"
        )
        with pytest.raises(MCPError):
            await client.call_tool("echo", {}, meta={"chimera/wait": 0})
        return told

    assert leaver.with_client(two_calls) == ["queued"]
    executions = house.shell(
        f"from skills.models import SkillExecution as E; print('MADE', "
        f"E.objects.filter(agent_id='{leaver.agent_id}').count())"
    )
    assert "MADE 1" in executions
    assert leaver.post(echo()).status_code == 401


@pytest.mark.req("W5")
def test_a_disabled_agent_is_a_stranger_at_once(house: Doors) -> None:
    house.add(Sleeper="orchestrator")
    sleeper = house.caller("Sleeper")
    assert sleeper.post(echo()).status_code == 200

    house.shell(
        "from agents.models import Agent; "
        f"Agent.objects.filter(id='{sleeper.agent_id}').update(enabled=False)"
    )

    assert sleeper.post(echo()).status_code == 401


@pytest.mark.parametrize(
    ("header", "status"),
    [
        ({"Host": "evil.example"}, 421),
        ({"Origin": "https://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": "http://localhost:3000"}, 200),
    ],
)
def test_foreign_host_names_and_origins_are_refused(
    aurora: Caller, header: dict[str, str], status: int
) -> None:
    assert aurora.post(echo(), **header).status_code == status


# --- what comes in ----------------------------------------------------------------------------


@pytest.mark.req("X4")
@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        (b'{"a": 1', 400, "MALFORMED_JSON"),
        (b"\xff\xfe", 400, "MALFORMED_JSON"),
        (b'{"a": 1, "a": 2}', 400, "MALFORMED_JSON"),
        (b'{"a": NaN}', 400, "MALFORMED_JSON"),
        (b'{"a": 1e999}', 400, "MALFORMED_JSON"),
        (b"[" * 500 + b"]" * 500, 400, "MALFORMED_JSON"),
        (b'{"method": "\\ud83d"}', 400, "INVALID_INPUT"),
        (json.dumps(echo(arguments={"a": "x" * 3_000_000})).encode(), 413, "PAYLOAD_TOO_LARGE"),
    ],
    ids=["cut", "not utf-8", "doubled", "nan", "huge number", "deep", "half a pair", "huge"],
)
def test_a_body_that_cannot_be_read_is_refused_with_the_code_of_rest(
    aurora: Caller, body: bytes, status: int, code: str
) -> None:
    answer = aurora.post(body)
    assert (answer.status_code, answer.json()["error"]["data"]["code"]) == (status, code)


@pytest.mark.req("X4")
@pytest.mark.parametrize("version", ["", "2025-06-18", "2026-07-28"])
def test_numbers_of_arguments_arrive_with_every_digit(aurora: Caller, version: str) -> None:
    digits = "0.1234567890123456789012345"
    raw = json.dumps(echo(arguments={"amount": 111})).replace("111", digits)
    if version == "2026-07-28":
        envelope = (
            '"_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28", '
            '"io.modelcontextprotocol/clientCapabilities": {}, "chimera/wait": 0'
        )
        raw = raw.replace('"_meta": {"chimera/wait": 0', envelope)
    routing = {"Mcp-Method": "tools/call", "Mcp-Name": "echo", "MCP-Protocol-Version": version}
    answer = aurora.post(raw.encode(), **(routing if version else {}))

    result = message_of(answer)["result"]
    path = f"/api/v1/executions/{result['_meta']['execution_id']}/"
    assert f'"amount":{digits}' in aurora.rest.get(path).text


@pytest.mark.req("X4")
def test_a_key_or_a_wait_of_the_wrong_kind_is_named(aurora: Caller) -> None:
    for name, value in (("wait", "long"), ("wait", -1), ("idempotency_key", 5)):
        problem = problem_of(aurora.tool("echo", {}, **{name: value}))
        assert problem["code"] == "INVALID_INPUT"
        assert list(problem["errors"]) == [f"chimera/{name}"]


@pytest.mark.req("X2")
@pytest.mark.parametrize("place", ["header", "_meta"])
def test_a_call_goes_on_with_the_trace_of_its_caller(aurora: Caller, place: str) -> None:
    trace_id = uuid4().hex
    mark = f"00-{trace_id}-00f067aa0ba902b7-01"
    if place == "header":
        answer = aurora.post(echo(), traceparent=mark)
    else:
        answer = aurora.post(echo(_meta={"traceparent": mark, "chimera/wait": 0}))

    meta = message_of(answer)["result"]["_meta"]
    assert meta["trace_id"] == trace_id
    row = aurora.rest.get(f"/api/v1/executions/{meta['execution_id']}/").json()
    assert row["trace_id"] == trace_id


# --- tools ------------------------------------------------------------------------------------


@pytest.mark.req("W5")
@pytest.mark.parametrize("role", Role)
def test_the_tools_are_the_skills_of_the_role_as_the_catalogue_has_them(
    house: Doors, role: Role
) -> None:
    tools = house.caller(f"{role}_one").rpc("tools/list")["tools"]

    permitted = [skill for skill in SKILLS if role in skill.roles and not skill.deprecated_since]
    names = [skill.name for skill in permitted]
    assert [tool["name"] for tool in tools] == [*names, "request_approval"]
    for tool, skill in zip(tools[:-1], permitted, strict=True):
        shown, metadata = skill_dict(skill), skill.metadata
        assert tool["inputSchema"] == json.loads(json.dumps(shown["input_schema"], default=str))
        assert tool["outputSchema"] == json.loads(json.dumps(shown["output_schema"], default=str))
        hints = tool["annotations"]
        assert hints["readOnlyHint"] is not metadata.side_effects
        assert hints["idempotentHint"] is metadata.idempotent
        assert hints["destructiveHint"] is (metadata.side_effects and metadata.risk_level == "high")


@pytest.mark.req("W5")
@pytest.mark.parametrize("role", Role)
def test_every_input_schema_is_a_plain_object_at_the_top(house: Doors, role: Role) -> None:
    for tool in house.caller(f"{role}_one").rpc("tools/list")["tools"]:
        schema = tool["inputSchema"]
        assert schema["type"] == "object", tool["name"]
        assert not {"oneOf", "anyOf", "allOf"} & schema.keys(), tool["name"]


@pytest.mark.req("C5")
def test_the_schema_of_an_approval_has_every_field_of_every_action() -> None:
    schema, names = approving.input_schema(), {"action"}
    bodies = (PublishBody, DebitBody, IntentBody)
    for body, action in zip(bodies, schema["properties"]["action"]["enum"], strict=True):
        for name, field in body.model_fields.items():
            if name == "action":
                continue
            need = "needed" if field.is_required() else "optional"
            assert f"({need} for {action} alone)" in schema["properties"][name]["description"]
            assert name not in names, "one name means one thing"
            names.add(name)
    assert schema["properties"].keys() == names


@pytest.mark.req("W5")
def test_a_scope_narrows_the_tools_and_is_asked_again_in_the_call(house: Doors) -> None:
    narrow = house.caller("Aurora", "skills:echo")

    assert [tool["name"] for tool in narrow.rpc("tools/list")["tools"]] == ["echo"]
    refused = narrow.tool("text_analysis", {"text": "x", "words_per_minute": 200})
    assert refused["isError"] and problem_of(refused)["code"] == "FORBIDDEN"
    assert narrow.tool("debit_wallet", {})["_meta"]["problem"]["code"] == "FORBIDDEN"
    assert narrow.tool("no_such_tool", {})["_meta"]["problem"]["code"] == "SKILL_NOT_FOUND"


@pytest.mark.req("W5")
def test_an_unfinished_call_says_how_to_pick_it_up_and_its_key_does_not_begin_a_second(
    aurora: Caller,
) -> None:
    key = str(uuid4())
    first = aurora.tool("echo", {"n": 1}, wait=0.2, idempotency_key=key)
    again = aurora.tool("echo", {"n": 1}, wait=0, idempotency_key=key)
    other = aurora.tool("echo", {"n": 2}, wait=0, idempotency_key=key)

    text, meta = first["content"][0]["text"], first["_meta"]
    assert first["isError"] and meta["status"] == "queued"
    assert f"chimera://executions/{meta['execution_id']}" in text
    assert aurora.read(f"chimera://executions/{meta['execution_id']}")["status"] == "queued"
    assert problem_of(again)["code"] == "IN_PROGRESS"
    assert again["_meta"]["execution_id"] == meta["execution_id"]
    assert problem_of(other)["code"] == "IDEMPOTENCY_CONFLICT"


# --- what a model is told to do next ----------------------------------------------------------


def told(result: dict[str, Any]) -> str:
    return "\n".join(block["text"] for block in result["content"])


def payment(**more: Any) -> dict[str, Any]:
    return {
        "wallet_address": "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed",
        "amount": 1.25,
        "currency": "USDC",
        "tx_description": "x",
        "idempotency_key": str(uuid4()),
    } | more


@pytest.mark.req("W5")
def test_a_key_that_is_taken_is_advised_on_by_the_name_that_a_model_can_set(
    house: Doors, aurora: Caller
) -> None:
    cashier, first = house.caller("Cashier"), payment()
    begun = cashier.tool("debit_wallet", first, wait=0)
    payment_text = told(cashier.tool("debit_wallet", first | {"amount": 2}, wait=0))
    aurora.tool("echo", {"n": 1}, wait=0, idempotency_key="taken")
    echo_text = told(aurora.tool("echo", {"n": 2}, wait=0, idempotency_key="taken"))

    assert "repeat this very call with the same idempotency_key" in told(begun)
    assert "the argument idempotency_key is only for something else" in payment_text
    assert "_meta" not in payment_text and "new key" not in payment_text
    assert "key in _meta chimera/idempotency_key is only" in echo_text
    for text in (payment_text, echo_text):
        assert text.startswith("IDEMPOTENCY_CONFLICT") and "repeat that very call" in text


def test_a_key_is_found_where_the_input_nests_it() -> None:
    assert key_argument(registry.get("skill_execute_publish_intent")) == "intent.idempotencyKey"
    assert key_argument(registry.get("echo")) == ""


@pytest.mark.req("C5", "W5")
def test_who_publishes_without_an_approval_learns_where_it_comes_from(aurora: Caller) -> None:
    post = {"content": package(), "platform": "twitter"}
    tools = {tool["name"]: tool for tool in aurora.rpc("tools/list")["tools"]}

    for given in (post, post | {"approval_token": ""}):
        text = told(aurora.tool("publish_content", given, wait=0))
        assert 'request_approval (action "publish_content")' in text
    assert "request_approval" in tools["publish_content"]["description"]
    assert "request_approval" in tools["skill_execute_publish_intent"]["description"]
    begun = told(aurora.tool("publish_content", post | {"approval_token": "x"}, wait=0))
    assert "once it is out the answer is DUPLICATE_CONTENT with the post_url" in begun


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("debit_wallet", "with the same idempotency_key"),
        ("skill_execute_publish_intent", "with the same intent.idempotencyKey"),
        ("publish_content", "DUPLICATE_CONTENT"),
        ("register_openclaw_profile", "do not repeat the call"),
        ("fetch_trends", "call again"),
    ],
)
def test_a_call_is_repeated_only_where_that_does_no_harm(name: str, told: str) -> None:
    skill = registry.get(name)
    begun = SkillExecution(skill=skill.name, version=skill.metadata.version, status="running")
    answered = answer_of(begun, replayed=False).content[0]
    assert isinstance(answered, TextContent) and told in answered.text
    assert f"chimera://executions/{begun.id}" in answered.text


def test_a_tool_that_is_none_is_answered_with_the_list_of_tools(aurora: Caller) -> None:
    text = told(aurora.tool("no_such_tool", {}))
    assert "/api/" not in text and "List the tools" in text


def test_what_exists_already_is_told_in_the_text() -> None:
    error = ChimeraError("DUPLICATE_CONTENT", details={"post_url": "https://x.test/1"})
    text = refusal_of(error, "publish_content", "").content[0]
    assert isinstance(text, TextContent) and '"post_url":"https://x.test/1"' in text.text


# --- one generated suite for both doors -------------------------------------------------------

MOST = 40
"""Cases of one kind; a schema with hundreds of fields repeats its own types."""


def _cases(skill: Any) -> list[tuple[str, dict[str, Any]]]:
    shown = json.loads(json.dumps(skill_dict(skill), default=str))
    schema, example = shown["input_schema"], shown["examples"][0]["input"]
    kinds = bad_input.KINDS.values()
    derived = [case for kind in kinds for case in list(kind(schema, example))[:MOST]]
    return [*derived, ("more", example | {"more": "nul\0"})]


def _plain(problem: dict[str, Any]) -> dict[str, Any]:
    """A problem without what names the door: REST finds NUL in the body, where `input` holds it."""
    errors = {name.removeprefix("input."): text for name, text in problem["errors"].items()}
    kept = ("type", "title", "status", "detail", "code", "retryable")
    return {name: problem[name] for name in kept} | {"errors": errors}


@pytest.mark.req("X4", "A0.1")
@pytest.mark.parametrize("skill", SKILLS, ids=[skill.name for skill in SKILLS])
def test_both_doors_refuse_the_same_input_in_the_same_words(skill: Any, house: Doors) -> None:
    who = house.caller(f"{sorted(skill.roles)[0]}_one")
    before = who.rest.get("/api/v1/executions/", params={"skill": skill.name}).json()["results"]

    for path, data in _cases(skill):
        over_rest, over_mcp = who.skill(skill.name, data), who.tool(skill.name, data, wait=0)
        assert 400 <= over_rest.status_code < 500, path
        assert over_mcp["isError"], path
        assert _plain(problem_of(over_mcp)) == _plain(over_rest.json()), path

    after = who.rest.get("/api/v1/executions/", params={"skill": skill.name}).json()["results"]
    assert after == before, "nothing was begun"


@pytest.mark.req("C5", "X4")
@pytest.mark.parametrize(
    ("who", "body"),
    [
        ("Aurora", {}),
        ("Aurora", {"action": "delete"}),
        ("Aurora", {"action": "publish_content", "content_id": "1", "platform": "orkut"}),
        (
            "Aurora",
            {"action": "publish_content", "content_id": str(uuid4()), "platform": "twitter"},
        ),
        (
            "Cashier",
            {"action": "publish_content", "content_id": str(uuid4()), "platform": "tiktok"},
        ),
    ],
)
def test_both_doors_refuse_the_same_approval_in_the_same_words(
    house: Doors, who: str, body: dict[str, Any]
) -> None:
    agent = house.caller(who)

    over_rest = agent.rest.post("/api/v1/approvals/", json=body)
    over_mcp = agent.tool("request_approval", body)

    assert 400 <= over_rest.status_code < 500 and over_mcp["isError"]
    kept = ("status", "detail", "code", "errors")
    plain = [
        {name: found.get(name) for name in kept}
        for found in (over_rest.json(), problem_of(over_mcp))
    ]
    assert plain[0] == plain[1]


@pytest.mark.req("C5")
def test_an_approval_over_mcp_needs_the_scope_of_rest(house: Doors) -> None:
    refused = house.caller("Aurora", "skills:*").tool(
        "request_approval", {"action": "publish_content"}
    )
    assert problem_of(refused)["code"] == "FORBIDDEN"


# --- resources and prompts --------------------------------------------------------------------


@pytest.mark.req("W5")
def test_resources_show_what_rest_shows(house: Doors, aurora: Caller) -> None:
    content = package()
    assert aurora.rest.post("/api/v1/content/", json=content).status_code == 201
    execution_id = aurora.tool("echo", {}, wait=0)["_meta"]["execution_id"]
    for uri, path in (
        ("agents/me", "agents/me/"),
        (f"content/{content['content_id']}", f"content/{content['content_id']}/"),
        (f"executions/{execution_id}", f"executions/{execution_id}/"),
    ):
        assert aurora.read(f"chimera://{uri}") == aurora.rest.get(f"/api/v1/{path}").json(), uri


@pytest.mark.req("W5")
def test_foreign_executions_and_unknown_ids_are_not_found(house: Doors, aurora: Caller) -> None:
    execution_id = aurora.tool("echo", {}, wait=0)["_meta"]["execution_id"]
    outsider = house.caller("Outsider")
    for uri in (
        f"chimera://executions/{execution_id}",
        f"chimera://executions/{uuid4()}",
        f"chimera://approvals/{uuid4()}",
        f"chimera://content/{uuid4()}",
        "chimera://executions/1",
        "chimera://secrets/all",
        "file:///etc/passwd",
    ):
        assert outsider.read(uri)["data"]["code"] == "NOT_FOUND", uri


@pytest.mark.req("W5")
@pytest.mark.parametrize("kind", ["agents", "executions", "content", "approvals"])
def test_a_resource_needs_the_scope_of_rest(house: Doors, kind: str) -> None:
    narrow = house.caller("Aurora", "skills:echo")
    found = narrow.read(
        "chimera://agents/me" if kind == "agents" else f"chimera://{kind}/{uuid4()}"
    )
    assert found["data"]["code"] == "FORBIDDEN"


def test_the_sdks_client_sees_templates_prompts_and_errors(aurora: Caller) -> None:
    async def look(client: Client) -> None:
        templates = (await client.list_resource_templates()).resource_templates
        assert {each.uri_template for each in templates} == {
            f"chimera://{kind}/{{id}}" for kind in ("executions", "content", "approvals")
        }
        assert [str(each.uri) for each in (await client.list_resources()).resources] == [
            "chimera://agents/me"
        ]
        prompts = {each.name for each in (await client.list_prompts()).prompts}
        assert prompts == {"publish-a-post", "pay-an-invoice", "pick-up-a-result"}
        found = await client.get_prompt("pick-up-a-result", {"execution_id": "0190-abc"})
        assert "chimera://executions/0190-abc" in found.messages[0].content.text
        listed = {each.name for each in (await client.list_tools()).tools}
        assert "echo" in listed

    for options in ({}, {"mode": "legacy"}):
        aurora.with_client(look, **options)


def test_a_prompt_names_its_missing_arguments_and_tools_that_exist(aurora: Caller) -> None:
    refused = aurora.rpc("prompts/get", {"name": "pay-an-invoice", "arguments": {"amount": "1"}})
    assert set(refused["data"]["errors"]) == {"recipient", "currency", "purpose"}
    assert aurora.rpc("prompts/get", {"name": "other"})["data"]["code"] == "NOT_FOUND"

    given = dict.fromkeys(("recipient", "amount", "purpose"), "{braces}") | {"currency": "ETH"}
    told = aurora.rpc("prompts/get", {"name": "pay-an-invoice", "arguments": given})
    text = told["messages"][0]["content"]["text"]
    assert "Pay {braces} ETH to {braces}" in text
    assert {"fetch_wallet_balance", "debit_wallet"} <= {s.name for s in SKILLS if s.name in text}
    assert "http://localhost:" in text.partition("/review/")[0], "a link has a host"


def test_a_prompt_that_is_given_wrong_arguments_lists_the_right_ones(aurora: Caller) -> None:
    for given, named in (
        ({"platform": "orkut", "goal": "x"}, "twitter, tiktok, instagram, youtube"),
        ({"platform": "twitter", "goal": "x", "topic": "y"}, "platform, goal"),
        ({"topic": "y"}, "platform, goal"),
    ):
        params = {"name": "publish-a-post", "arguments": given}
        refused = aurora.rpc("prompts/get", params)
        assert named in refused["message"], refused


@pytest.mark.parametrize("platform", prompts.PLATFORMS)
def test_the_first_step_of_a_post_is_one_that_works(aurora: Caller, platform: str) -> None:
    params = {"name": "publish-a-post", "arguments": {"platform": platform, "goal": "x"}}
    text = aurora.rpc("prompts/get", params)["messages"][0]["content"]["text"]
    source = text.partition("fetch_trends for ")[2].split(";")[0].split(",")[0]

    begun = aurora.tool("fetch_trends", {"platform": source}, wait=0)
    assert begun["_meta"].get("status") == "queued", begun
    assert f"the platform {platform}." in text
