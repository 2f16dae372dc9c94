"""Workflows over REST."""

import time
from datetime import timedelta
from typing import Any

import pytest

from agents.models import Agent
from chimera.core.clock import now
from chimera.core.errors import ChimeraError
from skills.workflows.definition import parse
from skills.workflows.models import StoredWorkflow, WorkflowRun
from skills.workflows.services import run_start
from tests.skills.workflows.test_engine import driven

pytestmark = [pytest.mark.django_db, pytest.mark.req("W2")]
JSON = {"content_type": "application/json"}
PROBE = {"name": "probe", "steps": [{"skill_name": "probe"}]}
FLOW = {"name": "tidy", "steps": [{"skill_name": "echo"}, {"skill_name": "normalize_handle"}]}


def test_a_workflow_is_stored_run_and_read(api: Any, orchestrator: Agent) -> None:
    client = api(orchestrator)

    assert client.post("/api/v1/workflows/", FLOW, **JSON).status_code == 201
    started = client.post("/api/v1/workflows/tidy/runs/", {"input": {"handle": "@Q"}}, **JSON)
    assert started.status_code == 202
    driven(WorkflowRun.objects.get())
    run = client.get(started["Location"]).json()

    assert (run["status"], run["output"]) == ("completed", {"handle": "q"})
    assert [(s["skill_name"], s["status"]) for s in run["steps"]] == [
        ("echo", "succeeded"),
        ("normalize_handle", "succeeded"),
    ]
    assert client.get("/api/v1/workflow-runs/").json()["results"][0]["id"] == run["id"]
    names = [one["name"] for one in client.get("/api/v1/workflows/").json()["results"]]
    assert {"tidy", "trend-to-post", "handle-normalization"} <= set(names)


def test_a_version_is_never_changed(api: Any, orchestrator: Agent) -> None:
    client = api(orchestrator)
    client.post("/api/v1/workflows/", FLOW, **JSON)

    again = client.post("/api/v1/workflows/", FLOW | {"description": "other"}, **JSON)

    assert (again.status_code, again.json()["code"]) == (409, "CONCURRENCY_ERROR")
    assert StoredWorkflow.objects.get().definition.get("description", "") == ""


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"input": []}, "input"),
        ({"version": "1"}, "version"),
        ({"version": True}, "version"),
        ({"surprise": 1}, "surprise"),
        ({"input": {"a": ["\0"]}}, "input.a.0"),
    ],
)
def test_a_bad_start_is_refused_by_field(
    body: dict[str, Any], field: str, api: Any, orchestrator: Agent
) -> None:
    answer = api(orchestrator).post("/api/v1/workflows/handle-normalization/runs/", body, **JSON)

    assert answer.status_code == 400 and field in answer.json()["errors"]
    assert not WorkflowRun.objects.exists()


@pytest.mark.parametrize(("name", "there"), [("tidy", "2, 1"), ("handle-normalization", "1")])
def test_a_version_that_is_none_is_answered_with_those_there_are(
    name: str, there: str, api: Any, orchestrator: Agent
) -> None:
    client = api(orchestrator)
    for version in (1, 2):
        client.post("/api/v1/workflows/", FLOW | {"version": version}, **JSON)

    answer = client.post(f"/api/v1/workflows/{name}/runs/", {"version": 99}, **JSON)

    assert answer.status_code == 404
    assert answer.json()["detail"] == f"{name} has no version 99; there are {there}"


@pytest.mark.parametrize(
    ("query", "count"),
    [
        ("workflow=handle-normalization", 1),
        ("workflow=tidy", 2),
        ("status=completed", 1),
        ("status=queued&status=completed", 3),
        ("status=completed&workflow=tidy", 0),
    ],
)
def test_filters_of_the_runs(query: str, count: int, api: Any, orchestrator: Agent) -> None:
    client = api(orchestrator)
    client.post("/api/v1/workflows/", FLOW, **JSON)
    client.post("/api/v1/workflows/handle-normalization/runs/", {"input": {"handle": "q"}}, **JSON)
    driven(WorkflowRun.objects.get())
    for _ in range(2):
        client.post("/api/v1/workflows/tidy/runs/", {}, **JSON)

    page = client.get(f"/api/v1/workflow-runs/?{query}").json()["results"]
    assert len(page) == count


@pytest.mark.parametrize("query", ["status=done", "workflow=", "skill=echo", "statuss=failed"])
def test_a_filter_of_the_runs_that_there_is_not_is_named(
    query: str, api: Any, orchestrator: Agent
) -> None:
    answer = api(orchestrator).get(f"/api/v1/workflow-runs/?{query}")

    assert (answer.status_code, answer.json()["code"]) == (400, "INVALID_INPUT")
    assert list(answer.json()["errors"]) == [query.split("=")[0]]


