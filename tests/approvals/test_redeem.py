"""One approval, one effect: of exactly this action, for this agent, once."""

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from django.contrib.auth.models import User
from django.db import IntegrityError

from agents.models import Agent
from approvals import services
from approvals.models import ApprovalRequest, ApprovalToken, SigningKey, Status
from approvals.redeeming import approval_redeem, grant_of_execution
from approvals.services import request_revoke
from chimera.core import audit
from chimera.core.errors import ChimeraError
from chimera.core.models import AuditEntry, AuditHead
from tests.helpers import gate
from tests.helpers.gate import frozen_payment, frozen_post, redeem, refused, standing
from tests.helpers.gate_process import Stage, stage

pytestmark = [pytest.mark.django_db]
Action = dict[str, Any]
ROUNDS = 20


@pytest.fixture
def post(orchestrator: Agent, reviewer: User, approval_key: Any) -> tuple[ApprovalRequest, str]:
    request = gate.opened(orchestrator, frozen_post())
    return request, gate.signed(request, reviewer)


@pytest.fixture
def debit(cashier: Agent, reviewer: User, approval_key: Any) -> tuple[ApprovalRequest, str]:
    request = gate.opened(cashier, frozen_payment())
    return request, gate.signed(request, reviewer)


# --- what is bound ----------------------------------------------------------------------------

SMALL_A, CYRILLIC_A = "a", "а"
POST_CHANGES: dict[str, Callable[[Action], Action]] = {
    "one byte of the text": lambda a: a | {"text": a["text"].replace("knew", "know", 1)},
    "a letter that looks the same": lambda a: (
        a | {"text": a["text"].replace(SMALL_A, CYRILLIC_A, 1)}
    ),
    "an invisible character": lambda a: a | {"text": a["text"] + "\u200b"},
    "a blank at the end": lambda a: a | {"text": a["text"] + " "},
    "another spelling of the same letters": lambda a: a | {"text": a["text"] + "e\u0301"},
    "the media": lambda a: a | {"media": ["ac" * 32]},
    "one more medium": lambda a: a | {"media": a["media"] * 2},
    "no medium": lambda a: a | {"media": []},
    "the content's hash": lambda a: a | {"content_sha256": "8f" * 32},
    "the content": lambda a: a | {"content_id": str(uuid4())},
    "the revision": lambda a: a | {"revision": 2},
    "the platform": lambda a: a | {"platform": "tiktok"},
    "the account": lambda a: a | {"account": "aurora_official"},
    "the case of the account": lambda a: a | {"account": "Aurora_style"},
    "the time": lambda a: a | {"schedule_time": "2026-12-01T10:00:00Z"},
    "the fallbacks": lambda a: a | {"fallback_platforms": ["tiktok"]},
    "a field more": lambda a: a | {"boost": True},
    "a field less": lambda a: {name: value for name, value in a.items() if name != "media"},
}
PAYMENT_CHANGES: dict[str, Action] = {
    "more": {"amount": "10.6"},
    "a unit more": {"amount": "10.500001"},
    "a number for a text": {"amount": 10.5},
    "another spelling of the amount": {"amount": "10.50"},
    "the recipient's last digit": {"recipient": "0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d358"},
    "the wallet": {"wallet": "0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359"},
    "the currency": {"currency": "ETH"},
    "the network": {"network": "base"},
    "the description": {"tx_description": "October  boost"},
    "the key": {"idempotency_key": "0192f0c5-77aa-7c31-8a1e-5d0f4b7e2b10"},
}


@pytest.mark.req("A5.2")
@pytest.mark.parametrize("change", POST_CHANGES)
def test_a_post_that_differs_from_the_approved_one_is_refused(
    change: str, post: tuple[ApprovalRequest, str], orchestrator: Agent
) -> None:
    request, token = post
    with refused(request, "INVALID_TOKEN"):
        redeem(token, POST_CHANGES[change](request.action), orchestrator, uuid4())
    assert redeem(token, request.action, orchestrator, uuid4())


@pytest.mark.req("A9.1", "C5")
@pytest.mark.parametrize("change", PAYMENT_CHANGES)
def test_a_payment_that_differs_from_the_approved_one_is_refused(
    change: str, debit: tuple[ApprovalRequest, str], cashier: Agent
) -> None:
    request, token = debit
    with refused(request, "INVALID_TOKEN"):
        redeem(token, request.action | PAYMENT_CHANGES[change], cashier, uuid4())
    assert redeem(token, request.action, cashier, uuid4())


@pytest.mark.req("C5")
def test_a_digest_changed_in_the_row_frees_nothing(
    post: tuple[ApprovalRequest, str], orchestrator: Agent
) -> None:
    """Who can write the table still cannot redirect a signature."""
    request, token = post
    other = request.action | {"text": "Something else"}
    ApprovalRequest.objects.filter(id=request.id).update(
        action=other, action_digest=services.digest(other)
    )
    with refused(request, "INVALID_TOKEN"):
        redeem(token, other, orchestrator, uuid4())
    with refused(request, "INVALID_TOKEN"):
        redeem(token, request.action, orchestrator, uuid4())


