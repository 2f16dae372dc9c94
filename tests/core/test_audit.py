"""The audit log: what is written, who is named, and what the database refuses to change."""

import threading
from collections.abc import Callable
from datetime import timedelta
from decimal import Decimal
from typing import Any
from uuid import uuid4

import pytest
from django.contrib.auth.models import User
from django.db import DatabaseError, connection, transaction
from django.test import Client

from agents.models import Agent
from agents.services import agent_create, campaign_create, credential_issue, persona_set
from approvals import services as approvals
from approvals.models import Decision
from chimera.core import audit
from chimera.core.clock import now
from chimera.core.digest import digest
from chimera.core.models import AuditEntry, AuditHead
from content.models import ContentRevision
from content.services import content_revise, content_store
from tests.content.samples import package
from tests.helpers import gate
from tests.helpers.audit_log import verified, write
from tests.helpers.tampering import ENTRIES

pytestmark = [pytest.mark.django_db]


# --- writing ----------------------------------------------------------------------------------


@pytest.mark.req("C3")
def test_entries_follow_one_another_and_say_who_and_what(log: list[AuditEntry]) -> None:
    first, second = AuditEntry.objects.order_by("sequence")[:2]
    assert (first.actor, first.action, first.object_id) == ("system:test", "thing.changed", "1")
    assert first.previous_hash == "0" * 64
    assert second.previous_hash == first.entry_hash
    assert AuditHead.objects.get().sequence == 7


@pytest.mark.django_db(transaction=True)
@pytest.mark.req("C3")
def test_an_entry_outside_a_transaction_is_refused() -> None:
    with pytest.raises(RuntimeError, match="transaction"):
        audit.record(actor="system:test", action="x", object_type="x", object_id=1, data={})
    assert not AuditEntry.objects.exists()


@pytest.mark.req("C3")
def test_an_entry_without_an_actor_is_refused(db: None) -> None:
    with pytest.raises(ValueError, match="actor"), transaction.atomic():
        audit.record(actor="", action="x", object_type="x", object_id=1, data={})
    assert not AuditEntry.objects.exists()


@pytest.mark.req("C3")
def test_a_rolled_back_change_leaves_no_entry_and_no_gap(log: list[AuditEntry]) -> None:
    with pytest.raises(ZeroDivisionError), transaction.atomic():
        write(8)
        raise ZeroDivisionError
    assert write(9).sequence == 8
    assert verified() == (0, "")


@pytest.mark.req("C3", "X1")
@pytest.mark.parametrize(
    "value",
    [
        Decimal("0.1"),
        Decimal("10.50"),
        Decimal("123456789.123456789012345678"),
        Decimal("1E+30"),
        Decimal("-0.0"),
        1.5,
        1e-7,
        2**53 + 1,
        10**40,
        True,
        None,
        "Ünï ☕ \u2028 \U0001f600",
        'quote " backslash \\ / </script>',
        "e\u0301",
        {"b": 1, "a": [1, {"z": None}], "": "empty name", "é": []},
        now() - timedelta(microseconds=1),
        uuid4(),
    ],
    ids=repr,
)
def test_whatever_is_recorded_verifies_after_a_trip_through_the_database(
    value: Any, db: None
) -> None:
    write(1, value=value)
    assert verified() == (0, "")


@pytest.mark.req("C3")
@pytest.mark.parametrize(
    ("one", "other"),
    [
        (Decimal("1E+30"), 10**30),
        (Decimal("10.50"), Decimal("10.5")),
        (Decimal("2"), 2),
        (Decimal("-0.0"), 0),
        (Decimal(2**53 + 1), 2**53 + 1),
        (
            Decimal("1234567890123456789012345678901234567890"),
            1234567890123456789012345678901234567890,
        ),
        (
            Decimal("0.1000000000000000000000000000000000000001000"),
            Decimal("0.1000000000000000000000000000000000000001"),
        ),
    ],
)
def test_equal_numbers_have_one_digest(one: Any, other: Any) -> None:
    assert digest({"n": one}) == digest({"n": other})
    assert digest({"n": one}) != digest({"n": other + 1})


@pytest.mark.django_db(transaction=True)
@pytest.mark.req("C3")
def test_the_log_is_whole_while_others_write_to_it(own_connection: Callable[..., Any]) -> None:
    """Verifying again and again beside a writer raises no false alarm."""
    write(0)
    done = threading.Event()

    def go_on_writing() -> None:
        for number in range(1, 60):
            write(number)
        done.set()

    writer = own_connection(go_on_writing)
    rounds = 0
    while not done.is_set() or not rounds:
        assert list(audit.verify()) == []
        rounds += 1
    writer.join()
    assert AuditEntry.objects.count() == 60
    assert list(audit.verify()) == []


