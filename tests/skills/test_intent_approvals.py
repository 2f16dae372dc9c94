"""Who may say yes to an intent: a person everywhere, the judge in a sandbox, nobody else."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.contrib.auth.models import User
from django.db import transaction
from django.test import Client

from agents.models import Agent
from approvals.keys import jwks, verifying_key
from approvals.models import ApprovalRequest, ApprovalToken, Decision, SigningKey
from approvals.redeeming import JUDGE, approval_redeem, approved_action
from approvals.services import request_reject, token_of
from chimera.core.clock import now
from chimera.core.errors import ChimeraError
from chimera.core.models import AuditEntry
from content import publishing
from content.models import PlatformAccount, Publication
from content.services import content_revise
from skills import gating
from skills.models import SkillExecution
from tests.helpers.calls import attempt, package
from tests.helpers.intents import NAME, TEXT, execute, intent, named, review, reviewed
from tests.helpers.world import list_posts

Sent = Callable[[], list[dict[str, Any]]]
ELSEWHERE = pytest.mark.parametrize("environment", ["staging", "production"])


@pytest.fixture
def sent(sandbox: str, account: PlatformAccount) -> Sent:
    return lambda: list_posts(sandbox, account.handle)


def deploy(settings: Any, environment: str) -> None:
    update = {"chimera_environment": environment}
    settings.CHIMERA = settings.CHIMERA.model_copy(update=update)


def refused(execution: SkillExecution, sent: Sent) -> tuple[str, list[str]]:
    """Code and fields of the error, once it is sure that nothing was posted."""
    assert execution.output["status"] == "failed", execution.output
    assert sent() == []
    assert not Publication.objects.exclude(state=Publication.State.PUBLISH_FAILED).exists()
    error = execution.output["error"]
    return error["code"], list(error["details"].get("errors", {}))


class Killed(BaseException):
    """Ends a run without any clean-up of the code under test, as kill -9 does."""


def killed_at(
    monkeypatch: pytest.MonkeyPatch, module: Any, point: str, agent: Agent, wanted: Any
) -> SkillExecution:
    """An execution whose worker has died at this point, and whose lease has run out."""

    def reach(here: str) -> None:
        if here == point:
            raise Killed(point)

    monkeypatch.setattr(module, "reach", reach)
    with pytest.raises(Killed):
        execute(agent, wanted)
    monkeypatch.undo()
    SkillExecution.objects.update(lease_until=now() - timedelta(seconds=1))
    return SkillExecution.objects.get()


@pytest.mark.req("B3.4")
def test_the_judge_of_a_sandbox_makes_a_row_of_its_own_key_and_uses_it_up(
    orchestrator: Agent, account: PlatformAccount, sent: Sent, reviewer: User, client: Client
) -> None:
    made = execute(orchestrator, intent(account))
    client.force_login(reviewer)

    assert made.output["status"] == "executed" and len(sent()) == 1
    request, key = ApprovalRequest.objects.get(), SigningKey.objects.get()
    assert (request.status, request.consumed_by) == ("consumed", made.id)
    assert key.kind == SigningKey.Kind.JUDGE and not Decision.objects.exists()
    assert Publication.objects.get().reviewer_id == JUDGE
    said = AuditEntry.objects.get(action="approval.approved")
    assert (said.actor, said.data["kid"]) == (JUDGE, key.kid)
    born = AuditEntry.objects.filter(action="key.created", object_id=key.kid)
    assert [one.actor for one in born] == [JUDGE], "a key that can say yes is in the log"
    assert jwks() == {"keys": []}, "nobody outside is told to trust it"
    assert "Open the post" in client.get(f"/review/{request.id}/").content.decode()


@pytest.mark.req("B3.4")
def test_a_package_that_has_taken_the_id_of_an_intent_is_not_posted_in_its_place(
    orchestrator: Agent, account: PlatformAccount, sent: Sent
) -> None:
    wanted = intent(account)
    taken = review(orchestrator, wanted | {"approvedBy": "human"}).action["content_id"]
    other = package(content_id=taken, script="Something else entirely, which nobody has asked for.")
    content_revise(content_id=UUID(taken), package=other, actor=orchestrator.actor)

    with pytest.raises(ChimeraError, match="taken the id") as problem:
        review(orchestrator, wanted)

    assert problem.value.code == "INVALID_INPUT" and sent() == []


@pytest.mark.req("B3.4")
@pytest.mark.provokes(NAME, "FORBIDDEN")
@ELSEWHERE
def test_a_judge_is_not_enough_outside_the_sandbox(
    orchestrator: Agent, account: PlatformAccount, sent: Sent, settings: Any, environment: str
) -> None:
    deploy(settings, environment)

    made = execute(orchestrator, intent(account), environment)

    assert refused(made, sent) == ("FORBIDDEN", ["intent.approvedBy"])
    assert not ApprovalRequest.objects.exists() and not SigningKey.objects.exists()


@pytest.mark.req("B3.4")
@ELSEWHERE
def test_a_token_of_the_judge_is_refused_outside_the_sandbox(
    orchestrator: Agent,
    account: PlatformAccount,
    sent: Sent,
    settings: Any,
    monkeypatch: pytest.MonkeyPatch,
    environment: str,
) -> None:
    execution = killed_at(monkeypatch, gating, f"{NAME}.asked", orchestrator, intent(account))
    request = ApprovalRequest.objects.get()
    token = token_of(request) or ""
    assert approved_action(token, kind=request.kind), "good in the sandbox"
    deploy(settings, environment)

    redeem = {"token": token, "action": request.action, "agent_id": orchestrator.id}
    with pytest.raises(ChimeraError, match="INVALID_TOKEN"), transaction.atomic():
        approval_redeem(**redeem, execution_id=execution.id)
    attempt(execution)

    assert refused(execution, sent) == (
        "FORBIDDEN",
        ["intent.approvedBy" if environment == "staging" else "environment"],
    )
    request.refresh_from_db()
    assert request.status == "approved" and not Publication.objects.exists()


@pytest.mark.req("B3.4")
@pytest.mark.parametrize("point", ["publish.prepared", "publish.armed"])
def test_a_yes_of_the_judge_that_was_used_up_posts_nothing_where_it_would_not_count(
    orchestrator: Agent,
    account: PlatformAccount,
    sent: Sent,
    settings: Any,
    monkeypatch: pytest.MonkeyPatch,
    point: str,
) -> None:
    execution = killed_at(monkeypatch, publishing, point, orchestrator, intent(account))
    long_ago = now() - timedelta(hours=1)
    Publication.objects.filter(armed_at__isnull=False).update(armed_at=long_ago, begun_at=long_ago)
    deploy(settings, "staging")

    attempt(execution)

    assert refused(execution, sent)[0] == "INVALID_TOKEN"


@pytest.mark.req("B3.4", "C5")
def test_the_key_of_the_judge_counts_for_intents_alone(
    orchestrator: Agent, account: PlatformAccount, sent: Sent
) -> None:
    execute(orchestrator, intent(account))
    kid = SigningKey.objects.get().kid

    assert verifying_key(kid, "execute_publish_intent")
    assert verifying_key(kid, "publish_content") is verifying_key(kid, "debit_wallet") is None


@pytest.mark.req("B3.4")
def test_the_judge_says_no_to_what_breaks_a_rule(
    orchestrator: Agent, account: PlatformAccount, sent: Sent
) -> None:
    hidden = {"content": f"{TEXT}\u202e Read this backwards.", "mediaRefs": []}

    made = execute(orchestrator, intent(account, payload=hidden))

    assert refused(made, sent) == ("FORBIDDEN", ["intent.approvedBy"])
    assert not ApprovalRequest.objects.exists()


@pytest.mark.req("B3.4")
@pytest.mark.parametrize("environment", ["sandbox", "staging", "production"])
def test_a_person_who_is_only_claimed_has_approved_nothing(
    orchestrator: Agent, account: PlatformAccount, sent: Sent, settings: Any, environment: str
) -> None:
    deploy(settings, environment)

    made = execute(orchestrator, intent(account, approvedBy="human"), environment)

    assert refused(made, sent) == ("FORBIDDEN", ["intent.trace.reviewId"])


@pytest.mark.req("B3.4")
@pytest.mark.provokes(NAME, "NOT_FOUND")
@pytest.mark.parametrize("review_id", ["rev-uuid", str(uuid4())])
def test_a_review_that_does_not_exist_has_approved_nothing(
    orchestrator: Agent, account: PlatformAccount, sent: Sent, review_id: str
) -> None:
    made = execute(orchestrator, named(intent(account), review_id))

    assert refused(made, sent) == ("NOT_FOUND", ["intent.trace.reviewId"])


@pytest.mark.req("B3.4")
def test_a_review_of_another_agent_is_as_good_as_none(
    orchestrator: Agent,
    outsider: Agent,
    account: PlatformAccount,
    sent: Sent,
    reviewer: User,
    approval_key: Any,
) -> None:
    PlatformAccount.objects.update(agent=None)
    theirs = reviewed(outsider, intent(account), reviewer)

    assert refused(execute(orchestrator, theirs), sent)[0] == "NOT_FOUND"


@pytest.mark.req("B3.4", "C5")
@pytest.mark.provokes(NAME, "INVALID_TOKEN")
@pytest.mark.parametrize(
    "change",
    [
        {"payload": {"content": "What nobody has signed.", "mediaRefs": []}},
        {"budgetUsd": 21},
        {"idempotencyKey": "another-key"},
        {"taskId": "another-task"},
    ],
)
def test_a_review_of_another_action_is_refused_and_not_used_up(
    orchestrator: Agent,
    account: PlatformAccount,
    sent: Sent,
    reviewer: User,
    approval_key: Any,
    change: dict[str, Any],
) -> None:
    wanted = reviewed(orchestrator, intent(account), reviewer)

    made = execute(orchestrator, wanted | change)

    assert refused(made, sent) == ("INVALID_TOKEN", ["intent.trace.reviewId"])
    assert ApprovalRequest.objects.get().status == "approved"


@pytest.mark.req("B3.4")
@pytest.mark.provokes(NAME, "DUPLICATE_CONTENT")
@pytest.mark.parametrize("judged", [True, False])
def test_an_intent_that_was_posted_is_not_posted_again_even_without_its_key(
    orchestrator: Agent,
    account: PlatformAccount,
    sent: Sent,
    reviewer: User,
    approval_key: Any,
    judged: bool,
) -> None:
    asked = intent(account)
    wanted = asked if judged else reviewed(orchestrator, asked, reviewer)
    first = execute(orchestrator, wanted)
    SkillExecution.objects.update(idempotency_key=None)  # as if the key had never been seen

    error = execute(orchestrator, wanted).output["error"]

    assert error["code"] == "DUPLICATE_CONTENT" and len(sent()) == 1
    assert error["details"]["post_id"] == first.output["externalRef"]
    assert ApprovalRequest.objects.count() == 1


@pytest.mark.req("B3.4")
def test_a_signature_is_used_once(
    orchestrator: Agent, account: PlatformAccount, sent: Sent, reviewer: User, approval_key: Any
) -> None:
    wanted = reviewed(orchestrator, intent(account), reviewer)
    ApprovalRequest.objects.update(status="consumed", consumed_by=uuid4())

    assert refused(execute(orchestrator, wanted), sent)[0] == "INVALID_TOKEN"


@pytest.mark.req("B3.4")
@pytest.mark.provokes(NAME, "TOKEN_EXPIRED")
def test_a_no_and_a_yes_that_is_too_old_post_nothing(
    orchestrator: Agent,
    account: PlatformAccount,
    sent: Sent,
    reviewer: User,
    approval_key: Any,
    time_machine: Any,
) -> None:
    said_no, old = intent(account), reviewed(orchestrator, intent(account), reviewer)
    request = review(orchestrator, said_no)
    request_reject(
        request_id=request.id,
        reviewer=reviewer,
        reason="Not our tone",
        shown_digest=request.action_digest,
    )
    made = execute(orchestrator, named(said_no, str(request.id)))
    assert refused(made, sent)[0] == "FORBIDDEN"
    assert "Not our tone" in made.output["error"]["message"]
    time_machine.move_to(now() + timedelta(hours=1))

    assert refused(execute(orchestrator, old), sent)[0] == "TOKEN_EXPIRED"


@pytest.mark.req("B3.4")
def test_a_person_sees_the_post_the_budget_and_what_the_rules_say(
    orchestrator: Agent, account: PlatformAccount, reviewer: User, api: Any
) -> None:
    words = {"content": f"{TEXT} It cured 97 percent of all diseases.", "mediaRefs": []}
    body = {"action": "execute_publish_intent", "intent": intent(account, payload=words)}
    client = api(orchestrator)

    opened = client.post("/api/v1/approvals/", body, content_type="application/json")
    second = client.post("/api/v1/approvals/", body, content_type="application/json")

    assert (opened.status_code, second.status_code) == (201, 200)
    shown = opened.json()
    assert shown["kind"] == shown["action"]["type"] == "execute_publish_intent"
    assert shown["action"]["text"] == words["content"] and shown["action"]["mode"] == "sandbox"
    request = ApprovalRequest.objects.get()
    assert any(issue["rule"] == "misinformation" for issue in request.context["issues"])
    desk = Client()
    desk.force_login(reviewer)
    page = desk.get(f"/review/{request.id}/").content.decode()
    assert "cured 97 percent" in page and "20 USD" in page
    assert words["content"] in desk.get("/review/").content.decode()


@pytest.mark.req("B3.4")
def test_a_wrong_intent_is_refused_by_name_when_an_approval_is_asked_for(
    orchestrator: Agent, account: PlatformAccount, api: Any
) -> None:
    client = api(orchestrator)
    for change, field in (({"budgetUsd": -1}, "budgetUsd"), ({"action": "reply"}, "action")):
        body = {"action": "execute_publish_intent", "intent": intent(account, **change)}
        answer = client.post("/api/v1/approvals/", body, content_type="application/json")
        assert answer.status_code in (400, 422)
        assert list(answer.json()["errors"]) == [f"intent.{field}"]
    assert not ApprovalRequest.objects.exists() and not ApprovalToken.objects.exists()
