"""The whole house at once: agents, a reviewer, a social platform and a chain in processes of their own."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

import pytest
from django.contrib.auth.models import User

from agents.models import Agent
from approvals.models import ApprovalRequest
from chimera.core.secrets import encrypt
from content.models import PlatformAccount
from skills.models import SkillExecution
from tests.helpers import gate
from tests.helpers.devnet import Devnet
from tests.helpers.world import list_posts, open_account
from tests.wallets.conftest import COIN, DOLLAR
from wallets import deposits, services
from wallets.models import Wallet
from wallets.networks import gateway_for


@dataclass
class House:
    """Everybody and everything of a journey, and what both outsides hold."""

    aurora: Agent
    cashier: Agent
    reviewer: User
    account: PlatformAccount
    wallet: Wallet
    world: str
    devnet: Devnet

    def post(self, **changes: Any) -> tuple[dict[str, Any], ApprovalRequest]:
        """The input of publish_content with its signed token, and the request."""
        content = gate.stored(self.aurora, **changes)
        request = gate.ask_publish(self.aurora, content)
        token = gate.signed(request, self.reviewer)
        data = {"content": content.current.data, "platform": "twitter", "approval_token": token}
        return data, request

    def payment(self, **changes: Any) -> tuple[dict[str, Any], ApprovalRequest]:
        """The input of debit_wallet with its signed token, and the request."""
        data = gate.payment(self.wallet.address, **changes)
        request = gate.ask_debit(self.cashier, data)
        return data | {"approval_token": gate.signed(request, self.reviewer)}, request

    def publish(self, data: dict[str, Any], agent: Agent | None = None) -> SkillExecution:
        return gate.call(agent or self.aurora, "publish_content", data)

    def debit(self, data: dict[str, Any], agent: Agent | None = None) -> SkillExecution:
        return gate.call(agent or self.cashier, "debit_wallet", data)

    def outside(self) -> dict[str, Any]:
        """What the platform shows, the books say and the chain holds."""
        gateway = gateway_for("devnet")
        address = self.wallet.address
        return {
            "posts": list_posts(self.world),
            "books": services.wallet_balances(self.wallet),
            "usdc": gateway.balance(address, "USDC"),
            "coin": gateway.balance(address, "ETH"),
            "sent": self.devnet.rpc("eth_getTransactionCount", address, "pending"),
            "recipient": gateway.balance(self.devnet.settlement, "USDC"),
        }

    @contextmanager
    def nothing_happens(self, request: ApprovalRequest) -> Iterator[None]:
        """Neither outside nor in the rows of the request changes."""
        before = self.outside(), gate.standing(request)
        yield
        assert (self.outside(), gate.standing(request)) == before


@pytest.fixture
def house(
    world: str,
    devnet: Devnet,
    settings: Any,
    orchestrator: Agent,
    cashier: Agent,
    approval_key: Any,
) -> House:
    settings.CHIMERA = settings.CHIMERA.model_copy(update={"chimera_world_url": world})
    handle = f"aurora_{uuid4().hex[:8]}"
    access = open_account(world, "twitter", handle)
    wallet = services.wallet_open(agent=cashier, network="devnet")
    devnet.fund(wallet.address, units=100 * DOLLAR, wei=COIN)
    deposits.deposits_scan("devnet")
    return House(
        aurora=orchestrator,
        cashier=cashier,
        reviewer=gate.decider("rita"),
        account=gate.account(
            orchestrator, handle, base_url=world, sealed_credentials=encrypt(access.encode())
        ),
        wallet=wallet,
        world=world,
        devnet=devnet,
    )
