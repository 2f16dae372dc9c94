"""What admins see of approvals."""

import pytest
from django.contrib.auth.models import User
from django.test import Client

from agents.models import Agent
from approvals.escalations import escalation_open
from approvals.models import Escalation
from tests.helpers.desk_samples import agent

pytestmark = [pytest.mark.django_db, pytest.mark.req("C5")]


def _item(about: Agent) -> Escalation:
    escalation_open(
        agent_id=about.pk,
        execution_id=None,
        skill="debit_wallet",
        code="INSUFFICIENT_BALANCE",
        sentence="The wallet is empty",
        context={},
    )
    return Escalation.objects.get()


def test_an_admin_sees_escalations_and_changes_none(client: Client) -> None:
    item = _item(agent())
    client.force_login(User.objects.create_superuser("boss", password="a-long-demo-password"))
    listed = client.get("/admin/approvals/escalation/")
    assert "The wallet is empty" in listed.content.decode()
    answer = client.post(f"/admin/approvals/escalation/{item.pk}/change/", {"state": "settled"})
    assert answer.status_code == 403
    item.refresh_from_db()
    assert item.state == Escalation.State.OPEN
