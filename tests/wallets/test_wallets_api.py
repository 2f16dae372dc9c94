"""Who may read which wallet through the API."""

import json
from decimal import Decimal
from typing import Any

import pytest
from rest_framework.test import APIRequestFactory, force_authenticate

from agents.auth import AgentPrincipal
from agents.models import Agent
from chimera.core import jsontext
from wallets import ledger
from wallets.api import WalletDetail, WalletEntries
from wallets.models import Wallet

pytestmark = [pytest.mark.django_db]
SCOPES = frozenset({"wallets:read"})


def read(
    view: Any, wallet: Wallet, caller: Agent, scopes: frozenset[str] = SCOPES, **query: Any
) -> Any:
    request = APIRequestFactory().get("/", query)
    force_authenticate(request, AgentPrincipal(caller, scopes))
    answer = view.as_view()(request, address=wallet.address)
    return answer.status_code, jsontext.loads(answer.render().content)


@pytest.fixture
def owner() -> Agent:
    return Agent.objects.create(name="Aurora", type="content_creator")


@pytest.fixture
def owned(wallet: Wallet, owner: Agent) -> Wallet:
    Wallet.objects.filter(id=wallet.id).update(agent=owner)
    for index, amount in enumerate((100_000_000, 1, 2)):
        ledger.deposit(
            wallet=wallet, currency="USDC", amount=amount, tx_hash="0x" + "c" * 64, log_index=index
        )
    return wallet


def test_the_owner_reads_exact_balances(owned: Wallet, owner: Agent) -> None:
    status, body = read(WalletDetail, owned, owner)
    assert status == 200
    assert (body["address"], body["network"], body["currency"]) == (owned.address, "devnet", "USDC")
    assert (body["posted"], body["held"]) == (Decimal("100.000003"), 0)
    assert body["available"] == Decimal("100.000003")
    assert [item["currency"] for item in body["balances"]] == ["USDC", "ETH"]


def test_an_empty_balance_goes_out_as_a_plain_zero(wallet: Wallet, agent: Agent) -> None:
    request = APIRequestFactory().get("/")
    force_authenticate(request, AgentPrincipal(agent, SCOPES))
    text = WalletDetail.as_view()(request, address=wallet.address).render().content.decode()
    assert "E-" not in text
    for item in json.loads(text, parse_float=str)["balances"]:
        assert [item[name] for name in ("posted", "held", "available")] == [0, 0, 0]


def test_a_cfo_judge_reads_any_wallet(owned: Wallet, agent: Agent) -> None:
    assert read(WalletDetail, owned, agent)[0] == 200
    assert read(WalletEntries, owned, agent)[0] == 200


@pytest.mark.parametrize("view", [WalletDetail, WalletEntries])
def test_to_every_other_agent_it_does_not_exist(owned: Wallet, view: Any) -> None:
    stranger = Agent.objects.create(name="Nosy", type="orchestrator")
    status, body = read(view, owned, stranger)
    assert (status, body["code"]) == (404, "NOT_FOUND")


def test_without_the_scope_it_is_forbidden(owned: Wallet, owner: Agent) -> None:
    status, body = read(WalletDetail, owned, owner, frozenset({"content:read"}))
    assert (status, body["code"]) == (403, "FORBIDDEN")


def test_entries_come_newest_first_in_pages(owned: Wallet, owner: Agent) -> None:
    _, first = read(WalletEntries, owned, owner, limit=2)
    assert [item["amount"] for item in first["results"]] == [
        Decimal("0.000002"),
        Decimal("0.000001"),
    ]
    assert first["previous"] is None
    cursor = first["next"].split("cursor=")[1].split("&")[0].replace("%3D", "=")
    _, second = read(WalletEntries, owned, owner, limit=2, cursor=cursor)
    assert [item["amount"] for item in second["results"]] == [100]
    assert second["next"] is None


def test_an_address_that_is_none_is_refused(owner: Agent, owned: Wallet) -> None:
    owned.address = "0x12"
    status, body = read(WalletDetail, owned, owner)
    assert (status, body["code"]) == (400, "INVALID_ADDRESS")
