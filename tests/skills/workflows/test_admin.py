"""Workflows in the admin: a change is a new version, wrong text names step and field, acts are audited."""

from typing import Any

import pytest
from django.contrib.auth.models import Permission, User
from django.test import Client

from agents.models import Agent
from chimera.core.models import AuditEntry
from skills.workflows.models import StandIn, StoredWorkflow, WorkflowRun
from skills.workflows.scheduled import start_scheduled
from skills.workflows.services import definition_get, run_start, workflow_store
from tests.skills.workflows.test_engine import driven

pytestmark = [pytest.mark.django_db, pytest.mark.req("W2")]
LIST = "/admin/skills/storedworkflow/"
RUNS = "/admin/skills/workflowrun/"
FLOW = """
name: tidy
steps:
  - name: count
    skill_name: echo
    mapping: {n: "length(rounds)"}
  - go_back: {to: {count: "steps.count.n < `1`"}, at_most: 2}
"""


BOMB = "a0: &a0 [x]\n" + "".join(
    f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 9)
)
MERGES = "a0: &a0 {x: 1}\n" + "".join(
    f"a{n}: &a{n} {{<<: [*a{n - 1}, *a{n - 1}]}}\n" for n in range(1, 17)
)


@pytest.fixture
def admin(client: Client) -> User:
    user = User.objects.create_superuser("ada", password="correct horse battery")
    client.force_login(user)
    return user


@pytest.fixture
def stored(orchestrator: Agent) -> StoredWorkflow:
    return workflow_store(agent=orchestrator, data=FLOW, actor="system:test")


def said(answer: Any) -> str:
    return " ".join(str(message) for message in answer.context["messages"])


def errors(answer: Any) -> str:
    return str(answer.context["adminform"].form.errors.as_json())


def test_a_text_is_stored_as_the_first_version_of_an_agents_workflow(
    client: Client, admin: User, orchestrator: Agent
) -> None:
    answer = client.post(f"{LIST}add/", {"agent": orchestrator.pk, "text": FLOW}, follow=True)

    assert answer.status_code == 200 and "added successfully" in said(answer)
    assert definition_get("tidy").steps[1].go_back is not None
    assert StoredWorkflow.objects.get().agent == orchestrator
    entry = AuditEntry.objects.latest("sequence")
    assert (entry.action, entry.actor) == ("workflow.stored", f"person:{admin.pk}")


def test_a_change_is_a_new_version_and_the_old_one_stays_as_it_was(
    client: Client, admin: User, stored: StoredWorkflow
) -> None:
    page = f"{LIST}{stored.pk}/change/"
    shown = client.get(page).content.decode()
    assert "name: tidy" in shown and "at most 2 times" in shown

    client.post(page, {"text": FLOW.replace("at_most: 2", "at_most: 3")})

    assert [one.version for one in StoredWorkflow.objects.all()] == [2, 1]
    kept = StoredWorkflow.objects.get(id=stored.id)
    assert kept.definition == stored.definition and kept.history.count() == 1
    way = definition_get("tidy").steps[1].go_back
    assert way is not None and way.at_most == 3


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ("echo", "ecko", "ecko"),
        ('"length(rounds)"', '"length("', "Step 1 (count), mapping.n: Is not JMESPath"),
        ("at_most: 2", "at_most: 99", "Step 2, go_back.at_most: Input should be less"),
        ("to: {count", "to: {cnt", "cnt is no earlier step"),
        ("name: tidy", "name: click-loop", "is a built-in workflow"),
        ("steps:", "steps: [", "cannot be read"),
        ("steps:", f"{BOMB}steps:", "more than 20000 values"),
        ("steps:", "x: &x [*x]\nsteps:", "more than 20000 values"),
        ("steps:", f"{MERGES}steps:", "merge key"),
        ("steps:", "x: !!bool x\nsteps:", "cannot be read"),
    ],
)
def test_a_wrong_text_names_its_step_and_field_and_stores_nothing(
    client: Client, admin: User, orchestrator: Agent, old: str, new: str, why: str
) -> None:
    wrong = FLOW.replace(old, new, 1)

    answer = client.post(f"{LIST}add/", {"agent": orchestrator.pk, "text": wrong})
    preview = client.post(f"{LIST}preview/", {"text": wrong})

    assert why in errors(answer) and preview.status_code == 400
    assert not StoredWorkflow.objects.exists()


def test_another_name_or_a_version_that_exists_is_refused(
    client: Client, admin: User, stored: StoredWorkflow, orchestrator: Agent, outsider: Agent
) -> None:
    page = f"{LIST}{stored.pk}/change/"
    assert "it stays tidy" in errors(client.post(page, {"text": FLOW.replace("tidy", "other")}))
    assert "Nothing has changed" in errors(client.post(page, {"text": FLOW}))
    body = {"agent": orchestrator.pk, "text": FLOW}
    assert "has version 1; give a higher one" in errors(client.post(f"{LIST}add/", body))
    theirs = client.post(f"{LIST}add/", body | {"agent": outsider.pk})
    assert "taken by another agent" in errors(theirs)
    assert StoredWorkflow.objects.count() == 1


