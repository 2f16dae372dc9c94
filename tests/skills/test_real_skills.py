"""The eight skills against the sandbox world and the embedded chain, and what they refuse."""

from datetime import timedelta
from decimal import Decimal
from typing import Any
from uuid import uuid4

import pytest
from django.contrib.auth.models import User

from agents.models import Agent
from agents.services import default_persona
from approvals.models import ApprovalRequest
from approvals.models import Status as ApprovalStatus
from approvals.services import request_changes, request_expire, request_reject
from chimera.core.clock import iso, now
from chimera.core.jsontext import plain
from content.models import ContentPackage, Validation
from skills import runner, tasks
from skills.models import SkillExecution, Status
from tests.helpers.calls import call, drive, package, payment, sign, stored, trend
from tests.helpers.devnet import Devnet
from tests.helpers.world import arm_fault
from wallets.models import Debit, Transfer, Wallet

NOBODY = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"


def persona(agent: Agent) -> dict[str, Any]:
    return dict(plain(agent.persona.as_dict()))


# --- happy paths ----------------------------------------------------------------------------------


@pytest.mark.req("A1.1", "A1.2", "A1.3")
def test_trends_come_from_the_world_and_then_from_the_cache(
    sandbox: str, orchestrator: Agent
) -> None:
    first = call(orchestrator, "fetch_trends", platform="twitter", limit=5)
    second = call(orchestrator, "fetch_trends", platform="twitter", limit=5)

    assert first.status == Status.COMPLETED, first.error
    assert 1 <= first.output["count"] == len(first.output["trends"]) <= 5
    assert all(item["engagement"]["engagement_score"] >= 10000 for item in first.output["trends"])
    assert (first.cached, second.cached) == (False, True) and second.output == first.output
    assert first.input["timeWindow"] == "24h" and first.input["excludeTopics"] == []


@pytest.mark.req("A2.1", "A2.4")
def test_relevant_trends_are_kept_in_the_same_order_every_time(
    orchestrator: Agent, time_machine: Any
) -> None:
    time_machine.move_to(now(), tick=False)  # freshness is reckoned anew at every moment
    trends = [trend(), trend(topic="Interest rates in Norway")]
    data = {
        "trends": trends,
        "campaign_goals": ["Addis street style"],
        "relevance_threshold": 0.5,
    }

    first = call(orchestrator, "semantic_filter", **data)
    SkillExecution.objects.all().delete()
    second = call(orchestrator, "semantic_filter", **data)

    assert first.status == Status.COMPLETED, first.error
    assert first.output["filtered_trends"] == second.output["filtered_trends"]
    assert [kept["trend"]["topic"] for kept in first.output["filtered_trends"]] == [
        "Addis street style is back"
    ]
    assert (first.output["total_input"], first.output["total_output"]) == (2, 1)


@pytest.mark.req("A3.1", "A3.3", "A3.10", "B1.2")
def test_a_package_with_media_is_made_and_stored_with_its_trend(
    sandbox: str, orchestrator: Agent
) -> None:
    source = trend()

    execution = call(
        orchestrator,
        "generate_content",
        trend=source,
        persona=persona(orchestrator),
        platform="twitter",
        content_type="single_post",
    )

    assert execution.status == Status.COMPLETED, execution.error
    made = execution.output["content"]
    kept = ContentPackage.objects.get(id=made["content_id"])
    assert made["media_urls"][0].startswith(sandbox) and made["media_metadata"][0]["sha256"]
    assert [str(item.id) for item in kept.trends.all()] == [source["trend_id"]]
    assert kept.current.data["captions"] == made["captions"] and not kept.publications.exists()


@pytest.mark.req("A3.7")
def test_without_media_the_package_goes_on_with_a_warning(
    sandbox: str, orchestrator: Agent
) -> None:
    arm_fault(sandbox, "media", "down", 9)

    execution = call(
        orchestrator,
        "generate_content",
        trend=trend(),
        persona=persona(orchestrator),
        platform="twitter",
    )

    assert execution.status == Status.COMPLETED and execution.output["content"]["media_urls"] == []
    assert "MEDIA_GENERATION_FAILED" in execution.warnings


