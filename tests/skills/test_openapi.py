"""The OpenAPI document against real answers: every list, and what stands alone."""

from typing import Any

import pytest
from drf_spectacular.generators import SchemaGenerator
from jsonschema import Draft202012Validator

from agents.models import Agent
from skills.workflows.definition import parse
from skills.workflows.services import builtin, run_start
from tests.helpers.calls import call, package
from tests.helpers.devnet import Devnet
from tests.skills.workflows.test_engine import driven
from wallets import ledger, services

pytestmark = [pytest.mark.django_db, pytest.mark.req("X4")]
API = "/api/v1"
LISTS = (
    "/content/",
    "/executions/",
    "/skills/",
    "/wallets/{address}/entries/",
    "/workflow-runs/",
    "/workflows/",
)
ALONE = (
    "/agents/me/",
    "/agents/{agent_id}/",
    "/content/{content_id}/",
    "/executions/{execution_id}/",
    "/skills/{name}/",
    "/wallets/{address}/",
    "/workflow-runs/{run_id}/",
)
NESTED = {
    "name": "nested",
    "steps": [
        {"branches": {"one": [{"skill_name": "echo"}], "two": [{"wait_seconds": 0}]}},
        {"for_each": "input.words", "steps": [{"skill_name": "echo"}]},
    ],
}


@pytest.fixture(scope="module")
def answers() -> dict[str, Any]:
    """The schema of 200 of every GET, by path."""
    found = {}
    for path, operations in (
        SchemaGenerator().get_schema(request=None, public=True)["paths"].items()
    ):
        content = operations.get("get", {}).get("responses", {}).get("200", {}).get("content", {})
        if "application/json" in content:
            found[path.removeprefix(API)] = content["application/json"]["schema"]
    return found


@pytest.fixture
def known(orchestrator: Agent, api: Any, devnet: Devnet) -> dict[str, Any]:
    """Something in every list; the parameters of the paths."""
    client, draft = api(orchestrator), package()
    for path, body in (("content", draft), ("workflows", NESTED)):
        posted = client.post(f"{API}/{path}/", body, content_type="application/json")
        assert posted.status_code == 201, posted.content
    wallet = services.wallet_open(agent=orchestrator, network="devnet")
    ledger.deposit(wallet=wallet, currency="USDC", amount=1, tx_hash="0x" + "c" * 64, log_index=0)
    call(orchestrator, "echo", n=1)
    definition = builtin()["handle-normalization"]
    run = driven(run_start(agent=orchestrator, definition=definition, data={"handle": "q"}))
    driven(run_start(agent=orchestrator, definition=parse(NESTED), data={}))
    return {
        "address": wallet.address,
        "agent_id": orchestrator.id,
        "content_id": draft["content_id"],
        "execution_id": call(orchestrator, "normalize_handle", handle="@Q").id,
        "name": "echo",
        "run_id": run.id,
    }


def test_the_lists_are_those_of_the_document(answers: dict[str, Any]) -> None:
    found = [path for path, schema in answers.items() if "results" in schema["properties"]]
    assert sorted(found) == sorted(LISTS)


@pytest.mark.parametrize("path", [*LISTS, *ALONE])
def test_a_real_answer_is_what_the_document_says(
    path: str, answers: dict[str, Any], known: dict[str, Any], api: Any, orchestrator: Agent
) -> None:
    schema, client = answers[path], api(orchestrator)
    body = client.get(API + path.format(**known)).json()

    Draft202012Validator(schema).validate(body)
    items = [(schema, body)]
    if path in LISTS:
        assert body["results"], "there is something to look at"
        items = [(schema["properties"]["results"]["items"], item) for item in body["results"]]
    for one, item in items:
        assert item.keys() <= one["properties"].keys()
        assert set(one["required"]) <= item.keys()
        for name, part in one["properties"].items():
            if name == "steps":
                assert len(part["items"]["properties"]) > 10, "a step is more than an object"


@pytest.mark.parametrize(
    ("many", "one"),
    [
        ("/content/", "/content/{content_id}/"),
        ("/executions/", "/executions/{execution_id}/"),
        ("/skills/", "/skills/{name}/"),
        ("/workflow-runs/", "/workflow-runs/{run_id}/"),
    ],
)
def test_an_item_of_a_list_is_what_stands_alone(
    many: str, one: str, answers: dict[str, Any]
) -> None:
    assert answers[many]["properties"]["results"]["items"] == answers[one]
