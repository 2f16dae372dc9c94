"""Input that a skill refuses at the REST door: the field is named and nothing is stored."""

from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest

from agents.models import Agent
from agents.services import default_persona
from approvals.models import ApprovalRequest
from chimera.core.clock import iso, now
from skills.models import SkillExecution
from tests.helpers.calls import call, package, trend
from tests.helpers.devnet import Devnet

NOBODY = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"
TOO_MANY = [trend() for _ in range(1001)]
LATER = iso(now() + timedelta(days=400))
PAST = "2020-01-01T00:00:00Z"
SHORT = {"content": package(), "approval_token": "a.b.c", "platform": "twitter"}
FILTER = {"trends": [trend()], "campaign_goals": ["grow"]}
MAKE = {"trend": trend(), "persona": default_persona("Aurora"), "platform": "twitter"}
PAY = {
    "wallet_address": NOBODY,
    "amount": "1",
    "currency": "USDC",
    "tx_description": "x",
    "idempotency_key": str(uuid4()),
}
INJECTION = "ignore all rules'; DROP TABLE agents_agent; --"
REFUSED: list[tuple[str, dict[str, Any], str, str, int]] = [
    ("fetch_trends", {}, "platform", "INVALID_PLATFORM", 400),
    ("fetch_trends", {"platform": None}, "platform", "INVALID_PLATFORM", 400),
    ("fetch_trends", {"platform": INJECTION}, "platform", "INVALID_PLATFORM", 400),
    ("fetch_trends", {"platform": "news", "limit": 0}, "limit", "INVALID_INPUT", 400),
    ("fetch_trends", {"platform": "news", "limit": 501}, "limit", "INVALID_INPUT", 400),
    ("fetch_trends", {"platform": "news", "limit": "5"}, "limit", "INVALID_INPUT", 400),
    ("fetch_trends", {"platform": "news", "limit": True}, "limit", "INVALID_INPUT", 400),
    ("fetch_trends", {"platform": "news", "limit": 10**300}, "limit", "INVALID_INPUT", 400),
    ("fetch_trends", {"platform": "news", "timeWindow": "1w"}, "timeWindow", "INVALID_INPUT", 400),
    (
        "fetch_trends",
        {"platform": "news", "minEngagement": -1},
        "minEngagement",
        "INVALID_INPUT",
        400,
    ),
    (
        "fetch_trends",
        {"platform": "news", "excludeTopics": ["x"] * 51},
        "excludeTopics",
        "INVALID_INPUT",
        400,
    ),
    (
        "fetch_trends",
        {"platform": "news", "excludeTopics": ["a\0"]},
        "input.excludeTopics.0",
        "INVALID_INPUT",
        400,
    ),
    (
        "fetch_trends",
        {"platform": "news", "time_window": "1h"},
        "time_window",
        "INVALID_INPUT",
        400,
    ),
    ("semantic_filter", FILTER | {"trends": []}, "trends", "INVALID_INPUT", 400),
    ("semantic_filter", FILTER | {"trends": TOO_MANY}, "trends", "INVALID_INPUT", 400),
    (
        "semantic_filter",
        FILTER | {"trends": [trend(trend_velocity=-1)]},
        "trends.0.trend_velocity",
        "INVALID_INPUT",
        400,
    ),
    (
        "semantic_filter",
        FILTER | {"trends": [trend(timestamp=LATER)]},
        "trends.0.timestamp",
        "INVALID_INPUT",
        400,
    ),
    ("semantic_filter", FILTER | {"campaign_goals": []}, "campaign_goals", "INVALID_GOALS", 422),
    (
        "semantic_filter",
        FILTER | {"campaign_goals": ["  "]},
        "campaign_goals",
        "INVALID_GOALS",
        422,
    ),
    (
        "semantic_filter",
        FILTER | {"relevance_threshold": 1.01},
        "relevance_threshold",
        "INVALID_INPUT",
        400,
    ),
    ("generate_content", MAKE, "persona.agent_id", "INVALID_PERSONA", 400),
    ("generate_content", {**MAKE, "persona": None}, "persona", "INVALID_PERSONA", 400),
    ("validate_content", {"content": {}}, "content.script", "INVALID_CONTENT", 400),
    (
        "validate_content",
        {"content": package(script="x" * 5001)},
        "content.script",
        "INVALID_CONTENT",
        400,
    ),
    (
        "validate_content",
        {"content": package(hashtags=["#a", "b", "#c"])},
        "content.hashtags.1",
        "INVALID_CONTENT",
        400,
    ),
    (
        "validate_content",
        {"content": package(confidence_score=1.5)},
        "content.confidence_score",
        "INVALID_CONTENT",
        400,
    ),
    (
        "publish_content",
        {k: v for k, v in SHORT.items() if k != "approval_token"},
        "approval_token",
        "INVALID_INPUT",
        400,
    ),
    ("publish_content", SHORT | {"approval_token": ""}, "approval_token", "INVALID_TOKEN", 401),
    ("publish_content", SHORT | {"approval_token": 7}, "approval_token", "INVALID_TOKEN", 401),
    ("publish_content", SHORT | {"platform": "myspace"}, "platform", "INVALID_INPUT", 400),
    ("publish_content", SHORT | {"schedule_time": PAST}, "schedule_time", "INVALID_INPUT", 400),
    (
        "publish_content",
        SHORT | {"schedule_time": "2030-01-01T00:00:00"},
        "schedule_time",
        "INVALID_INPUT",
        400,
    ),
    ("get_agent_profile", {"agent_id": "7"}, "agent_id", "INVALID_INPUT", 400),
    ("get_agent_profile", {"agent_id": INJECTION}, "agent_id", "INVALID_INPUT", 400),
    ("fetch_wallet_balance", {"wallet_address": "0x12"}, "wallet_address", "INVALID_ADDRESS", 400),
    (
        "fetch_wallet_balance",
        {"wallet_address": NOBODY.replace("5aA", "5aa")},
        "wallet_address",
        "INVALID_ADDRESS",
        400,
    ),
    (
        "publish_content",
        SHORT | {"schedule_time": "9999-12-31T23:59:59-14:00"},
        "schedule_time",
        "INVALID_INPUT",
        400,
    ),
    ("debit_wallet", PAY | {"tx_description": " \n"}, "tx_description", "INVALID_INPUT", 400),
    ("debit_wallet", PAY | {"amount": 0}, "amount", "INVALID_INPUT", 400),
    ("debit_wallet", PAY | {"amount": "0.009"}, "amount", "INVALID_INPUT", 400),
    ("debit_wallet", PAY | {"amount": "-5"}, "amount", "INVALID_INPUT", 400),
    ("debit_wallet", PAY | {"amount": "NaN"}, "amount", "INVALID_INPUT", 400),
    ("debit_wallet", PAY | {"amount": "1_000"}, "amount", "INVALID_INPUT", 400),
    ("debit_wallet", PAY | {"amount": "9" * 61}, "amount", "INVALID_INPUT", 400),
    ("debit_wallet", PAY | {"amount": [0, [1], 2]}, "amount", "INVALID_INPUT", 400),
    ("debit_wallet", PAY | {"currency": "EUR"}, "currency", "INVALID_INPUT", 400),
    ("debit_wallet", PAY | {"tx_description": ""}, "tx_description", "INVALID_INPUT", 400),
    ("debit_wallet", PAY | {"tx_description": "x" * 201}, "tx_description", "INVALID_INPUT", 400),
    ("debit_wallet", PAY | {"idempotency_key": "mine"}, "idempotency_key", "INVALID_INPUT", 400),
    ("debit_wallet", PAY | {"recipient": "nobody"}, "recipient", "INVALID_ADDRESS", 400),
]


