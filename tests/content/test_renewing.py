"""A token that could not be renewed once it has lapsed is renewed although nobody posts."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from agents.models import Agent
from chimera.core.clock import now
from content.connections import credentials_open, credentials_seal
from content.models import PlatformAccount
from content.platforms.base import Credentials
from content.tasks import renew_credentials
from tests.fakes.fixtures import FakeServer

pytestmark = [pytest.mark.django_db, pytest.mark.req("A5.8")]


@pytest.fixture
def instagram(fake: Callable[[str], FakeServer]) -> FakeServer:
    return fake("instagram")


@pytest.fixture(autouse=True)
def live(settings: Any) -> None:
    settings.CHIMERA = settings.CHIMERA.model_copy(update={"chimera_platform": "live"})


def connected(server: FakeServer, agent: Agent, days: int, **changes: Any) -> PlatformAccount:
    """Another account whose token lapses in so many days."""
    handle = f"aurora_{PlatformAccount.objects.count()}"
    given = server.account(handle, expires_at=(now() + timedelta(days=days)).isoformat())
    credentials = Credentials(given["access_token"], "", given["extra"], "first")
    return PlatformAccount.objects.create(
        **{
            "platform": "instagram",
            "handle": given["handle"],
            "mode": "live",
            "base_url": server.url,
            "agent": agent,
            "sealed_credentials": credentials_seal(credentials),
        }
        | changes
    )


def test_what_lapses_soon_is_renewed_once_and_the_rest_stays(
    instagram: FakeServer, orchestrator: Agent
) -> None:
    soon, later = (connected(instagram, orchestrator, days) for days in (9, 30))
    old = credentials_open(soon)

    renew_credentials()
    renew_credentials()

    soon.refresh_from_db()
    fresh = credentials_open(soon)
    assert fresh.access_token != old.access_token and fresh.connection == old.connection
    assert fresh.extra["expires_at"] > (now() + timedelta(days=59)).isoformat()
    assert len(instagram.calls("refresh_access_token")) == 1
    before = bytes(later.sealed_credentials)
    later.refresh_from_db()
    assert bytes(later.sealed_credentials) == before


@pytest.mark.parametrize("changes", [{"enabled": False}, {"mode": "sandbox"}, {"mode": "local"}])
def test_an_account_that_is_not_used_is_left_alone(
    instagram: FakeServer, orchestrator: Agent, changes: dict[str, Any]
) -> None:
    connected(instagram, orchestrator, 9, **changes)
    renew_credentials()
    assert instagram.calls("refresh_access_token") == []


def test_a_renewal_that_fails_leaves_the_token_and_the_others_go_on(
    instagram: FakeServer, orchestrator: Agent
) -> None:
    broken, whole = (connected(instagram, orchestrator, 9) for _ in range(2))
    before = bytes(broken.sealed_credentials)
    instagram.revoke(broken.handle)

    renew_credentials()

    broken.refresh_from_db(), whole.refresh_from_db()
    assert bytes(broken.sealed_credentials) == before and broken.refresh_until is None
    assert credentials_open(whole).extra["expires_at"] > (now() + timedelta(days=59)).isoformat()