def test_a_preview_shows_the_steps_and_stores_nothing(client: Client, admin: User) -> None:
    answer = client.post(f"{LIST}preview/", {"text": FLOW})

    assert answer.status_code == 200 and "at most 2 times" in answer.content.decode()
    assert not StoredWorkflow.objects.exists()
    for name in ("click-loop", "trend-to-post-with-payment"):
        assert client.get(f"{LIST}built-in/{name}/").status_code == 200
        assert name in client.get(LIST).content.decode()
    assert client.get(f"{LIST}built-in/nothing/").status_code == 404


def test_a_disabled_version_starts_no_more_and_the_log_says_who_did_it(
    client: Client, admin: User, orchestrator: Agent
) -> None:
    data = {
        "name": "often",
        "steps": [{"skill_name": "echo"}],
        "schedule": {"cron": "* * * * *"},
    }
    stored = workflow_store(agent=orchestrator, data=data, actor="system:test")

    client.post(LIST, {"action": "disable", "_selected_action": str(stored.pk), "index": "0"})

    assert stored.next_at and start_scheduled(stored.next_at) == []
    entry = AuditEntry.objects.latest("sequence")
    assert (entry.action, entry.actor) == ("workflow.disabled", f"person:{admin.pk}")


def act(client: Client, run: WorkflowRun, action: str) -> str:
    form = {"action": action, "_selected_action": str(run.pk), "index": "0"}
    return said(client.post(RUNS, form, follow=True))


def test_a_person_cancels_and_resumes_runs_and_reads_their_steps(
    client: Client, admin: User, orchestrator: Agent
) -> None:
    flow = definition_get("handle-normalization")
    run = driven(run_start(agent=orchestrator, definition=flow, data={"handle": "no handle!"}))
    page = client.get(f"{RUNS}{run.pk}/change/").content.decode()
    assert "INVALID_INPUT" in page and "Resume from what failed" in page

    assert "is resumed" in act(client, run, "resume")
    assert "is cancelled" in act(client, run, "cancel")
    assert "The run is cancelled" in act(client, run, "cancel")

    run.refresh_from_db()
    assert run.status == "cancelled"
    acts = AuditEntry.objects.filter(object_type="workflow_run").order_by("sequence")
    assert [(one.action, one.actor) for one in acts] == [
        ("workflow_run.resumed", f"person:{admin.pk}"),
        ("workflow_run.cancelled", f"person:{admin.pk}"),
    ]


def test_who_may_only_look_changes_nothing(
    client: Client, orchestrator: Agent, stored: StoredWorkflow, bystander: User
) -> None:
    bystander.is_staff = True
    bystander.save()
    names = ["view_workflowrun", "view_storedworkflow"]
    bystander.user_permissions.set(Permission.objects.filter(codename__in=names))
    client.force_login(bystander)
    run = run_start(agent=orchestrator, definition=definition_get("tidy"), data={})

    act(client, run, "cancel")
    client.post(LIST, {"action": "disable", "_selected_action": str(stored.pk), "index": "0"})
    answer = client.post(f"{LIST}{stored.pk}/change/", {"text": FLOW})

    run.refresh_from_db()
    stored.refresh_from_db()
    assert answer.status_code == 403 and run.status == "queued" and stored.enabled
    page = client.get(f"{RUNS}{run.pk}/change/").content.decode()
    assert "Cancel this run" not in page and "<pre>name: tidy\nversion: 1" in page
    assert StoredWorkflow.objects.count() == 1


def test_a_stand_in_is_named_and_removed_by_a_person_and_both_are_in_the_log(
    client: Client, admin: User, orchestrator: Agent, cashier: Agent
) -> None:
    page = "/admin/skills/standin/"
    body: dict[str, Any] = {
        "workflow": "trend-to-post-with-payment",
        "version": 1,
        "agent": orchestrator.pk,
        "role": "cfo_judge",
        "stand_in": cashier.pk,
    }
    assert "no such version" in errors(client.post(f"{page}add/", body | {"version": 7}))
    assert "has the role" in errors(
        client.post(f"{page}add/", body | {"stand_in": orchestrator.pk})
    )
    assert not StandIn.objects.exists()

    client.post(f"{page}add/", body)
    named = StandIn.objects.get()
    client.post(f"{page}{named.pk}/delete/", {"post": "yes"})

    assert not StandIn.objects.exists()
    acts = AuditEntry.objects.filter(object_type="skills.standin").order_by("sequence")
    assert [one.action for one in acts] == ["admin.added", "admin.deleted"]
