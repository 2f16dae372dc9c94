"""An agent is made whole, or not at all."""

import json
import socket
from collections.abc import Iterator
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from agents.models import Agent, Credential
from content.models import Platform, PlatformAccount
from tests.helpers.devnet import Devnet, start_devnet
from wallets.models import Transfer, Wallet
from wallets.services import wallet_balances

pytestmark = [pytest.mark.django_db]
ROLE = ("--role", "cfo_judge")


@pytest.fixture(scope="module")
def chain(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Devnet, Any]]:
    folder = tmp_path_factory.mktemp("chain")
    with start_devnet(folder) as running:
        yield running, folder


@pytest.fixture
def devnet(chain: tuple[Devnet, Any], settings: Any, world: str) -> Iterator[Devnet]:
    """The chain and the world of the platform under test."""
    running, folder = chain
    changes = {"chimera_data_dir": folder, "chimera_world_url": world}
    settings.CHIMERA = settings.CHIMERA.model_copy(update=changes)
    yield running
    running.rpc("chimera_resume")


@pytest.fixture
def closed_port() -> str:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{probe.getsockname()[1]}"


def refusal(*arguments: str) -> str:
    """The message of a create_agent that must fail; nothing is left behind."""
    with pytest.raises(CommandError) as refused:
        call_command("create_agent", "Penny", *ROLE, *arguments, stdout=StringIO())
    for model in (Agent, Credential, Wallet, PlatformAccount):
        assert model.objects.count() == 0, model
    message = str(refused.value)
    assert "\n" not in message
    return message


@pytest.mark.parametrize("amount", ["0.000001", "12.50", "1000000"])
def test_a_funded_agent_has_its_money_in_the_books(devnet: Devnet, amount: str) -> None:
    told = StringIO()
    call_command("create_agent", "Penny", *ROLE, "--fund", amount, "--json", stdout=told)
    wallet = Wallet.objects.get(address=json.loads(told.getvalue())["wallet_address"])
    assert wallet_balances(wallet)["USDC"].posted == round(float(amount) * 10**6)
    assert wallet.agent.accounts.count() == len(Platform.values)


@pytest.mark.parametrize(
    "amount",
    ["1e30", "1000000.000001", "0", "-1", "0.0000001", "1E-999999", "NaN", "sNaN", "Infinity", ""],
)
def test_a_fund_out_of_bounds_makes_nothing(devnet: Devnet, amount: str) -> None:
    before = devnet.rpc("eth_blockNumber")
    message = refusal(f"--fund={amount}")
    assert "--fund" in message
    assert "e.g. 250 or 12.50" in message
    assert devnet.rpc("eth_blockNumber") == before
    assert not Transfer.objects.exists()


def test_without_the_world_nothing_is_made(devnet: Devnet, settings: Any, closed_port: str) -> None:
    settings.CHIMERA = settings.CHIMERA.model_copy(update={"chimera_world_url": closed_port})
    message = refusal("--fund", "250")
    assert closed_port in message
    assert "CHIMERA_WORLD_URL" in message
    assert "PORT" in message


def test_another_server_in_the_place_of_the_world_makes_nothing(
    devnet: Devnet, settings: Any
) -> None:
    """As when PORT names a stack that is not this one; the chain answers every POST with JSON."""
    settings.CHIMERA = settings.CHIMERA.model_copy(update={"chimera_world_url": devnet.rpc_url})
    assert "CHIMERA_WORLD_URL" in refusal()


def test_without_the_chain_a_funded_agent_is_not_made(devnet: Devnet) -> None:
    devnet.rpc("chimera_fault", "down", 100)
    assert "chain" in refusal("--fund", "250")
