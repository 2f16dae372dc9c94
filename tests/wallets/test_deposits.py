"""What arrives on the chain stands in the books once."""

import logging
from io import StringIO
from typing import Any

import pytest
from django.core.management import call_command

from agents.models import Agent
from chimera.core.errors import ChimeraError
from chimera.core.models import AuditEntry
from tests.helpers.devnet import Devnet
from tests.wallets.conftest import COIN, DOLLAR
from wallets import deposits, services
from wallets.fields import LARGEST
from wallets.models import ChainCursor, Transfer, Wallet
from wallets.tasks import settle_and_scan

pytestmark = [pytest.mark.django_db]


def test_usdc_and_coin_are_posted_once_each(funded: Wallet) -> None:
    booked = services.wallet_balances(funded)
    assert (booked["USDC"].posted, booked["ETH"].posted) == (100 * DOLLAR, COIN)
    assert Transfer.objects.filter(kind="deposit").count() == 2


def test_a_second_scan_finds_nothing_new(funded: Wallet) -> None:
    assert deposits.deposits_scan("devnet") == 0


def test_a_scan_of_the_same_blocks_again_posts_nothing_twice(funded: Wallet) -> None:
    """As after a crash between the deposits and the cursor."""
    booked = services.wallet_balances(funded)
    ChainCursor.objects.update(last_block=-1)
    assert deposits.deposits_scan("devnet") == 0
    assert services.wallet_balances(funded) == booked


def test_a_node_that_is_down_leaves_the_cursor(funded: Wallet, devnet: Devnet) -> None:
    cursor = ChainCursor.objects.get()
    devnet.rpc("chimera_fault", "down", 100)
    with pytest.raises(ChimeraError, match="NETWORK_ERROR"):
        deposits.deposits_scan("devnet")
    assert ChainCursor.objects.get().last_block == cursor.last_block
    devnet.rpc("chimera_resume")
    devnet.fund(funded.address, units=7)
    assert deposits.deposits_scan("devnet") == 1
    assert services.wallet_balances(funded)["USDC"].posted == 100 * DOLLAR + 7


def test_money_of_strangers_is_not_ours(funded: Wallet, devnet: Devnet) -> None:
    devnet.fund(devnet.settlement, units=5)
    assert deposits.deposits_scan("devnet") == 0


def test_two_wallets_find_their_own(funded: Wallet, agent: Agent, devnet: Devnet) -> None:
    other = services.wallet_open(agent=agent, network="devnet")
    devnet.fund(other.address, units=3)
    devnet.fund(funded.address, units=4)
    assert deposits.deposits_scan("devnet") == 2
    assert services.wallet_balances(other)["USDC"].posted == 3


def test_after_a_refused_deposit_the_next_one_is_posted(
    funded: Wallet, devnet: Devnet, caplog: pytest.LogCaptureFixture
) -> None:
    devnet.fund(funded.address, units=LARGEST + 1)
    with caplog.at_level(logging.ERROR, "chimera.wallets"):
        assert deposits.deposits_scan("devnet") == 0
    assert funded.address in caplog.text
    assert services.wallet_balances(funded)["USDC"].posted == 100 * DOLLAR
    assert ChainCursor.objects.get().last_block == int(devnet.rpc("eth_blockNumber"), 16)
    devnet.fund(funded.address, units=7)
    assert deposits.deposits_scan("devnet") == 1
    assert services.wallet_balances(funded)["USDC"].posted == 100 * DOLLAR + 7


def test_a_refused_deposit_has_one_audit_entry_however_many_look(
    funded: Wallet, devnet: Devnet
) -> None:
    hashes = devnet.fund(funded.address, units=LARGEST + 1)
    start = ChainCursor.objects.get().last_block
    for _ in range(3):
        deposits.deposits_scan("devnet")
        ChainCursor.objects.update(last_block=start)
    (entry,) = AuditEntry.objects.filter(action="deposit.refused")
    assert entry.data["tx_hash"] in hashes
    assert entry.object_id == f"{entry.data['tx_hash']}/{entry.data['log_index']}"
    assert "10**36" in entry.data["reason"]
    assert entry.data["amount"] == "1" + "0" * 30 + ".000000"


def test_a_sum_that_the_account_cannot_hold_is_refused_and_the_next_deposit_posted(
    funded: Wallet, devnet: Devnet
) -> None:
    devnet.fund(funded.address, units=LARGEST - 50 * DOLLAR)
    devnet.fund(funded.address, units=9)
    assert deposits.deposits_scan("devnet") == 1
    assert services.wallet_balances(funded)["USDC"].posted == 100 * DOLLAR + 9
    assert AuditEntry.objects.filter(action="deposit.refused").count() == 1
    assert AuditEntry.objects.filter(action="wallet.deposit").count() == 3


def test_reconcile_shows_a_refused_deposit_as_drift(funded: Wallet, devnet: Devnet) -> None:
    devnet.fund(funded.address, units=LARGEST + 1)
    told = StringIO()
    with pytest.raises(SystemExit) as ending:
        call_command("reconcile", stderr=told, no_color=True)
    assert ending.value.code == 1
    (line,) = told.getvalue().splitlines()
    assert line.startswith(f"drift: {funded.address} on devnet: books 100.000000 USDC, chain 1000")


def test_a_settling_that_fails_does_not_stop_the_scan(
    funded: Wallet, devnet: Devnet, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail() -> None:
        raise ChimeraError("NETWORK_ERROR", "no route")

    monkeypatch.setattr("wallets.tasks.debits_settle", fail)
    devnet.fund(funded.address, units=7)
    assert settle_and_scan() == []
    assert services.wallet_balances(funded)["USDC"].posted == 100 * DOLLAR + 7


@pytest.mark.parametrize("problem", [ConnectionResetError("gone"), ValueError("a new defect")])
def test_a_scan_that_fails_does_not_stop_the_next_network(
    funded: Wallet,
    devnet: Devnet,
    problem: Exception,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    real = deposits.deposits_scan

    def scan(network: str) -> Any:
        if network == "base":
            raise problem
        return real(network)

    monkeypatch.setattr("wallets.tasks.deposits_scan", scan)
    ChainCursor.objects.create(network="base", last_block=0)
    devnet.fund(funded.address, units=7)
    settle_and_scan()
    assert services.wallet_balances(funded)["USDC"].posted == 100 * DOLLAR + 7
    assert "the deposit scan on base" in caplog.text
