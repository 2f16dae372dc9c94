"""The REST doors: tokens, catalogue, executions with their lists and waits, content, who sees what."""

import base64
from collections.abc import Callable
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.test import Client

from agents.models import Agent
from agents.services import credential_issue
from chimera.core.errors import ChimeraError
from skills.models import SkillExecution, Status
from tests.helpers.calls import call, package, stored
from tests.helpers.problems import problem_of

URL = "/api/v1/skills/probe/executions/"
MakeSkill = Callable[..., Any]


# --- tokens ---------------------------------------------------------------------------------------


@pytest.fixture
def credential(orchestrator: Agent) -> Any:
    return credential_issue(agent=orchestrator, actor="system:test")


def ask_token(client_id: str, secret: str, basic: bool = False, **more: str) -> Any:
    body = {"grant_type": "client_credentials", **more}
    if not basic:
        return Client().post("/oauth/token/", body | _pair(client_id, secret))
    pair = base64.b64encode(f"{client_id}:{secret}".encode()).decode()
    return Client().post("/oauth/token/", body, headers={"Authorization": f"Basic {pair}"})


def _pair(client_id: str, secret: str) -> dict[str, str]:
    return {"client_id": client_id, "client_secret": secret}


@pytest.mark.parametrize("basic", [True, False])
@pytest.mark.req("W5", "C6")
def test_a_token_is_issued_for_an_hour_with_every_granted_scope(
    basic: bool, credential: Any
) -> None:
    answer = ask_token(credential.client_id, credential.client_secret, basic)

    assert answer.status_code == 200 and answer.json()["expires_in"] == 3600
    assert answer.json()["token_type"] == "Bearer"
    assert {"skills:*", "executions:read"} <= set(answer.json()["scope"].split())


@pytest.mark.parametrize("basic", [True, False])
@pytest.mark.req("W5")
def test_a_wrong_secret_gets_no_token(basic: bool, credential: Any) -> None:
    answer = ask_token(credential.client_id, "guess", basic)

    assert answer.status_code == 401 and "access_token" not in answer.json()


@pytest.mark.req("W5")
def test_a_scope_narrows_the_token(credential: Any) -> None:
    answer = ask_token(
        credential.client_id, credential.client_secret, scope="skills:fetch_trends executions:read"
    )

    assert set(answer.json()["scope"].split()) == {"skills:fetch_trends", "executions:read"}


def test_a_scope_that_was_not_granted_is_refused(orchestrator: Agent) -> None:
    issued = credential_issue(agent=orchestrator, actor="system:test", scopes=["executions:read"])

    answer = ask_token(issued.client_id, issued.client_secret, scope="content:write")

    assert answer.status_code == 400 and "access_token" not in answer.json()


@pytest.mark.parametrize("header", ["", "Basic abc", "Bearer", "Bearer nonsense", "bearer \xe9"])
@pytest.mark.req("X4")
def test_without_a_good_token_there_is_nothing_to_see(header: str, db: None) -> None:
    answer = Client().get("/api/v1/skills/", headers={"Authorization": header})

    problem_of(answer, 401, "UNAUTHENTICATED")
    assert answer.headers["WWW-Authenticate"].startswith("Bearer")


def test_a_disabled_agent_has_no_token_any_more(api: Any, orchestrator: Agent) -> None:
    client = api(orchestrator)
    Agent.objects.update(enabled=False)

    problem_of(client.get("/api/v1/agents/me/"), 401, "UNAUTHENTICATED")


# --- catalogue ------------------------------------------------------------------------------------


@pytest.mark.req("A0.1")
def test_the_catalogue_shows_what_a_caller_needs(api: Any, orchestrator: Agent) -> None:
    client = api(orchestrator)

    listed = client.get("/api/v1/skills/").json()
    one = client.get("/api/v1/skills/publish_content/").json()

    assert listed["next"] is None and one in listed["results"]
    assert one["requires_approval"] and one["versions"] == ["1.0"] and one["examples"]
    assert set(one) == {
        "name",
        "version",
        "versions",
        "description",
        "roles",
        "metadata",
        "input_schema",
        "output_schema",
        "error_codes",
        "examples",
        "requires_approval",
        "deprecated",
        "sunset",
    }


@pytest.mark.parametrize(
    "name", ["nope", "fetch_trends@v1.0%0A", "fetch_trends%0A", "fetch_trends@v\u0661.0"]
)
@pytest.mark.req("X4")
def test_an_unknown_skill_is_a_problem(name: str, api: Any, orchestrator: Agent) -> None:
    problem_of(api(orchestrator).get(f"/api/v1/skills/{name}/"), 404, "SKILL_NOT_FOUND")


