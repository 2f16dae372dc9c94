"""What every answer of the REST doors keeps: problem documents, exact numbers, the OpenAPI document."""

from decimal import Decimal
from typing import Any
from uuid import uuid4

import pytest
from django.core.management import call_command
from django.test import Client

from agents.models import Agent
from chimera.core.jsontext import loads
from skills.models import SkillExecution
from tests.helpers.problems import problem_of

URL = "/api/v1/skills/probe/executions/"


# --- problem documents ----------------------------------------------------------------------------


def deep(levels: int) -> bytes:
    """A body of so many levels, with brackets in a text that do not count."""
    inner = levels - 2
    return ('{"input": {"word": "\\"[[{", "deep": ' + "[" * inner + "]" * inner + "}}").encode()


@pytest.mark.parametrize(
    ("body", "kind", "status", "code"),
    [
        (b"{", "application/json", 400, "MALFORMED_JSON"),
        (b"", "application/json", 400, "INVALID_INPUT"),
        (b"\xff\xfe", "application/json", 400, "MALFORMED_JSON"),
        (b'{"input": {}, "input": {}}', "application/json", 400, "MALFORMED_JSON"),
        (b'{"input": {"word": NaN}}', "application/json", 400, "MALFORMED_JSON"),
        (deep(64), "application/json", 400, "INVALID_INPUT"),
        (deep(65), "application/json", 400, "MALFORMED_JSON"),
        (deep(900), "application/json", 400, "MALFORMED_JSON"),
        (deep(100_000), "application/json", 400, "MALFORMED_JSON"),
        (b"[{" * 100_000, "application/json", 400, "MALFORMED_JSON"),
        (b'{"input": {"word": "\\ud800"}}', "application/json", 400, "INVALID_INPUT"),
        (b'{"input": {"wo\\u0000rd": "x"}}', "application/json", 400, "INVALID_INPUT"),
        (b"input=1", "application/x-www-form-urlencoded", 415, "UNSUPPORTED_MEDIA_TYPE"),
        (b"<a/>", "text/xml", 415, "UNSUPPORTED_MEDIA_TYPE"),
        (b" " * (2 * 1024 * 1024 + 1), "application/json", 413, "PAYLOAD_TOO_LARGE"),
    ],
    ids=lambda value: str(value)[:24],
)
@pytest.mark.req("X4")
def test_a_body_that_cannot_be_read_is_a_problem_document(
    body: bytes,
    kind: str,
    status: int,
    code: str,
    api: Any,
    orchestrator: Agent,
    make_skill: Any,
) -> None:
    make_skill()

    problem_of(api(orchestrator).post(URL, body, content_type=kind), status, code)
    assert not SkillExecution.objects.exists()


@pytest.mark.parametrize("accept", ["text/html", "application/problem+json", "image/png", "x"])
@pytest.mark.req("X4")
def test_every_answer_is_json_whatever_is_accepted(
    accept: str, api: Any, orchestrator: Agent
) -> None:
    client = api(orchestrator)

    assert client.get("/api/v1/agents/me/", headers={"Accept": accept}).status_code == 200
    problem_of(
        client.get("/api/v1/skills/nope/", headers={"Accept": accept}), 404, "SKILL_NOT_FOUND"
    )


@pytest.mark.parametrize("path", ["/api/v1/nope/", "/api/", "/api/v1/executions/7/", "/oauth/x"])
@pytest.mark.req("X4")
def test_an_unknown_path_is_a_problem(path: str, db: None) -> None:
    problem_of(Client().get(path), 404, "NOT_FOUND")


@pytest.mark.parametrize("method", ["put", "delete", "patch"])
@pytest.mark.req("X4")
def test_a_wrong_method_is_a_problem(method: str, api: Any, orchestrator: Agent) -> None:
    answer = getattr(api(orchestrator), method)("/api/v1/skills/")

    problem_of(answer, 405, "METHOD_NOT_ALLOWED")
    assert "GET" in answer.headers["Allow"]


# --- exact numbers --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sent", "returned"),
    [
        ("0.30000000000000004", b"0.30000000000000004"),
        ("25.10", b"25.10"),
        ('"25.10"', b"25.10"),
        ("1.123456789012345678", b"1.123456789012345678"),
        ("12345678901.123456789012345678", b"12345678901.123456789012345678"),
    ],
)
@pytest.mark.req("A9.1")
def test_an_amount_keeps_every_digit(sent: str, returned: bytes, api: Any, cashier: Agent) -> None:
    body = f"""{{"input": {{"wallet_address": "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed",
        "amount": {sent}, "currency": "ETH", "tx_description": "x",
        "idempotency_key": "{uuid4()}"}}}}"""

    answer = api(cashier).post(
        "/api/v1/skills/debit_wallet/executions/", body, content_type="application/json"
    )

    assert answer.status_code == 202, answer.content
    assert b'"amount":' + returned in answer.content
    kept = SkillExecution.objects.get().input["amount"]
    assert kept == Decimal(returned.decode()) and loads(answer.content)["input"]["amount"] == kept


# --- OpenAPI --------------------------------------------------------------------------------------


@pytest.mark.req("X4")
def test_the_openapi_document_is_valid_and_without_warnings(tmp_path: Any) -> None:
    call_command("spectacular", file=str(tmp_path / "s.yml"), validate=True, fail_on_warn=True)

    assert (tmp_path / "s.yml").read_text().startswith("openapi: 3.1")


def test_the_schema_and_its_page_are_served(client: Client) -> None:
    assert client.get("/api/schema/").status_code == 200
    assert client.get("/api/docs/").status_code == 200