@pytest.mark.req("C5")
def test_another_agent_cannot_use_the_token(
    post: tuple[ApprovalRequest, str], orchestrator: Agent, outsider: Agent
) -> None:
    request, token = post
    with refused(request, "INVALID_TOKEN"):
        redeem(token, request.action, outsider, uuid4())
    assert redeem(token, request.action, orchestrator, uuid4())


# --- once -------------------------------------------------------------------------------------


@pytest.mark.req("C5", "X3")
def test_second_redeem_of_one_approval_is_refused(
    post: tuple[ApprovalRequest, str], orchestrator: Agent
) -> None:
    request, token = post
    first = uuid4()
    grant = redeem(token, request.action, orchestrator, first)
    assert (grant.execution_id, grant.action_digest) == (first, request.action_digest)
    with refused(request, "INVALID_TOKEN"):
        redeem(token, request.action, orchestrator, uuid4())
    request.refresh_from_db()
    assert (request.status, request.consumed_by) == (Status.CONSUMED, first)
    assert not ApprovalToken.objects.filter(request=request).exists()


@pytest.mark.req("X3")
def test_the_same_execution_goes_on_after_consumption_and_after_expiry(
    post: tuple[ApprovalRequest, str], orchestrator: Agent
) -> None:
    request, token = post
    execution = uuid4()
    first = redeem(token, request.action, orchestrator, execution)
    before = standing(request)
    assert redeem(token, request.action, orchestrator, execution) == first
    gate.let_expire(request)
    late = gate.forger(token).shifted(iat=-7000, nbf=-7000, exp=-1800)
    assert redeem(late, request.action, orchestrator, execution) == first
    assert grant_of_execution(execution) == first
    assert standing(request)["audit"] == before["audit"]


@pytest.mark.req("C5")
def test_the_same_execution_with_another_action_gets_nothing(
    post: tuple[ApprovalRequest, str], orchestrator: Agent
) -> None:
    request, token = post
    execution = uuid4()
    redeem(token, request.action, orchestrator, execution)
    with pytest.raises(ChimeraError, match="INVALID_TOKEN"):
        redeem(token, request.action | {"text": "Else"}, orchestrator, execution)


@pytest.mark.req("C5")
def test_a_rolled_back_transaction_leaves_the_approval_usable(
    post: tuple[ApprovalRequest, str], orchestrator: Agent
) -> None:
    request, token = post
    before = standing(request)

    class Failure(Exception):
        """What the effect's own first row may raise."""

    with pytest.raises(Failure), gate.transaction.atomic():
        approval_redeem(
            token=token, action=request.action, agent_id=orchestrator.id, execution_id=uuid4()
        )
        raise Failure
    assert standing(request) == before
    assert redeem(token, request.action, orchestrator, uuid4())


@pytest.mark.req("A5.2", "C5")
def test_a_revoked_approval_is_refused(
    post: tuple[ApprovalRequest, str], orchestrator: Agent, reviewer: User
) -> None:
    request, token = post
    request_revoke(request_id=request.id, reviewer=reviewer, reason="The market has closed")
    with refused(request, "INVALID_TOKEN"):
        redeem(token, request.action, orchestrator, uuid4())
    request.refresh_from_db()
    assert (request.status, request.consumed_by) == (Status.REVOKED, None)
    assert services.token_of(request) is None


@pytest.mark.req("A5.7")
def test_a_grant_ends_when_its_approval_is_revoked(
    post: tuple[ApprovalRequest, str], orchestrator: Agent, reviewer: User
) -> None:
    request, token = post
    execution = uuid4()
    redeem(token, request.action, orchestrator, execution)
    request_revoke(request_id=request.id, reviewer=reviewer, reason="The market has closed")
    with pytest.raises(ChimeraError, match="INVALID_TOKEN"):
        grant_of_execution(execution)
    with pytest.raises(ChimeraError, match="INVALID_TOKEN"):
        redeem(token, request.action, orchestrator, execution)
    entry = AuditEntry.objects.get(action="approval.revoked", object_id=str(request.id))
    assert entry.actor == f"person:{reviewer.pk}"
    with pytest.raises(ChimeraError, match="CONCURRENCY_ERROR"):
        request_revoke(request_id=request.id, reviewer=reviewer, reason="Once more")