# --- executions -----------------------------------------------------------------------------------


def test_a_call_is_accepted_with_a_location(
    api: Any, orchestrator: Agent, make_skill: MakeSkill
) -> None:
    make_skill()
    client = api(orchestrator)

    answer = client.post(URL, {"input": {}}, content_type="application/json")

    assert answer.status_code == 202 and answer.json()["status"] == "queued"
    assert client.get(answer.headers["Location"]).json()["id"] == answer.json()["id"]


def test_waiting_ends_with_the_wait(api: Any, orchestrator: Agent, make_skill: MakeSkill) -> None:
    make_skill()

    answer = api(orchestrator).post(
        URL, {"input": {}}, content_type="application/json", headers={"Prefer": "wait=1"}
    )

    assert answer.status_code == 202 and answer.headers["Location"]


@pytest.mark.req("X4")
def test_a_failed_call_that_was_waited_for_answers_with_its_error(
    api: Any, orchestrator: Agent, make_skill: MakeSkill
) -> None:
    make_skill(ChimeraError("LLM_ERROR", "no model answers", output={"word": "half"}))
    failed = call(orchestrator, "probe", key="k")

    answer = api(orchestrator).post(
        URL,
        {"input": {}},
        content_type="application/json",
        headers={"Idempotency-Key": "k", "Prefer": "wait=5"},
    )

    body = problem_of(answer, 503, "LLM_ERROR")
    assert body["execution_id"] == str(failed.id) and body["output"] == {"word": "half"}


@pytest.mark.req("X4")
def test_a_failure_of_the_worker_names_its_fields(
    api: Any, orchestrator: Agent, make_skill: MakeSkill
) -> None:
    make_skill(ChimeraError("INVALID_INPUT", "No", errors={"word": ["Too rude"]}))
    call(orchestrator, "probe", key="k")

    answer = api(orchestrator).post(
        URL,
        {"input": {}},
        content_type="application/json",
        headers={"Idempotency-Key": "k", "Prefer": "wait=5"},
    )

    body = problem_of(answer, 400, "INVALID_INPUT")
    assert body["errors"] == {"word": ["Too rude"]} and "details" not in body


def test_pages_follow_one_another_without_gap_or_double(
    api: Any, orchestrator: Agent, make_skill: MakeSkill
) -> None:
    make_skill()
    made = {str(call(orchestrator, "probe").id) for _ in range(5)}
    client, seen, pages = api(orchestrator), [], 0
    url = "/api/v1/executions/?limit=2&skill=probe"
    while url:
        page = client.get(url).json()
        seen += [item["id"] for item in page["results"]]
        url, pages = page["next"], pages + 1

    assert set(seen) == made and len(seen) == 5 and pages == 3
    assert [UUID(each) for each in seen] == sorted((UUID(each) for each in seen), reverse=True)


@pytest.mark.parametrize(
    ("query", "count"),
    [
        ("status=completed", 2),
        ("status=failed", 0),
        ("skill=other", 0),
        ("since=2001-01-01T00:00:00Z", 2),
        ("since=2199-01-01T00:00:00Z", 0),
        ("status=completed&status=failed", 2),
    ],
)
def test_filters_of_the_list(
    query: str, count: int, api: Any, orchestrator: Agent, make_skill: MakeSkill
) -> None:
    make_skill()
    call(orchestrator, "probe"), call(orchestrator, "probe")

    assert len(api(orchestrator).get(f"/api/v1/executions/?{query}").json()["results"]) == count


@pytest.mark.parametrize(
    "query",
    [
        "status=done",
        "since=yesterday",
        "since=2026-11-21",
        "since=1700000000",
        "since=9999-12-31T23:59:59-14:00",
        "since=0001-01-01T00:00:00%2B14:00",
        "skill=%00",
        "since=",
        "status=",
        "skill=",
        "limit=0",
        "limit=201",
        "limit=ten",
        "limit=",
        "stauts=failed",
        "cursor=cD14eXo=",
        "cursor=cD0A",
        "cursor=cj0xJnA9MQ==",
        "cursor=%C3%A9",
    ],
)
@pytest.mark.req("X4")
def test_a_filter_that_cannot_be_read_is_named(query: str, api: Any, orchestrator: Agent) -> None:
    body = problem_of(api(orchestrator).get(f"/api/v1/executions/?{query}"), 400, "INVALID_INPUT")

    assert list(body["errors"]) == [query.split("=")[0]]