def test_a_key_begins_one_run_for_one_body(api: Any, orchestrator: Agent, outsider: Agent) -> None:
    client, path = api(orchestrator), "/api/v1/workflows/handle-normalization/runs/"
    body = {"input": {"handle": "@Q"}}
    keyed = JSON | {"headers": {"Idempotency-Key": "run-1"}}

    first = client.post(path, body, **keyed)
    second = client.post(path, body, **keyed)
    other = client.post(path, body | {"version": 1}, **keyed)

    assert (first.status_code, second.status_code) == (202, 202)
    assert first.json()["id"] == second.json()["id"]
    assert (first.get("Idempotency-Replayed"), second["Idempotency-Replayed"]) == (None, "true")
    assert (other.status_code, other.json()["code"]) == (409, "IDEMPOTENCY_CONFLICT")
    assert WorkflowRun.objects.count() == 1

    driven(WorkflowRun.objects.get())
    third = client.post(path, body, **keyed)
    assert (third.status_code, third.json()["output"]) == (200, {"handle": "q"})
    assert api(outsider).post(path, body, **keyed).json()["id"] != first.json()["id"]


def test_a_key_of_the_past_begins_a_new_run_and_a_bad_one_none(
    api: Any, orchestrator: Agent
) -> None:
    client, path = api(orchestrator), "/api/v1/workflows/handle-normalization/runs/"
    keyed = JSON | {"headers": {"Idempotency-Key": "run-1"}}
    client.post(path, {"input": {"handle": "@Q"}}, **keyed)
    driven(WorkflowRun.objects.get())
    WorkflowRun.objects.update(created_at=now() - timedelta(days=31))

    assert client.post(path, {"input": {"handle": "@R"}}, **keyed).status_code == 202
    bad = client.post(path, {}, **JSON | {"headers": {"Idempotency-Key": "x" * 201}})
    assert bad.status_code == 400 and "Idempotency-Key" in bad.json()["errors"]
    assert WorkflowRun.objects.count() == 2


def test_who_is_willing_to_wait_reads_a_run_once_it_stops(api: Any, orchestrator: Agent) -> None:
    client = api(orchestrator)
    ask = {"name": "ask", "steps": [{"approval": {"question": "Go on?"}}]}
    client.post("/api/v1/workflows/", ask, **JSON)
    started = client.post("/api/v1/workflows/ask/runs/", {}, **JSON)
    driven(WorkflowRun.objects.get())

    begun = time.monotonic()
    waited = client.get(started["Location"], headers={"Prefer": "wait=30"})

    assert waited.json()["status"] == "blocked" and time.monotonic() - begun < 10


def test_others_see_nothing_of_a_run_and_cannot_end_it(
    api: Any, orchestrator: Agent, outsider: Agent
) -> None:
    started = api(orchestrator).post("/api/v1/workflows/handle-normalization/runs/", {}, **JSON)
    where, stranger = started["Location"], api(outsider)

    assert stranger.get(where).status_code == 404
    assert stranger.post(f"{where}cancel/").status_code == 404
    assert stranger.post(f"{where}resume/").status_code == 404
    assert WorkflowRun.objects.get().status == "queued"


def test_a_start_counts_as_a_call(api: Any, orchestrator: Agent, settings: Any) -> None:
    limit = {"chimera_rate_limit": 2}
    settings.CHIMERA = settings.CHIMERA.model_copy(update=limit)
    client = api(orchestrator)
    path = "/api/v1/workflows/handle-normalization/runs/"

    statuses = [client.post(path, {}, **JSON).status_code for _ in range(3)]

    assert statuses == [202, 202, 429]


def test_to_go_on_with_a_run_counts_as_a_call(
    api: Any, orchestrator: Agent, settings: Any, make_skill: Any
) -> None:
    settings.CHIMERA = settings.CHIMERA.model_copy(update={"chimera_rate_limit": 2})
    calls = make_skill(ChimeraError("FORBIDDEN"))
    run = run_start(agent=orchestrator, definition=parse(PROBE), data={})
    statuses = []

    for _ in range(3):
        driven(run)
        path = f"/api/v1/workflow-runs/{run.id}/resume/"
        statuses.append(api(orchestrator).post(path).status_code)

    assert statuses == [200, 200, 429] and len(calls) == 3
    run.refresh_from_db()
    assert run.status == "failed"


def test_a_token_without_a_skills_scope_cannot_run_it_in_a_workflow(
    api: Any, orchestrator: Agent
) -> None:
    client = api(orchestrator, scope="workflows:run skills:echo")

    answer = client.post("/api/v1/workflows/handle-normalization/runs/", {}, **JSON)

    assert answer.status_code == 403 and "normalize_handle" in answer.json()["detail"]
    assert not WorkflowRun.objects.exists()