@pytest.mark.req("A3.5")
def test_the_same_input_gives_the_same_structure(orchestrator: Agent) -> None:
    data = {
        "trend": trend(),
        "persona": persona(orchestrator),
        "platform": "twitter",
        "media_generation": False,
    }
    one, two = (call(orchestrator, "generate_content", **data).output["content"] for _ in "ab")

    assert len(one["hashtags"]) == len(two["hashtags"])
    assert abs(len(one["script"]) - len(two["script"])) <= 0.1 * len(one["script"])
    assert one["content_id"] != two["content_id"]


@pytest.mark.req("A4.1")
def test_a_clean_package_is_valid_and_the_verdict_is_kept(orchestrator: Agent) -> None:
    content = stored(orchestrator)
    Validation.objects.all().delete()

    execution = call(orchestrator, "validate_content", content=content.current.data)

    assert execution.status == Status.COMPLETED and execution.output["valid"] is True
    assert Validation.objects.get().revision == content.current


@pytest.mark.req("A4.4", "A4.7")
def test_a_package_that_breaks_a_rule_completes_as_not_valid(orchestrator: Agent) -> None:
    bad = package(captions="You stupid fucking idiots, buy this now or be sorry for ever.")

    execution = call(orchestrator, "validate_content", content=bad)

    assert execution.status == Status.COMPLETED and execution.output["valid"] is False
    assert execution.output["requires_human_review"] and execution.output["issues"]


@pytest.mark.req("A4.2")
def test_a_rule_family_that_is_off_finds_nothing(orchestrator: Agent) -> None:
    bad = package(captions="You stupid fucking idiots, buy this now or be sorry for ever.")
    off = {"check_offensive_language": False}

    execution = call(orchestrator, "validate_content", content=bad, validation_rules=off)

    assert not [found for found in execution.output["issues"] if "offensive" in found["rule"]]


@pytest.mark.req("A6.1", "A6.3")
def test_a_profile_is_read_and_kept_for_ten_seconds(
    orchestrator: Agent, outsider: Agent, time_machine: Any
) -> None:
    time_machine.move_to(now(), tick=False)
    first = call(orchestrator, "get_agent_profile", agent_id=str(outsider.id))
    Agent.objects.filter(id=outsider.id).update(status="paused")
    second = call(orchestrator, "get_agent_profile", agent_id=str(outsider.id))
    time_machine.shift(11)
    third = call(orchestrator, "get_agent_profile", agent_id=str(outsider.id))

    assert first.output["name"] == "Outsider" and second.cached
    assert second.output["status"] == "active" and third.output["status"] == "paused"


@pytest.mark.req("A6.5")
def test_the_profile_of_nobody_is_404(orchestrator: Agent) -> None:
    execution = call(orchestrator, "get_agent_profile", agent_id=str(uuid4()))

    assert execution.error["code"] == "AGENT_NOT_FOUND" and execution.error["http_status"] == 404


@pytest.mark.req("A8.1", "A8.2", "A8.3")
def test_a_balance_is_read_from_the_chain_exactly(purse: Wallet, cashier: Agent) -> None:
    first = call(cashier, "fetch_wallet_balance", wallet_address=purse.address)
    second = call(cashier, "fetch_wallet_balance", wallet_address=purse.address.lower())

    assert first.status == Status.COMPLETED, first.error
    assert first.output["balance"] == Decimal(100) and first.output["network"] == "devnet"
    assert second.cached, "the address is the same in every spelling"


@pytest.mark.req("A8.4")
def test_a_chain_that_is_down_gives_the_old_balance_with_a_warning(
    purse: Wallet, cashier: Agent, settings: Any, time_machine: Any
) -> None:
    call(cashier, "fetch_wallet_balance", wallet_address=purse.address)
    dead = {"devnet": "http://127.0.0.1:9"}
    settings.CHIMERA = settings.CHIMERA.model_copy(update={"rpc_urls": dead})
    time_machine.move_to(now() + timedelta(seconds=31))

    execution = call(cashier, "fetch_wallet_balance", wallet_address=purse.address)

    assert execution.status == Status.COMPLETED and execution.warnings == ["STALE_CACHE"]
    assert execution.output["balance"] == Decimal(100)


# --- paying ---------------------------------------------------------------------------------------


@pytest.fixture
def blocked(purse: Wallet, cashier: Agent, approval_key: Any) -> SkillExecution:
    """A payment of 2.50 USDC that waits for a person."""
    return call(cashier, "debit_wallet", **payment(purse))


def _request(execution: SkillExecution) -> ApprovalRequest:
    return ApprovalRequest.objects.get(id=execution.approval_id)