@pytest.fixture
def own_connection() -> Callable[[Callable[[], None]], threading.Thread]:
    """Runs work in a thread with a connection of its own, where the database can have two."""
    if connection.vendor == "sqlite" and connection.is_in_memory_db():
        pytest.skip("an in-memory SQLite has one connection; the run on PostgreSQL proves it")

    def start(work: Callable[[], None]) -> threading.Thread:
        def closing() -> None:
            try:
                work()
            finally:
                connection.close()

        thread = threading.Thread(target=closing)
        thread.start()
        return thread

    return start


# --- who writes -------------------------------------------------------------------------------

Step = Callable[[Agent, User], Any]


def _request(agent: Agent) -> Any:
    return gate.opened(agent, gate.frozen_post())


def _refuse(agent: Agent, reviewer: User, how: Callable[..., Any]) -> None:
    request = _request(agent)
    digest = request.action_digest
    how(request_id=request.id, reviewer=reviewer, reason="No", shown_digest=digest)


def _consume(agent: Agent, reviewer: User) -> None:
    request = _request(agent)
    gate.redeem(gate.signed(request, reviewer), request.action, agent, uuid4())


def _revoke(agent: Agent, reviewer: User) -> None:
    request = _request(agent)
    gate.signed(request, reviewer)
    approvals.request_revoke(request_id=request.id, reviewer=reviewer, reason="No")


def _expire(agent: Agent, _: User) -> None:
    request = _request(agent)
    type(request).objects.filter(id=request.id).update(expires_at=now())
    assert approvals.requests_expire() == 1


def _store(agent: Agent, _: User) -> Any:
    made = package(content_id=str(uuid4()), media_urls=[], media_metadata=None)
    return content_store(agent=agent, package=made, trends=[], actor=agent.actor)  # type: ignore[arg-type]


def _revise(agent: Agent, reviewer: User) -> None:
    content = _store(agent, reviewer)
    content_revise(content_id=content.id, package=content.current.data, actor=agent.actor)


def _campaign(agent: Agent, _: User) -> None:
    campaign_create(
        agent=agent,
        actor="person:7",
        name="October",
        goal="Be seen by people",
        start_date=now().date(),
        budget={"total_amount": 1, "currency": "USDC"},
    )


STEPS: dict[str, tuple[str, Step]] = {
    "agent.created": (
        "person:7",
        lambda *_: agent_create(name="Newcomer", role="judge", actor="person:7"),
    ),
    "credential.issued": (
        "person:7",
        lambda agent, _: credential_issue(agent=agent, actor="person:7"),
    ),
    "persona.changed": (
        "person:7",
        lambda agent, _: persona_set(agent=agent, data=agent.persona.data, actor="person:7"),
    ),
    "campaign.created": ("person:7", _campaign),
    "content.stored": ("agent", _store),
    "content.revised": ("agent", _revise),
    "approval.requested": ("agent", lambda agent, _: _request(agent)),
    "approval.approved": ("person", lambda agent, who: gate.signed(_request(agent), who)),
    "approval.rejected": (
        "person",
        lambda agent, who: _refuse(agent, who, approvals.request_reject),
    ),
    "approval.changes_requested": (
        "person",
        lambda agent, who: _refuse(agent, who, approvals.request_changes),
    ),
    "approval.revoked": ("person", _revoke),
    "approval.consumed": ("agent", _consume),
    "approval.expired": ("system:approvals", _expire),
}


@pytest.mark.req("C3")
@pytest.mark.parametrize("action", STEPS)
def test_every_write_has_its_entry_and_names_who_did_it(
    action: str, orchestrator: Agent, approval_key: Any
) -> None:
    reviewer = gate.decider("rita")
    before = set(AuditEntry.objects.values_list("sequence", flat=True))
    expected, step = STEPS[action]
    step(orchestrator, reviewer)
    fresh = AuditEntry.objects.exclude(sequence__in=before)
    (entry,) = fresh.filter(action=action)
    names = {"agent": orchestrator.actor, "person": f"person:{reviewer.pk}"}
    assert entry.actor == names.get(expected, expected)
    assert entry.object_id
    assert verified() == (0, "")


