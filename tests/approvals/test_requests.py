"""Asking for an approval: what is frozen, which lane it takes, who may see the answer."""

from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.contrib.auth.models import User
from django.test import Client

from agents.models import Agent
from approvals import services
from approvals.models import ApprovalRequest, ApprovalToken, LowConfidenceAttempt, Status
from chimera.core.clock import now
from chimera.core.digest import digest
from chimera.core.errors import ChimeraError
from chimera.core.models import AuditEntry
from content.services import content_revise
from skills.models import SkillExecution
from skills.services import execution_cancel
from tests.helpers import gate
from tests.helpers.devnet import Devnet
from wallets import services as wallets

pytestmark = [pytest.mark.django_db]
URL = "/api/v1/approvals/"
NEUTRAL = {
    "script": "Three looks from Merkato that cost less than lunch, and why they work together."
}


@pytest.fixture
def account(orchestrator: Agent) -> Any:
    return gate.account(orchestrator, "aurora_style")


def ask(client: Client, content: Any, **fields: Any) -> Any:
    body = {"action": "publish_content", "content_id": str(content.id), "platform": "twitter"}
    return client.post(URL, body | fields, content_type="application/json")


# --- what is frozen ---------------------------------------------------------------------------


@pytest.mark.req("A5.2", "C5")
def test_a_request_freezes_exactly_what_will_be_sent(
    orchestrator: Agent, account: Any, api: Any
) -> None:
    content = gate.stored(orchestrator)
    answer = ask(api(orchestrator), content)
    assert answer.status_code == 201, answer.content
    body = answer.json()
    variant = content.current.data["platform_variants"]["twitter"]["text"]
    assert body["action"] == {
        "type": "publish_content",
        "content_id": str(content.id),
        "content_sha256": content.current.sha256,
        "revision": 1,
        "platform": "twitter",
        "account": "aurora_style",
        "text": variant,
        "media": [],
        "schedule_time": None,
        "fallback_platforms": [],
    }
    assert body["action_digest"] == digest(body["action"])
    assert (body["status"], body["approval_token"]) == ("pending", None)
    assert body["sentence"] == "Publish to X as @aurora_style now"


@pytest.mark.req("C5")
def test_a_second_open_request_is_the_first(orchestrator: Agent, account: Any, api: Any) -> None:
    client, content = api(orchestrator), gate.stored(orchestrator)
    first, second = ask(client, content), ask(client, content)
    assert (first.status_code, second.status_code) == (201, 200)
    assert first.json()["id"] == second.json()["id"]
    assert ApprovalRequest.objects.count() == 1
    assert AuditEntry.objects.filter(action="approval.requested").count() == 1


@pytest.mark.req("C5")
def test_the_same_action_of_another_agent_is_another_request(
    orchestrator: Agent, outsider: Agent
) -> None:
    action = gate.frozen_post()
    assert gate.opened(orchestrator, action).id != gate.opened(outsider, action).id


@pytest.mark.req("C5")
def test_after_a_decision_the_same_action_may_be_asked_for_again(
    orchestrator: Agent, reviewer: User
) -> None:
    action = gate.frozen_post()
    first = gate.opened(orchestrator, action)
    services.request_reject(
        request_id=first.id, reviewer=reviewer, reason="No", shown_digest=first.action_digest
    )
    assert gate.opened(orchestrator, action).id != first.id


@pytest.mark.req("C5")
def test_an_approval_whose_time_ran_out_does_not_stand_in_for_a_new_request(
    orchestrator: Agent, reviewer: User, approval_key: Any
) -> None:
    action = gate.frozen_post()
    first = gate.opened(orchestrator, action)
    gate.signed(first, reviewer)
    gate.let_expire(first)
    second = gate.opened(orchestrator, action)
    first.refresh_from_db()
    assert (first.status, second.status) == (Status.EXPIRED, Status.PENDING)
    assert second.id != first.id
    assert not ApprovalToken.objects.exists()


# --- lanes ------------------------------------------------------------------------------------


@pytest.mark.req("C5")
@pytest.mark.parametrize(
    ("confidence", "lane"),
    [(0.91, "fast"), (0.9001, "fast"), (0.9, "standard"), (0.86, "standard"), (0.7, "standard")],
)
def test_confidence_chooses_the_lane(
    confidence: float, lane: str, orchestrator: Agent, account: Any
) -> None:
    content = gate.stored(orchestrator, confidence=confidence, **NEUTRAL)
    assert gate.ask_publish(orchestrator, content).lane == lane