@pytest.mark.req("A9.1", "A9.7", "C5")
def test_a_payment_waits_for_a_person_and_goes_on_by_itself(
    blocked: SkillExecution, reviewer: User, purse: Wallet, devnet: Devnet
) -> None:
    assert blocked.status == Status.BLOCKED and not Debit.objects.exists()

    sign(_request(blocked), reviewer)
    runner.resume(blocked.approval_id)
    drive(blocked)

    assert blocked.status == Status.COMPLETED, blocked.error
    assert blocked.output["amount_deducted"] == Decimal("2.5")
    assert blocked.output["new_balance"] == Decimal("97.5")
    receipt = devnet.rpc("eth_getTransactionReceipt", blocked.output["tx_id"])
    assert int(receipt["status"], 16) == 1
    assert _request(blocked).status == ApprovalStatus.CONSUMED


@pytest.mark.parametrize(
    ("decide", "status"),
    [(request_reject, "rejected"), (request_changes, "changes_requested")],
)
@pytest.mark.req("A9.7", "C5")
def test_a_payment_that_a_person_refused_fails_with_the_reason_and_moves_nothing(
    decide: Any, status: str, blocked: SkillExecution, reviewer: User
) -> None:
    request = _request(blocked)
    decide(
        request_id=request.id,
        reviewer=reviewer,
        reason="Too much",
        shown_digest=request.action_digest,
    )

    runner.resume(request.id)
    blocked.refresh_from_db()

    assert blocked.status == Status.FAILED and blocked.error["details"]["approval_status"] == status
    assert "Too much" in blocked.error["message"]
    assert not Debit.objects.exists() and not Transfer.objects.filter(kind="debit").exists()


@pytest.mark.req("A9.7")
def test_a_payment_that_nobody_decided_ends_when_its_request_expires(
    blocked: SkillExecution,
) -> None:
    request_expire(_request(blocked))

    tasks.sweep()
    blocked.refresh_from_db()

    assert blocked.status == Status.FAILED and not Debit.objects.exists()
    assert blocked.error["details"]["approval_status"] == "expired"


@pytest.mark.req("X3")
def test_a_signature_whose_wake_up_was_lost_is_found_by_the_sweep(
    blocked: SkillExecution, reviewer: User
) -> None:
    sign(_request(blocked), reviewer)

    tasks.sweep()
    drive(blocked)

    assert blocked.status == Status.COMPLETED and Debit.objects.count() == 1


@pytest.mark.req("A9.2", "A0.8")
def test_a_paid_key_called_again_charges_nothing(
    blocked: SkillExecution, reviewer: User, cashier: Agent
) -> None:
    sign(_request(blocked), reviewer)
    runner.resume(blocked.approval_id)
    drive(blocked)
    body = {key: value for key, value in blocked.input.items() if value is not None}

    second = call(cashier, "debit_wallet", **body)

    assert second.id == blocked.id and Debit.objects.count() == 1


@pytest.mark.req("A9.3")
def test_more_than_there_is_is_refused_before_a_person_is_asked(
    purse: Wallet, cashier: Agent
) -> None:
    execution = call(cashier, "debit_wallet", **payment(purse, amount="100.01"))

    assert execution.error["code"] == "INSUFFICIENT_BALANCE"
    assert execution.error["http_status"] == 402
    assert not ApprovalRequest.objects.exists() and not Debit.objects.exists()


@pytest.mark.req("A9.7")
def test_a_bad_token_pays_nothing_and_leaves_the_key_usable(purse: Wallet, cashier: Agent) -> None:
    body = payment(purse)

    refused = call(cashier, "debit_wallet", **body, approval_token="not.a.token")

    assert refused.error["code"] == "INVALID_TOKEN" and not Debit.objects.exists()
    assert call(cashier, "debit_wallet", **body).status == Status.BLOCKED


def test_a_payment_whose_money_is_held_cannot_be_cancelled(
    blocked: SkillExecution, reviewer: User, api: Any, cashier: Agent
) -> None:
    sign(_request(blocked), reviewer)
    ApprovalRequest.objects.update(status="consumed", consumed_by=blocked.id)
    SkillExecution.objects.update(status=Status.RETRYING)

    answer = api(cashier).post(f"/api/v1/executions/{blocked.id}/cancel/")

    assert answer.status_code == 409
    blocked.refresh_from_db()
    assert blocked.status == Status.RETRYING


# --- refusals -------------------------------------------------------------------------------------

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
