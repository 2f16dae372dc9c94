"""The workflows that come with the program, on the sandbox's platform and the embedded chain."""

from decimal import Decimal
from typing import Any

import pytest
from django.contrib.auth.models import User

from agents.models import Agent
from approvals.models import ApprovalRequest
from chimera.core.clock import now
from chimera.core.jsontext import plain
from content.models import PlatformAccount
from skills import runner
from skills.models import SkillExecution
from skills.workflows.engine import advance
from skills.workflows.models import StandIn, WorkflowRun
from skills.workflows.services import builtin, definition_get, run_resume, run_start
from tests.helpers.calls import sign, trend
from tests.helpers.devnet import Devnet
from tests.helpers.world import list_posts
from tests.skills.workflows.test_engine import driven
from wallets.models import Debit, Wallet

pytestmark = [pytest.mark.django_db, pytest.mark.req("W2", "W6")]
PAYING = "trend-to-post-with-payment"


def begun(agent: Agent, name: str, **more: Any) -> WorkflowRun:
    """A run that waits for its signatures."""
    data = {
        "trends": [trend(), trend(topic="Cement prices in ports")],
        "campaign_goals": ["street style of Addis"],
        "relevance_threshold": 0,
        "persona": plain(agent.persona.as_dict()),
        "platform": "twitter",
    }
    return driven(run_start(agent=agent, definition=definition_get(name), data=data | more))


def signed(kind: str, reviewer: User) -> None:
    request = ApprovalRequest.objects.get(kind=kind, status="pending")
    sign(request, reviewer)
    runner.resume(request.id)


def settled(run: WorkflowRun, devnet: Devnet | None = None) -> WorkflowRun:
    """The run once its payment has been followed to the end."""
    for _ in range(20):
        run = driven(run)
        unknown = SkillExecution.objects.filter(status="outcome_unknown")
        if not unknown.update(due_at=now(), status="retrying"):
            return run
    raise AssertionError("the payment does not settle")


def test_every_built_in_workflow_is_valid_and_named() -> None:
    assert {"handle-normalization", "trend-to-post", PAYING} <= set(builtin())


def test_a_trend_becomes_one_post_after_one_signature(
    orchestrator: Agent, account: PlatformAccount, sandbox: str, reviewer: User, approval_key: Any
) -> None:
    run = begun(orchestrator, "trend-to-post")
    assert run.status == "blocked", run.error
    skipped = run.records.get(path="0")
    assert skipped.state == "skipped", "the trends were given"

    signed("publish_content", reviewer)
    run = driven(run)

    assert run.status == "completed", run.error
    assert len(list_posts(sandbox, account.handle)) == 1
    assert "approval_token" not in str(plain(run.records.last().input)) or "[redacted]" in str(
        run.records.last().input
    )


def test_post_and_payment_wait_at_once_and_each_needs_its_own_signature(
    orchestrator: Agent,
    cashier: Agent,
    account: PlatformAccount,
    purse: Wallet,
    devnet: Devnet,
    reviewer: User,
    approval_key: Any,
) -> None:
    StandIn.objects.create(
        workflow=PAYING, version=1, agent=orchestrator, role="cfo_judge", stand_in=cashier
    )
    run = begun(orchestrator, PAYING, wallet_address=purse.address, amount=Decimal("2.5"))
    assert run.status == "blocked", run.error
    waiting = ApprovalRequest.objects.filter(status="pending")
    assert {(one.kind, one.agent_id) for one in waiting} == {
        ("publish_content", orchestrator.id),
        ("debit_wallet", cashier.id),
    }

    signed("publish_content", reviewer)
    assert driven(run).status == "blocked"
    assert not Debit.objects.filter(status="posted").exists()

    signed("debit_wallet", reviewer)
    run = settled(run)
    assert run.status == "completed", run.error
    assert run.output["payment"]["tx_id"] and run.output["post"]["post_url"]
    assert Debit.objects.filter(status="posted").count() == 1


def test_a_signature_that_lapsed_is_asked_for_anew_when_the_run_goes_on(
    orchestrator: Agent, account: PlatformAccount, sandbox: str, reviewer: User, approval_key: Any
) -> None:
    run = begun(orchestrator, "trend-to-post")
    first = ApprovalRequest.objects.get()
    sign(first, reviewer)
    ApprovalRequest.objects.filter(id=first.id).update(token_expires_at=now())
    run = driven(run)
    assert run.status == "failed" and not list_posts(sandbox, account.handle)

    run_resume(agent=orchestrator, run_id=run.id)
    assert advance(run.id).status == "blocked"

    signed("publish_content", reviewer)
    assert driven(run).status == "completed"
    assert len(list_posts(sandbox, account.handle)) == 1
