"""Agents in the admin: a person changes their state with a reason, and nothing else by the way."""

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from agents.admin import AgentAdmin
from agents.models import Agent
from agents.states import agent_state_update
from chimera.core import audit
from chimera.core.models import AuditEntry

LIST = "/admin/agents/agent/"


@pytest.fixture
def admin(client: Client, db: None) -> User:
    user = User.objects.create_superuser("ada", password="correct horse battery")
    client.force_login(user)
    return user


@pytest.fixture
def broken(orchestrator: Agent) -> Agent:
    """Aurora, in error."""
    changes = {"status": "error"}
    return agent_state_update(
        agent_id=orchestrator.id, changes=changes, actor="system:test", reason="No more budget"
    )


def act(client: Client, agent: Agent, action: str, reason: str) -> str:
    """What the page says after the action."""
    form = {"action": action, "reason": reason, "_selected_action": str(agent.id), "index": "0"}
    answer = client.post(LIST, form, follow=True)
    assert answer.status_code == 200
    return " ".join(str(message) for message in answer.context["messages"])


@pytest.mark.req("A7.5", "C6")
@pytest.mark.parametrize(("action", "after"), [("set_active", "active"), ("set_paused", "paused")])
def test_a_person_takes_an_agent_out_of_error_with_a_reason(
    client: Client, admin: User, broken: Agent, action: str, after: str
) -> None:
    said = act(client, broken, action, "Funded again")

    broken.refresh_from_db()
    assert (broken.status, broken.status_reason, broken.version) == (after, "Funded again", 3)
    entry = AuditEntry.objects.latest("sequence")
    assert (entry.action, entry.actor) == ("agent.state_changed", f"person:{admin.pk}")
    assert entry.data["reason"] == "Funded again" and entry.data["before"]["status"] == "error"
    assert broken.history.first().history_user == admin
    assert f"is {after} now" in said and list(audit.verify()) == []


@pytest.mark.req("A7.5")
def test_without_a_reason_nothing_changes(client: Client, admin: User, broken: Agent) -> None:
    said = act(client, broken, "set_active", "  ")

    broken.refresh_from_db()
    assert (broken.status, broken.version) == ("error", 2) and "Reason" in said


@pytest.mark.req("A7.5")
def test_what_the_table_forbids_is_refused_in_words(
    client: Client, admin: User, orchestrator: Agent
) -> None:
    act(client, orchestrator, "set_error", "Strange posts")
    act(client, orchestrator, "set_paused", "Looking into it")
    orchestrator.refresh_from_db()
    assert (orchestrator.status, orchestrator.version) == ("paused", 3)
    Agent.objects.filter(id=orchestrator.id).update(status="busy")

    page = client.get(f"{LIST}{orchestrator.id}/change/").content.decode()

    assert 'name="status"' not in page and 'name="status_reason"' not in page


def test_saving_the_form_overwrites_nothing_that_an_agent_changed_meanwhile(
    client: Client, admin: User, orchestrator: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    form = {
        "name": "Borealis",
        "type": "orchestrator",
        "capabilities": '["trend_analysis"]',
        "enabled": "on",
        "max_concurrent_tasks": "5",
        "supported_platforms": '["twitter"]',
        "pricing": "null",
    }
    save = AgentAdmin.save_model

    def just_before(self: AgentAdmin, request: Any, obj: Any, form: Any, change: bool) -> None:
        Agent.objects.filter(id=obj.id).update(tasks_succeeded=7)
        save(self, request, obj, form, change)

    monkeypatch.setattr(AgentAdmin, "save_model", just_before)

    answer = client.post(f"{LIST}{orchestrator.id}/change/", form)

    assert answer.status_code == 302, answer.context["adminform"].form.errors
    orchestrator.refresh_from_db()
    assert (orchestrator.name, orchestrator.version) == ("Borealis", 2)
    assert orchestrator.tasks_succeeded == 7 and orchestrator.history.first().name == "Borealis"
    entry = AuditEntry.objects.get(action="admin.changed")
    assert entry.data["before"]["name"] == "Aurora" and "name" in entry.data["fields"]