@pytest.mark.req("C5")
@pytest.mark.parametrize(
    "script",
    [
        "Why the election changes how people dress in Merkato this week and what they think.",
        "A vaccine for every tailor in the market, and why the clinic opens earlier this week.",
    ],
)
def test_a_sensitive_subject_is_careful_whatever_the_confidence(
    script: str, orchestrator: Agent, account: Any
) -> None:
    content = gate.stored(orchestrator, confidence=0.99, script=script)
    assert gate.ask_publish(orchestrator, content).lane == "careful"


@pytest.mark.req("C5")
def test_low_confidence_is_refused_three_times_and_then_reviewed_with_care(
    orchestrator: Agent, account: Any, api: Any
) -> None:
    client, task = api(orchestrator), str(uuid4())
    for left in (2, 1, 0):
        content = gate.stored(orchestrator, confidence=0.69, task_id=task)
        answer = ask(client, content)
        assert (answer.status_code, answer.json()["code"]) == (422, "LOW_CONFIDENCE")
        assert answer.json()["details"] == {"confidence": 0.69, "attempts_left": left}
        assert not ApprovalRequest.objects.exists()
    fourth = ask(client, gate.stored(orchestrator, confidence=0.69, task_id=task))
    assert (fourth.status_code, fourth.json()["lane"]) == (201, "careful")
    assert fourth.json()["status"] == "pending"
    assert LowConfidenceAttempt.objects.count() == 3


@pytest.mark.req("C5")
def test_attempts_are_counted_per_task(orchestrator: Agent, account: Any, api: Any) -> None:
    client = api(orchestrator)
    for _ in range(5):
        answer = ask(client, gate.stored(orchestrator, confidence=0.2))
        assert answer.json()["details"]["attempts_left"] == 2


# --- what cannot be asked for -----------------------------------------------------------------


@pytest.mark.req("C5")
def test_content_that_was_not_validated_or_failed_cannot_be_requested(
    orchestrator: Agent, account: Any, api: Any
) -> None:
    client = api(orchestrator)
    failed = gate.stored(orchestrator, valid=False)
    revised = gate.stored(orchestrator)
    content_revise(
        content_id=revised.id,
        package=revised.current.data | {"captions": "Something new to look at this week."},
        actor=orchestrator.actor,
    )
    overruled = gate.stored(orchestrator)
    gate.judged(overruled.current, valid=False)
    for content in (failed, revised, overruled):
        answer = ask(client, content)
        assert (answer.status_code, answer.json()["code"]) == (409, "NOT_VALIDATED")
    assert not ApprovalRequest.objects.exists()


@pytest.mark.req("C5")
@pytest.mark.parametrize(
    ("change", "status", "code", "field"),
    [
        ({"content_id": str(uuid4())}, 404, "NOT_FOUND", "content_id"),
        ({"content_id": "seven"}, 400, "INVALID_INPUT", "content_id"),
        ({"platform": "myspace"}, 400, "INVALID_INPUT", "platform"),
        ({"account": "nobody"}, 400, "INVALID_INPUT", "account"),
        ({"schedule_time": "tomorrow"}, 400, "INVALID_INPUT", "schedule_time"),
        ({"schedule_time": "2030-01-01T00:00:00"}, 400, "INVALID_INPUT", "schedule_time"),
        ({"schedule_time": "2020-01-01T00:00:00Z"}, 400, "INVALID_INPUT", "schedule_time"),
        ({"schedule_time": "9999-12-31T23:59:59-14:00"}, 400, "INVALID_INPUT", "schedule_time"),
        ({"schedule_time": "0001-01-01T00:00:00+14:00"}, 400, "INVALID_INPUT", "schedule_time"),
        ({"schedule_time": "2199-01-01"}, 400, "INVALID_INPUT", "schedule_time"),
        ({"schedule_time": 4102444800}, 400, "INVALID_INPUT", "schedule_time"),
        ({"fallback_platforms": ["twitter"]}, 400, "INVALID_INPUT", "fallback_platforms"),
        ({"fallback_platforms": ["x"]}, 400, "INVALID_INPUT", "fallback_platforms"),
        ({"boost": True}, 400, "INVALID_INPUT", "boost"),
        ({"action": "delete_account"}, 400, "INVALID_INPUT", "action"),
        ({"action": None}, 400, "INVALID_INPUT", "action"),
    ],
)
def test_a_bad_body_is_refused_by_field(
    change: dict[str, Any],
    status: int,
    code: str,
    field: str,
    orchestrator: Agent,
    account: Any,
    api: Any,
) -> None:
    answer = ask(api(orchestrator), gate.stored(orchestrator), **change)
    assert (answer.status_code, answer.json()["code"]) == (status, code), answer.content
    assert any(name.startswith(field) for name in answer.json()["errors"])
    assert not ApprovalRequest.objects.exists()


