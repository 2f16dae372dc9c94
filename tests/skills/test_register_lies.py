"""A directory that lies about an agent cannot stop the agent from registering."""

from typing import Any

import pytest
from pytest_httpserver import HTTPServer

from agents.models import Agent, AgentKey, Registration
from skills.models import Status
from skills.profiles import profile_of
from tests.helpers.calls import call

pytestmark = pytest.mark.req("A10.2")
ENTRY = {
    "directory_id": "oc-1",
    "profile_url": "https://directory.example/agents/1",
    "registered_at": "2026-01-01T00:00:00Z",
}


@pytest.fixture
def liar(httpserver: HTTPServer, settings: Any, orchestrator: Agent) -> HTTPServer:
    """A directory that refuses to say whether it took a statement."""
    url = httpserver.url_for("/").rstrip("/")
    settings.CHIMERA = settings.CHIMERA.model_copy(update={"chimera_openclaw_url": url})
    httpserver.expect_request(f"/agents/{orchestrator.id}", method="PUT").respond_with_data(
        "down", status=503
    )
    return httpserver


@pytest.mark.parametrize("signature", ["forged", None, 7, "a.b.c"])
def test_a_newer_statement_that_the_agent_has_not_signed_is_not_believed(
    liar: HTTPServer, orchestrator: Agent, signature: Any
) -> None:
    shown = ENTRY | {"signature": signature, "sequence": 2**53}
    liar.expect_request(f"/agents/{orchestrator.id}", method="GET").respond_with_json(shown)

    execution = call(
        orchestrator, "register_openclaw_profile", agent_profile=profile_of(orchestrator)
    )

    assert execution.status == Status.COMPLETED and execution.output == {"registered": False}
    assert execution.warnings == ["REGISTRATION_FAILED"]
    assert AgentKey.objects.get().sequence == 1, "the next statement can still be numbered"
    assert Registration.objects.get().entry is None


def test_an_older_statement_of_the_agent_is_not_believed_under_a_higher_number(
    liar: HTTPServer, orchestrator: Agent
) -> None:
    given = {"agent_profile": profile_of(orchestrator)}
    address = f"/agents/{orchestrator.id}"
    liar.expect_request(address, method="GET").respond_with_data("", status=404)
    call(orchestrator, "register_openclaw_profile", **given)
    older = Registration.objects.get().signature
    liar.clear()
    liar.expect_request(address, method="PUT").respond_with_data("down", status=503)
    replayed = ENTRY | {"signature": older, "sequence": 2**53}
    liar.expect_request(address, method="GET").respond_with_json(replayed)

    execution = call(orchestrator, "register_openclaw_profile", **given)

    assert execution.output == {"registered": False}
    assert AgentKey.objects.get().sequence == 2