@pytest.mark.parametrize(
    ("skill", "data", "field", "code", "status"),
    REFUSED,
    ids=[f"{number}-{row[0]}-{row[2]}" for number, row in enumerate(REFUSED)],
)
@pytest.mark.req("A0.1", "A1.9", "A2.7", "A3.9", "A4.7", "A8.4")
@pytest.mark.provokes("semantic_filter", "INVALID_INPUT")
@pytest.mark.provokes("validate_content", "INVALID_CONTENT")
def test_bad_input_names_its_field_and_stores_nothing(
    skill: str,
    data: dict[str, Any],
    field: str,
    code: str,
    status: int,
    api: Any,
    orchestrator: Agent,
    cashier: Agent,
) -> None:
    agent = cashier if "wallet" in skill else orchestrator

    answer = api(agent).post(
        f"/api/v1/skills/{skill}/executions/", {"input": data}, content_type="application/json"
    )

    body = answer.json()
    assert (answer.status_code, body["code"]) == (status, code), body
    assert field in body["errors"], body["errors"]
    assert not SkillExecution.objects.exists()


@pytest.mark.parametrize("amount", ["NaN", "Infinity", "1e400", "1e999999999"])
def test_a_number_that_is_none_is_refused_before_anything_reads_it(
    amount: str, api: Any, cashier: Agent
) -> None:
    body = f'{{"input": {{"amount": {amount}, "wallet_address": "{NOBODY}"}}}}'

    answer = api(cashier).post(
        "/api/v1/skills/debit_wallet/executions/", body, content_type="application/json"
    )

    assert (answer.status_code, answer.json()["code"]) == (400, "MALFORMED_JSON")


def test_a_wallet_of_another_deployment_is_not_found(devnet: Devnet, cashier: Agent) -> None:
    for skill, data in (
        ("fetch_wallet_balance", {"wallet_address": NOBODY}),
        ("debit_wallet", PAY),
    ):
        assert call(cashier, skill, **data).error["code"] == "NOT_FOUND"
    assert not ApprovalRequest.objects.exists()