@pytest.mark.req("A5.2")
def test_a_key_revoked_after_signing_stops_its_tokens_but_not_what_has_begun(
    post: tuple[ApprovalRequest, str],
    debit: tuple[ApprovalRequest, str],
    orchestrator: Agent,
    cashier: Agent,
) -> None:
    begun = uuid4()
    redeem(post[1], post[0].action, orchestrator, begun)
    SigningKey.objects.update(state=SigningKey.State.REVOKED)
    with refused(debit[0], "INVALID_TOKEN"):
        redeem(debit[1], debit[0].action, cashier, uuid4())
    assert grant_of_execution(begun)


@pytest.mark.req("A5.2")
def test_an_expired_approval_is_refused_before_and_after_the_sweep(
    post: tuple[ApprovalRequest, str], orchestrator: Agent
) -> None:
    request, token = post
    late = gate.forger(token).shifted(iat=-7000, nbf=-7000, exp=-1801)
    gate.let_expire(request)
    with refused(request, "TOKEN_EXPIRED"):
        redeem(late, request.action, orchestrator, uuid4())
    assert services.requests_expire() == 1
    with refused(request, "TOKEN_EXPIRED"):
        redeem(late, request.action, orchestrator, uuid4())
    with refused(request, "INVALID_TOKEN"):
        redeem(token, request.action, orchestrator, uuid4())
    request.refresh_from_db()
    assert request.status == Status.EXPIRED


# --- together with its audit entry ------------------------------------------------------------


@pytest.mark.django_db(transaction=True)
@pytest.mark.req("C5", "X3")
def test_redeeming_outside_a_transaction_is_refused(
    post: tuple[ApprovalRequest, str], orchestrator: Agent
) -> None:
    request, token = post
    before = standing(request)
    with pytest.raises(RuntimeError, match="transaction"):
        approval_redeem(
            token=token, action=request.action, agent_id=orchestrator.id, execution_id=uuid4()
        )
    assert standing(request) == before


@pytest.mark.req("C3", "C5")
def test_no_entry_no_effect(post: tuple[ApprovalRequest, str], orchestrator: Agent) -> None:
    """The log cannot be written (its head points at a taken place): the approval stays unused."""
    request, token = post
    head = AuditHead.objects.get()
    AuditHead.objects.update(sequence=head.sequence - 1)
    with pytest.raises(IntegrityError):
        redeem(token, request.action, orchestrator, uuid4())
    AuditHead.objects.update(sequence=head.sequence)
    request.refresh_from_db()
    assert (request.status, request.consumed_by) == (Status.APPROVED, None)
    assert services.token_of(request) == token
    grant = redeem(token, request.action, orchestrator, uuid4())
    entry = AuditEntry.objects.get(action="approval.consumed")
    assert entry.actor == orchestrator.actor
    assert entry.data["execution_id"] == str(grant.execution_id)
    assert entry.data["action_digest"] == request.action_digest
    assert list(audit.verify()) == []


@pytest.mark.req("X1", "X3")
def test_the_row_itself_decides_who_was_first(
    post: tuple[ApprovalRequest, str],
    orchestrator: Agent,
    django_assert_max_num_queries: Any,
) -> None:
    """A condition on another table is not looked at again after a wait for the row's lock."""
    request, token = post
    with django_assert_max_num_queries(50) as queries:
        redeem(token, request.action, orchestrator, uuid4())
    table = ApprovalRequest._meta.db_table
    (update,) = [q["sql"] for q in queries if q["sql"].startswith(f'UPDATE "{table}"')]
    assert "SELECT" not in update
    assert "'approved'" in update.partition("WHERE")[2]


# --- at once ----------------------------------------------------------------------------------


@pytest.fixture
def own_stage(tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder: Path = tmp_path_factory.mktemp("gate")
    with stage(folder) as made:
        yield made


@pytest.mark.req("C5", "X1", "X3")
def test_of_many_at_once_one_wins(own_stage: Stage) -> None:
    """2 to 32 threads with connections of their own, again and again."""
    rounds = own_stage.act("race", str(ROUNDS))
    assert len(rounds) == ROUNDS
    for number, result in enumerate(rounds):
        size = result["size"]
        assert result["answers"] == {"won": 1, "INVALID_TOKEN": size - 1}, (number, result)
        assert result["status"] == "consumed"
        assert result["consumed_by_the_winner"]
        assert result["entries"] == 1
    verified: subprocess.CompletedProcess[str] = own_stage.run("manage.py", "verify_audit")
    assert verified.returncode == 0, verified.stderr


@pytest.mark.req("C3")
def test_the_command_ends_with_status_1_and_names_the_entry(own_stage: Stage) -> None:
    """As an operator runs it, in a process of its own, after somebody has changed entry 2."""
    own_stage.act("race", "1")
    assert own_stage.run("manage.py", "verify_audit").returncode == 0
    assert own_stage.act("tamper", "2") == 1
    verified = own_stage.run("manage.py", "verify_audit")
    assert verified.returncode == 1
    assert "entry 2 was changed" in verified.stderr
