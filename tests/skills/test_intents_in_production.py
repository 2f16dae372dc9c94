"""skill_execute_publish_intent in a production, where X itself answers: a local server that speaks its API."""

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User

from agents.models import Agent
from content.connections import account_connect
from content.models import PlatformAccount, Publication
from content.platforms.base import Credentials
from content.platforms.twitter.adapter import TwitterAdapter
from skills.models import SkillExecution
from tests.fakes.fixtures import FakeServer
from tests.helpers.intents import NAME, TEXT, execute, failure, intent, named, reviewed
from tests.helpers.world import list_posts


@pytest.fixture
def x(
    fake: Callable[[str], FakeServer], settings: Any, monkeypatch: pytest.MonkeyPatch
) -> FakeServer:
    """X, reached where the adapter finds it, from a production whose other posts go to the sandbox."""
    server = fake("twitter")
    monkeypatch.setattr(TwitterAdapter, "base_url", server.url)
    settings.CHIMERA = settings.CHIMERA.model_copy(update={"chimera_environment": "production"})
    return server


@pytest.fixture
def live(x: FakeServer, account: PlatformAccount, orchestrator: Agent) -> PlatformAccount:
    """The agent's account on X; its account in the sandbox has the same name."""
    given = x.account(account.handle)
    made = PlatformAccount.objects.create(
        platform="twitter", handle=account.handle, mode="live", agent=orchestrator
    )
    tokens = Credentials(given["access_token"], given["refresh_token"], given["extra"])
    account_connect(account=made, credentials=tokens, actor="system:test")
    return made


def signed(agent: Agent, account: PlatformAccount, reviewer: User) -> SkillExecution:
    """The call of an intent that a person has signed."""
    return execute(agent, reviewed(agent, intent(account), reviewer), "production")


@pytest.mark.req("B3.2", "B3.4")
def test_what_a_person_signed_is_posted_on_the_network_and_not_in_the_sandbox(
    orchestrator: Agent,
    live: PlatformAccount,
    x: FakeServer,
    sandbox: str,
    reviewer: User,
    approval_key: Any,
) -> None:
    made = signed(orchestrator, live, reviewer)

    [post] = x.effects()
    assert (post["account"], post["text"], post["made_with_ai"]) == (live.handle, TEXT, True)
    assert made.output["status"] == "executed" and made.output["externalRef"] == post["id"]
    assert Publication.objects.get().account_id == live.id
    assert list_posts(sandbox, live.handle) == []
    assert [(call["method"], call["path"], call["status"]) for call in x.calls()] == [
        ("GET", "/2/users/me", 200),
        ("POST", "/2/tweets", 201),
    ]


@pytest.mark.req("B3.2")
@pytest.mark.parametrize("meant", ["sandbox", "staging"])
def test_a_caller_that_means_something_else_is_refused_before_x_hears_of_it(
    orchestrator: Agent,
    live: PlatformAccount,
    x: FakeServer,
    reviewer: User,
    approval_key: Any,
    meant: str,
) -> None:
    wanted = reviewed(orchestrator, intent(live), reviewer)

    error = failure(execute(orchestrator, wanted, meant))

    assert error["code"] == "FORBIDDEN" and list(error["details"]["errors"]) == ["environment"]
    assert x.calls() == [] and not Publication.objects.exists()


@pytest.mark.req("B3.2")
def test_an_account_of_the_sandbox_does_not_count(
    orchestrator: Agent, account: PlatformAccount, sandbox: str, x: FakeServer
) -> None:
    wanted = named(intent(account), "01a1fe10-0c11-7b4e-9a63-5b1f0a2c7d44")

    error = failure(execute(orchestrator, wanted, "production"))

    assert list(error["details"]["errors"]) == ["intent.target.channelId"]
    assert x.calls() == [] and list_posts(sandbox, account.handle) == []
    assert not Publication.objects.exists()


@pytest.mark.req("B3.3")
@pytest.mark.provokes(NAME, "PLATFORM_ERROR")
@pytest.mark.provokes(NAME, "PUBLISH_FAILED")
@pytest.mark.provokes(NAME, "SAFETY_VIOLATION")
@pytest.mark.parametrize(
    ("refuse", "code", "retryable"),
    [
        (lambda x, handle: x.revoke(handle), "PLATFORM_ERROR", False),
        (lambda x, _: x.arm("rejected"), "SAFETY_VIOLATION", False),
        (lambda x, _: x.arm("500_before_effect", 10, "/2/users/me"), "PUBLISH_FAILED", True),
        (lambda x, _: x.arm("429", 10, "/2/tweets"), "RATE_LIMITED", True),
    ],
    ids=["permission withdrawn", "post rejected", "down", "busy"],
)
def test_what_x_refuses_is_told_in_the_words_of_the_document_and_nothing_is_posted(
    orchestrator: Agent,
    live: PlatformAccount,
    x: FakeServer,
    reviewer: User,
    approval_key: Any,
    refuse: Callable[[FakeServer, str], None],
    code: str,
    retryable: bool,
) -> None:
    refuse(x, live.handle)
    before = orchestrator.tasks_failed

    error = failure(signed(orchestrator, live, reviewer))

    assert (error["code"], error["retryable"]) == (code, retryable)
    assert x.calls() != [] and x.effects() == []
    assert Publication.objects.get().state == Publication.State.PUBLISH_FAILED
    orchestrator.refresh_from_db()
    assert orchestrator.tasks_failed == before + 1, "a failed intent is no success of the agent"