def test_an_execution_of_another_agent_does_not_exist(
    api: Any, orchestrator: Agent, outsider: Agent, make_skill: MakeSkill
) -> None:
    make_skill()
    mine = call(orchestrator, "probe")
    client = api(outsider)

    problem_of(client.get(f"/api/v1/executions/{mine.id}/"), 404, "NOT_FOUND")
    problem_of(client.post(f"/api/v1/executions/{mine.id}/cancel/"), 404, "NOT_FOUND")
    assert client.get("/api/v1/executions/").json()["results"] == []


def test_only_an_orchestrator_sees_another_profile(
    api: Any, orchestrator: Agent, cashier: Agent
) -> None:
    own = api(cashier).get("/api/v1/agents/me/").json()

    assert own["agent_id"] == str(cashier.id) and own["persona"]["name"] == "Cashier"
    problem_of(api(cashier).get(f"/api/v1/agents/{orchestrator.id}/"), 404, "NOT_FOUND")
    assert api(orchestrator).get(f"/api/v1/agents/{cashier.id}/").status_code == 200


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("get", "/api/v1/executions/"),
        ("get", "/api/v1/content/"),
        ("post", "/api/v1/content/"),
        ("post", "/api/v1/approvals/"),
        ("get", f"/api/v1/approvals/{uuid4()}/"),
        ("get", "/api/v1/agents/me/"),
        ("post", f"/api/v1/executions/{uuid4()}/cancel/"),
        ("get", "/api/v1/wallets/0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed/"),
    ],
)
def test_every_door_asks_for_its_scope(
    method: str, path: str, api: Any, orchestrator: Agent
) -> None:
    client = api(orchestrator, "skills:fetch_trends")

    problem_of(getattr(client, method)(path), 403, "FORBIDDEN")


@pytest.mark.parametrize("status", [Status.BLOCKED, Status.OUTCOME_UNKNOWN])
def test_what_is_not_finished_answers_202(
    status: str, api: Any, orchestrator: Agent, make_skill: MakeSkill
) -> None:
    make_skill()
    call(orchestrator, "probe", key="k")
    SkillExecution.objects.update(status=status)

    answer = api(orchestrator).post(
        URL, {"input": {}}, content_type="application/json", headers={"Idempotency-Key": "k"}
    )

    assert answer.status_code == 202 and answer.json()["status"] == status


# --- content --------------------------------------------------------------------------------------


def test_content_is_stored_read_by_all_and_revised_by_its_maker_alone(
    api: Any, orchestrator: Agent, outsider: Agent
) -> None:
    mine, theirs, made = api(orchestrator), api(outsider), package()
    created = mine.post("/api/v1/content/", made, content_type="application/json")
    path = f"/api/v1/content/{made['content_id']}/"
    change = {"captions": "A caption that is better than the first one."}

    assert created.status_code == 201 and created.json()["revision"] == 1
    assert theirs.get(path).json()["content"] == created.json()["content"]
    problem_of(theirs.patch(path, change, content_type="application/json"), 403, "FORBIDDEN")
    revised = mine.patch(path, change, content_type="application/json").json()
    assert revised["revision"] == 2 and revised["valid"] is None
    assert revised["content_sha256"] != created.json()["content_sha256"]
    again = mine.post("/api/v1/content/", made, content_type="application/json")
    problem_of(again, 409, "CONCURRENCY_ERROR")


def test_bad_content_names_its_fields_and_is_not_stored(api: Any, orchestrator: Agent) -> None:
    answer = api(orchestrator).post(
        "/api/v1/content/", package(script="short", hashtags=[]), content_type="application/json"
    )

    body = problem_of(answer, 400, "INVALID_CONTENT")
    assert set(body["errors"]) == {"script", "hashtags"}


@pytest.mark.parametrize("body", ["[]", '"text"', "7", "null"])
def test_a_revision_must_be_an_object(body: str, api: Any, orchestrator: Agent) -> None:
    content = stored(orchestrator)

    answer = api(orchestrator).patch(
        f"/api/v1/content/{content.id}/", body, content_type="application/json"
    )

    problem_of(answer, 400, "INVALID_CONTENT")


def test_a_revision_changes_something_but_never_the_id(api: Any, orchestrator: Agent) -> None:
    content, client = stored(orchestrator), api(orchestrator)
    path = f"/api/v1/content/{content.id}/"

    empty = client.patch(path, {}, content_type="application/json")
    other = client.patch(path, {"content_id": str(uuid4())}, content_type="application/json")

    assert "at least one field" in problem_of(empty, 400, "INVALID_CONTENT")["detail"]
    assert list(problem_of(other, 400, "INVALID_CONTENT")["errors"]) == ["content_id"]
    assert client.get(path).json()["revision"] == 1