@pytest.mark.req("C5")
def test_a_role_that_may_not_act_may_not_ask(
    orchestrator: Agent, cashier: Agent, account: Any, api: Any
) -> None:
    answer = ask(api(cashier), gate.stored(orchestrator))
    assert (answer.status_code, answer.json()["code"]) == (403, "FORBIDDEN")
    body = {"action": "debit_wallet", **gate.payment("0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed")}
    answer = api(orchestrator).post(URL, body, content_type="application/json")
    assert (answer.status_code, answer.json()["code"]) == (403, "FORBIDDEN")
    assert not ApprovalRequest.objects.exists()


@pytest.mark.req("C5")
def test_an_access_token_without_the_scope_can_neither_ask_nor_read(
    orchestrator: Agent, account: Any, api: Any
) -> None:
    request = gate.opened(orchestrator, gate.frozen_post())
    client = api(orchestrator, scope="content:read")
    assert ask(client, gate.stored(orchestrator)).status_code == 403
    assert client.get(f"{URL}{request.id}/").status_code == 403
    assert Client().get(f"{URL}{request.id}/").status_code == 401
    assert ApprovalRequest.objects.count() == 1


@pytest.mark.req("C5", "A9.1")
def test_a_payment_is_frozen_in_one_spelling(cashier: Agent, devnet: Devnet, api: Any) -> None:
    wallet = wallets.wallet_open(agent=cashier, network="devnet")
    client = api(cashier)
    data = gate.payment(wallet.address.lower(), amount="10.500")
    first = client.post(URL, {"action": "debit_wallet", **data}, content_type="application/json")
    assert first.status_code == 201, first.content
    assert first.json()["action"] == {
        "type": "debit_wallet",
        "wallet": wallet.address,
        "recipient": devnet.settlement,
        "amount": "10.5",
        "currency": "USDC",
        "network": "devnet",
        "tx_description": "October boost",
        "idempotency_key": data["idempotency_key"],
    }
    same = data | {"wallet_address": wallet.address, "amount": "10.5"}
    second = client.post(URL, {"action": "debit_wallet", **same}, content_type="application/json")
    assert (second.status_code, second.json()["id"]) == (200, first.json()["id"])
    for change in ({"amount": "0.009"}, {"recipient": wallet.address}, {"amount": "1.0000001"}):
        wrong = {"action": "debit_wallet", **data, **change}
        answer = client.post(URL, wrong, content_type="application/json")
        assert (answer.status_code, answer.json()["code"]) == (400, "INVALID_INPUT")
    assert ApprovalRequest.objects.count() == 1


# --- who sees the answer ----------------------------------------------------------------------


@pytest.mark.req("C5")
def test_the_token_is_visible_to_the_requesting_agent_alone(
    orchestrator: Agent, outsider: Agent, reviewer: User, approval_key: Any, api: Any
) -> None:
    request = gate.opened(orchestrator, gate.frozen_post())
    url = f"{URL}{request.id}/"
    assert api(orchestrator).get(url).json()["approval_token"] is None
    token = gate.signed(request, reviewer)
    mine = api(orchestrator).get(url).json()
    assert (mine["status"], mine["approval_token"]) == ("approved", token)
    for stranger in (outsider, None):
        client = api(stranger) if stranger else Client()
        answer = client.get(url)
        assert answer.status_code == (404 if stranger else 401)
        assert token.encode() not in answer.content
    gate.redeem(token, request.action, orchestrator, uuid4())
    used = api(orchestrator).get(url).json()
    assert (used["status"], used["approval_token"]) == ("consumed", None)


