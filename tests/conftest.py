"""The cast and the stage of every test: agents, people, no network, both databases."""

import os
from collections.abc import Iterator
from typing import Any

import pytest
from django.contrib.auth.models import Group, Permission, User
from django.core.cache import cache
from django.db import connection
from django.test import Client

from agents.models import Agent
from agents.services import agent_create, credential_issue
from approvals.keys import key_create

pytest_plugins = [
    "tests.fakes.fixtures",
    "tests.plugins.chaos",
    "tests.plugins.cleaning",
    "tests.plugins.outside",
    "tests.plugins.skips",
    "tests.plugins.static",
]
os.environ.setdefault("DJANGO_ALLOW_ASYNC_UNSAFE", "1")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Browser tests last: Playwright leaves an event loop running, beside which no other can run."""
    items.sort(key=lambda item: "playwright" in getattr(item, "fixturenames", ()))


@pytest.fixture(autouse=True)
def own_data_dir(tmp_path: Any, settings: Any) -> Iterator[None]:
    """Every test has keys of its own, an empty cache and a password hash that costs no time."""
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
    settings.CHIMERA = settings.CHIMERA.model_copy(
        update={"chimera_approval_keys": tmp_path / "keys"}
    )
    cache.clear()
    yield


@pytest.fixture
def orchestrator(db: None) -> Agent:
    """Aurora, who may call everything but the wallet skills."""
    return agent_create(name="Aurora", role="orchestrator", actor="system:test")


@pytest.fixture
def cashier(db: None) -> Agent:
    """Cashier, who may pay once a person has signed."""
    return agent_create(name="Cashier", role="cfo_judge", actor="system:test")


@pytest.fixture
def outsider(db: None) -> Agent:
    """Another orchestrator, who has no business with Aurora's approvals."""
    return agent_create(name="Outsider", role="orchestrator", actor="system:test")


@pytest.fixture
def reviewer(db: None) -> User:
    """Rita, who may decide."""
    user = User.objects.create_user("rita", password="correct horse battery")
    group, _ = Group.objects.get_or_create(name="reviewers")
    group.permissions.add(
        Permission.objects.get(codename="decide", content_type__app_label="approvals")
    )
    user.groups.add(group)
    return user


@pytest.fixture
def bystander(db: None) -> User:
    """A person without the right to decide."""
    return User.objects.create_user("bob", password="correct horse battery")


@pytest.fixture
def approval_key(db: None, own_data_dir: None) -> Any:
    """The active key of the approval tokens."""
    return key_create(actor="system:test")


@pytest.fixture
def api(db: None) -> Any:
    """`api(agent)` -> a client that calls the REST API as this agent."""

    def as_agent(agent: Agent, scope: str = "") -> Client:
        issued = credential_issue(agent=agent, actor="system:test")
        body = {
            "grant_type": "client_credentials",
            "client_id": issued.client_id,
            "client_secret": issued.client_secret,
        }
        answer = Client().post("/oauth/token/", body | ({"scope": scope} if scope else {}))
        assert answer.status_code == 200, answer.content
        return Client(headers={"Authorization": f"Bearer {answer.json()['access_token']}"})

    return as_agent


@pytest.fixture
def on_postgresql() -> bool:
    """True where the suite runs on PostgreSQL."""
    return connection.vendor == "postgresql"