@pytest.mark.req("C3")
def test_no_secret_stands_in_the_log(orchestrator: Agent, approval_key: Any) -> None:
    issued = credential_issue(agent=orchestrator, actor="person:7")
    token = gate.signed(_request(orchestrator), gate.decider("rita"))
    log = "\n".join(str(audit.export_line(entry)) for entry in AuditEntry.objects.all())
    assert issued.client_id in log
    assert issued.client_secret not in log
    assert token not in log and token.rpartition(".")[2] not in log


@pytest.mark.req("C3")
def test_the_admin_shows_entries_and_changes_none(orchestrator: Agent) -> None:
    admin = User.objects.create(username="ada", is_staff=True, is_superuser=True)
    client = Client()
    client.force_login(admin)
    url = f"/admin/core/auditentry/{AuditEntry.objects.latest('sequence').pk}/"
    assert client.get(f"{url}change/").status_code == 200
    assert client.post(f"{url}change/", {"actor": "nobody"}).status_code == 403
    assert client.post(f"{url}delete/", {"post": "yes"}).status_code == 403
    assert verified() == (0, "")


# --- what the database refuses ----------------------------------------------------------------

APPEND_ONLY = (ENTRIES, "approvals_decision", "content_contentrevision")
CHANGES = {
    ENTRIES: "actor = 'nobody'",
    "approvals_decision": "verdict = 'approve'",
    "content_contentrevision": "sha256 = ''",
}


@pytest.fixture
def filled(orchestrator: Agent, approval_key: Any) -> None:
    """A row in each table that only grows."""
    _refuse(orchestrator, gate.decider("rita"), approvals.request_reject)
    gate.stored(orchestrator)
    assert AuditEntry.objects.exists() and Decision.objects.exists()
    assert ContentRevision.objects.exists()


def _rows(table: str) -> list[Any]:
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT * FROM {table} ORDER BY 1")
        return list(cursor.fetchall())


@pytest.mark.req("C3", "X1")
@pytest.mark.parametrize("table", APPEND_ONLY)
@pytest.mark.parametrize(
    "statement", ["UPDATE {0} SET {1}", "DELETE FROM {0}", "TRUNCATE {0} CASCADE"]
)
def test_the_database_refuses_to_change_what_only_grows(
    table: str, statement: str, filled: None, on_postgresql: bool
) -> None:
    if statement.startswith("TRUNCATE") and not on_postgresql:
        pytest.skip("SQLite has no TRUNCATE")
    before = _rows(table)
    with (
        pytest.raises(DatabaseError, match="append-only"),
        transaction.atomic(),
        connection.cursor() as cursor,
    ):
        if on_postgresql:
            cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
        cursor.execute(statement.format(table, CHANGES[table]))
    assert _rows(table) == before


@pytest.mark.req("C3", "X1")
def test_the_application_can_neither_change_nor_delete_an_entry(log: list[AuditEntry]) -> None:
    entry = AuditEntry.objects.get(sequence=3)
    entry.actor = "nobody"
    attempts: list[Callable[[], Any]] = [
        entry.save,
        entry.delete,
        AuditEntry.objects.filter(sequence=3).delete,
        lambda: AuditEntry.objects.update(actor="nobody"),
        lambda: AuditEntry.objects.bulk_update([entry], ["actor"]),
        lambda: AuditEntry.objects.bulk_create(
            [entry], update_conflicts=True, unique_fields=["sequence"], update_fields=["actor"]
        ),
    ]
    for attempt in attempts:
        with pytest.raises(DatabaseError), transaction.atomic():
            attempt()
    assert AuditEntry.objects.get(sequence=3).actor == "system:test"
    assert verified() == (0, "")


@pytest.mark.req("C3")
@pytest.mark.django_db
def test_database_refuses_to_replace_an_entry(on_postgresql: bool) -> None:
    if on_postgresql:
        pytest.skip("PostgreSQL has no INSERT OR REPLACE")
    with transaction.atomic():
        kept = audit.record(
            actor="system:test", action="a", object_type="t", object_id=1, data={"n": 1}
        )
    with pytest.raises(DatabaseError), transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(
            "INSERT OR REPLACE INTO core_auditentry SELECT sequence, at, 'system:other', action, object_type, "
            "object_id, data, previous_hash, 'f' FROM core_auditentry WHERE sequence = %s",
            [kept.sequence],
        )
    assert AuditEntry.objects.get(sequence=kept.sequence).actor == "system:test"