@pytest.mark.req("C5")
def test_the_token_lies_encrypted_in_the_database(
    orchestrator: Agent, reviewer: User, approval_key: Any
) -> None:
    request = gate.opened(orchestrator, gate.frozen_post())
    token = gate.signed(request, reviewer)
    kept = ApprovalToken.objects.get()
    assert token.encode() not in bytes(kept.sealed)
    assert token.rpartition(".")[2].encode() not in bytes(kept.sealed)
    history = str(list(ApprovalRequest.history.values()))
    assert token not in history


# --- time -------------------------------------------------------------------------------------


@pytest.mark.req("C5")
def test_what_nobody_decides_or_uses_in_time_expires(
    orchestrator: Agent, reviewer: User, approval_key: Any
) -> None:
    undecided, unused, fresh = (gate.opened(orchestrator, gate.frozen_post()) for _ in range(3))
    ApprovalRequest.objects.filter(id=undecided.id).update(expires_at=now())
    gate.signed(unused, reviewer)
    gate.let_expire(unused)
    assert services.requests_expire() == 2
    assert services.requests_expire() == 0
    for request, status in ((undecided, "expired"), (unused, "expired"), (fresh, "pending")):
        request.refresh_from_db()
        assert request.status == status
    entries = AuditEntry.objects.filter(action="approval.expired")
    assert {entry.actor for entry in entries} == {"system:approvals"}
    assert {entry.data["was"] for entry in entries} == {"pending", "approved"}


@pytest.mark.req("C5")
def test_a_request_waits_as_long_as_the_setting_says(orchestrator: Agent, settings: Any) -> None:
    env = {"chimera_approval_pending_ttl": 3600}
    settings.CHIMERA = settings.CHIMERA.model_copy(update=env)
    request = gate.opened(orchestrator, gate.frozen_post())
    left = request.expires_at - now()
    assert timedelta(minutes=59) < left <= timedelta(hours=1)


# --- what can lead to nothing any more ----------------------------------------------------------


@pytest.mark.req("A5.2", "C5")
def test_a_request_of_an_older_revision_cannot_be_signed_and_is_closed(
    orchestrator: Agent, account: Any, reviewer: User, approval_key: Any
) -> None:
    content = gate.stored(orchestrator)
    request = gate.ask_publish(orchestrator, content)
    package = content.current.data | {"captions": "Another caption for the same three looks."}
    content_revise(content_id=content.id, package=package, actor=orchestrator.actor)
    with pytest.raises(ChimeraError, match="revised"):
        services.request_approve(
            request_id=request.id,
            reviewer=reviewer,
            password_confirmed_at=now(),
            shown_digest=request.action_digest,
        )
    assert services.requests_void_superseded() == 1
    request.refresh_from_db()
    assert request.status == Status.REVOKED
    assert not ApprovalToken.objects.exists()
    assert AuditEntry.objects.filter(action="approval.revoked", object_id=request.id).count() == 1


@pytest.mark.req("A5.2")
def test_the_account_of_another_agent_cannot_be_named(
    orchestrator: Agent, outsider: Agent, account: Any, api: Any
) -> None:
    content = gate.stored(outsider)
    gate.account(outsider, "outsiders_own")
    answer = ask(api(outsider), content, account="aurora_style")
    assert answer.status_code == 400
    assert "account" in answer.json()["errors"]
    assert not ApprovalRequest.objects.exists()


@pytest.mark.req("A9.7")
def test_cancelling_a_blocked_payment_closes_its_request(
    cashier: Agent, reviewer: User, approval_key: Any
) -> None:
    request = gate.opened(cashier, gate.frozen_payment())
    execution = SkillExecution.objects.create(
        skill="debit_wallet",
        version="1.1",
        agent=cashier,
        status="blocked",
        approval_id=request.id,
        input_hash="0" * 64,
        trace_id="0" * 32,
    )
    execution_cancel(agent=cashier, execution_id=execution.id)
    request.refresh_from_db()
    assert request.status == Status.REVOKED
    with pytest.raises(ChimeraError, match="already revoked"):
        gate.signed(request, reviewer)
