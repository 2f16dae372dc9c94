"""get_agent_profile when the database cannot be read: a stale copy with a warning, or UNAVAILABLE."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from uuid import UUID

import psycopg
import pytest
from django.conf import settings as django_settings
from django.db import connection

from agents.models import Agent
from chimera.core.clock import now
from skills.models import SkillExecution, Status
from tests.helpers.calls import call

SKILL = "get_agent_profile"
TABLE = "agents_heardhour"
"""The profile is read from it (uptime); the queue itself does without."""


@contextmanager
def table_away() -> Iterator[None]:
    """The table is not there, as after a broken migration."""
    with connection.cursor() as cursor:
        cursor.execute(f"ALTER TABLE {TABLE} RENAME TO {TABLE}_away")
    yield
    with connection.cursor() as cursor:
        cursor.execute(f"ALTER TABLE {TABLE}_away RENAME TO {TABLE}")


@contextmanager
def table_locked() -> Iterator[None]:
    """Somebody else holds the table, as a migration does while it runs."""
    main = django_settings.DATABASES["default"]
    server = {"host": main["HOST"], "port": main["PORT"] or 5432, "user": main["USER"]}
    secret = {"password": main["PASSWORD"]} if main["PASSWORD"] else {}
    with psycopg.connect(dbname=main["NAME"], **server, **secret) as other:
        other.execute(f"LOCK TABLE {TABLE} IN ACCESS EXCLUSIVE MODE")
        yield
        other.rollback()


def read(caller: Agent, agent_id: UUID) -> SkillExecution:
    return call(caller, SKILL, agent_id=str(agent_id))


@pytest.mark.provokes("get_agent_profile", "UNAVAILABLE")
@pytest.mark.req("A6.4")
@pytest.mark.django_db(transaction=True)
def test_a_profile_that_cannot_be_read_is_unavailable_at_once(
    orchestrator: Agent, outsider: Agent
) -> None:
    with table_away():
        execution = read(orchestrator, outsider.id)

    assert execution.status == Status.FAILED and execution.output is None
    assert execution.error["code"] == "UNAVAILABLE" and execution.error["http_status"] == 503
    assert execution.retry_count == 0


@pytest.mark.req("A6.4")
@pytest.mark.django_db(transaction=True)
def test_a_profile_that_was_read_before_is_served_stale_with_a_warning(
    orchestrator: Agent, outsider: Agent, time_machine: Any
) -> None:
    first = read(orchestrator, outsider.id)
    Agent.objects.filter(id=outsider.id).update(status="paused")
    time_machine.move_to(now().timestamp() + 11)

    with table_away():
        stale = read(orchestrator, outsider.id)
    fresh = read(orchestrator, outsider.id)

    assert stale.status == Status.COMPLETED and stale.warnings == ["STALE_CACHE"] and stale.cached
    assert stale.output == first.output and stale.output["status"] == "active"
    assert fresh.output["status"] == "paused" and not fresh.warnings and not fresh.cached


@pytest.mark.req("A6.2", "A6.4")
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("known", [True, False])
def test_a_database_that_keeps_the_reader_waiting_is_given_up_within_two_seconds(
    orchestrator: Agent, outsider: Agent, on_postgresql: bool, time_machine: Any, known: bool
) -> None:
    if not on_postgresql:
        pytest.skip("a reader of SQLite in WAL mode waits for nobody")
    if known:
        read(orchestrator, outsider.id)
        time_machine.move_to(now().timestamp() + 11)
    started = time.monotonic()

    with table_locked():
        execution = read(orchestrator, outsider.id)

    assert time.monotonic() - started < 3
    if known:
        assert execution.warnings == ["STALE_CACHE"] and execution.output["name"] == "Outsider"
    else:
        assert execution.error["code"] == "UNAVAILABLE"
    with connection.cursor() as cursor:
        cursor.execute("SHOW statement_timeout")
        assert cursor.fetchone() == ("0",), "the limit is for that read alone"


@pytest.mark.provokes("get_agent_profile", "AGENT_NOT_FOUND")
@pytest.mark.req("A6.5")
@pytest.mark.django_db(transaction=True)
def test_an_agent_that_is_gone_is_not_found_even_where_a_copy_is_known(
    orchestrator: Agent, outsider: Agent, time_machine: Any
) -> None:
    gone = outsider.id
    read(orchestrator, gone)
    outsider.delete()
    time_machine.move_to(now().timestamp() + 11)

    execution = read(orchestrator, gone)

    assert execution.error["code"] == "AGENT_NOT_FOUND" and execution.error["http_status"] == 404
