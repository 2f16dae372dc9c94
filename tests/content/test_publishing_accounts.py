"""Accounts: connected by a person, renewed by one worker, and what nobody may post with."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from agents.models import Agent
from chimera.core.clock import now
from chimera.core.errors import ChimeraError
from chimera.core.models import AuditEntry
from chimera.core.secrets import encrypt
from content.connections import (
    account_check,
    account_connect,
    credentials_open,
    credentials_refresh,
    credentials_seal,
)
from content.intents import intent_of
from content.models import PlatformAccount, Publication
from content.platforms.base import Credentials, PlatformFailure
from content.platforms.registry import adapter_for
from tests.content.platforms.cases.twitter import CASE
from tests.content.platforms.stage import Stage, drive
from tests.fakes.fixtures import FakeServer

SECRETS = ("token-of-aurora", "refresh-of-aurora", "hush-hush")


@pytest.fixture
def admin(db: None) -> Client:
    User.objects.create_superuser("root", password="correct horse battery")
    client = Client()
    client.login(username="root", password="correct horse battery")
    return client


def _form(**changes: Any) -> dict[str, Any]:
    form = {
        "platform": "twitter",
        "handle": "@aurora_style",
        "mode": "live",
        "agent": "",
        "base_url": "",
        "enabled": "on",
        "access_token": SECRETS[0],
        "refresh_token": f" {SECRETS[1]} ",
        "extra": f"client_id=abc\nclient_secret={SECRETS[2]}\n",
    }
    return form | changes


ADD = "/admin/content/platformaccount/add/"


@pytest.mark.req("A5.8")
def test_a_person_connects_an_account_and_the_secrets_never_come_out_again(admin: Client) -> None:
    assert admin.post(ADD, _form()).status_code == 302

    account = PlatformAccount.objects.get()
    kept = credentials_open(account)
    assert (account.handle, kept.access_token, kept.refresh_token) == ("aurora_style", *SECRETS[:2])
    assert kept.extra == {"client_id": "abc", "client_secret": SECRETS[2]}
    entry = AuditEntry.objects.get(action="account.connected")
    assert entry.data["renewable"] is True and entry.actor.startswith("person:")
    page = f"/admin/content/platformaccount/{account.id}"
    shown = [admin.get(f"{page}/{part}/").content.decode() for part in ("change", "history")]
    stored = [str(row) for row in AuditEntry.objects.values_list("data", flat=True)]
    stored += [str(vars(row)) for row in account.history.all()]
    stored.append(bytes(account.sealed_credentials).decode())
    assert all("aurora_style" in text for text in shown)
    assert not [secret for secret in SECRETS for text in shown + stored if secret in text]


def test_saving_an_account_without_secrets_keeps_what_is_connected(admin: Client) -> None:
    admin.post(ADD, _form())
    account = PlatformAccount.objects.get()
    empty = _form(access_token="", refresh_token="", extra="", enabled="")

    admin.post(f"/admin/content/platformaccount/{account.id}/change/", empty)

    account.refresh_from_db()
    assert not account.enabled and credentials_open(account).access_token == SECRETS[0]
    assert AuditEntry.objects.filter(action="account.connected").count() == 1


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"base_url": "http://api.x.com"}, "base_url"),
        ({"base_url": "https://127.0.0.1"}, "base_url"),
        ({"base_url": "https://[::1]/"}, "base_url"),
        ({"base_url": "https://no-such-host.invalid"}, "base_url"),
        ({"mode": "sandbox"}, "mode"),
        ({"access_token": ""}, "access_token"),
        ({"extra": "client_id"}, "extra"),
    ],
)
def test_a_production_account_leads_to_a_public_https_address_alone(
    admin: Client, settings: Any, change: dict[str, str], field: str
) -> None:
    settings.CHIMERA = settings.CHIMERA.model_copy(update={"chimera_environment": "production"})

    answer = admin.post(ADD, _form(**change))

    assert answer.status_code == 200 and list(answer.context["errors"].data), answer.status_code
    assert field in answer.context["adminform"].form.errors
    assert not PlatformAccount.objects.exists()


def test_a_bare_token_of_an_older_row_is_still_read(orchestrator: Agent) -> None:
    account = PlatformAccount(sealed_credentials=encrypt(b"old-token"))
    assert credentials_open(account) == Credentials("old-token")


@pytest.mark.parametrize("changes", [{"sealed_credentials": b""}, {"enabled": False}])
@pytest.mark.req("A5.8")
def test_an_account_that_cannot_post_is_refused_before_an_approval_is_asked_for(
    changes: dict[str, Any], orchestrator: Agent
) -> None:
    row = {"mode": "live", "sealed_credentials": credentials_seal(Credentials("t")), **changes}
    account = PlatformAccount(platform="twitter", handle="aurora", **row)

    with pytest.raises(ChimeraError) as refusal:
        account_check(account, "account")

    assert refusal.value.code == "INVALID_INPUT" and list(refusal.value.errors or {}) == ["account"]


# --- the renewal of a token -----------------------------------------------------------------------


@pytest.fixture
def stage(stage_of: Callable[..., Stage]) -> Stage:
    return stage_of(CASE)


@pytest.mark.req("X2")
def test_a_worker_that_comes_second_takes_the_token_that_the_first_has_fetched(
    stage: Stage,
) -> None:
    publication = stage.begin()
    adapter = adapter_for("twitter", "local")
    first, second = (PlatformAccount.objects.get() for _ in range(2))
    intents = [intent_of(publication, adapter) for _ in range(2)]

    fresh = credentials_refresh(first, adapter, intents[0])
    also = credentials_refresh(second, adapter, intents[1])

    assert fresh.credentials == also.credentials != intents[0].credentials
    assert len(stage.server.calls("/oauth2/token")) == 1, "a refresh token is good for one use"


def test_a_worker_in_the_middle_of_a_renewal_keeps_the_others_waiting(stage: Stage) -> None:
    publication = stage.begin()
    adapter = adapter_for("twitter", "local")
    account = PlatformAccount.objects.get()
    PlatformAccount.objects.update(refresh_until=now() + timedelta(seconds=20))

    with pytest.raises(PlatformFailure) as failure:
        credentials_refresh(account, adapter, intent_of(publication, adapter))
    assert failure.value.kind == "transient_before_mutation"
    assert stage.server.calls("/oauth2/token") == []

    PlatformAccount.objects.update(refresh_until=now() - timedelta(seconds=1))
    credentials_refresh(account, adapter, intent_of(publication, adapter))
    assert len(stage.server.calls("/oauth2/token")) == 1, "a dead worker's turn runs out"


def test_an_account_connected_anew_during_a_renewal_keeps_what_the_person_gave(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    publication = stage.begin()
    adapter = adapter_for("twitter", "local")
    account = PlatformAccount.objects.get()
    theirs = Credentials("given by a person")

    def meanwhile(intent: Any) -> Credentials:
        account_connect(account=stage.account, credentials=theirs, actor="person:1")
        return Credentials("fetched")

    monkeypatch.setattr(adapter, "refresh", meanwhile)
    with pytest.raises(PlatformFailure, match="connected anew"):
        credentials_refresh(account, adapter, intent_of(publication, adapter))

    account.refresh_from_db()
    assert credentials_open(account).access_token == "given by a person"


def test_a_token_of_another_account_posts_nothing(
    stage: Stage, fake: Callable[[str], FakeServer]
) -> None:
    stranger = stage.server.account("somebody_else")
    sealed = credentials_seal(Credentials(stranger["access_token"]))
    PlatformAccount.objects.update(sealed_credentials=sealed)
    publication = stage.begin()

    assert drive(publication) == ["PLATFORM_ERROR"]
    assert "@somebody_else" in publication.error and stage.server.effects() == []
    assert publication.state == Publication.State.PUBLISH_FAILED
