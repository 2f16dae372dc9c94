"""Skills for tests, and the world and chain that the real ones talk to."""

from collections.abc import Callable, Iterator
from typing import Any
from uuid import UUID

import pytest
from pydantic import BaseModel, ConfigDict

from agents.models import Agent
from chimera.core.errors import ChimeraError
from chimera.core.secrets import encrypt
from content.models import PlatformAccount
from skills.catalogue import registry
from skills.contract import (
    CostClass,
    RiskLevel,
    Skill,
    SkillContext,
    SkillMetadata,
    SkillResult,
)
from tests.helpers.devnet import Devnet
from tests.helpers.world import open_account
from wallets import deposits, services
from wallets.models import Wallet

PURE: dict[str, Any] = {
    "risk_level": RiskLevel.LOW,
    "cost_class": CostClass.CHEAP,
    "side_effects": False,
    "idempotent": True,
    "timeout_sec": 0.3,
}


class Word(BaseModel):
    """One word in, one word out."""

    model_config = ConfigDict(extra="forbid")
    word: str = "hello"


class Calls(list[SkillContext[Word]]):
    """The contexts a test skill was executed with."""


@pytest.fixture
def make_skill() -> Iterator[Callable[..., Calls]]:
    """`make_skill(answer, name="probe", **attributes)` registers a skill for one test.

    answer: an exception to raise, or a function of the context (may be async), or a word; a list
    gives one answer per attempt, the last one for good.
    """
    made: list[str] = []

    def make(answer: Any = "done", name: str = "probe", **attributes: Any) -> Calls:
        calls = Calls()
        answers = answer if isinstance(answer, list) else [answer]
        metadata = SkillMetadata(**{**PURE, **attributes.pop("metadata", {})})

        async def execute(self: Skill, ctx: SkillContext[Word]) -> SkillResult:
            calls.append(ctx)
            given = answers[min(len(calls), len(answers)) - 1]
            if isinstance(given, BaseException):
                raise given
            found = given(ctx) if callable(given) else given
            found = await found if hasattr(found, "__await__") else found
            return SkillResult(output={"word": found}, output_text=str(found))

        body = {
            "name": name,
            "input_model": Word,
            "output_model": Word,
            "metadata": metadata,
            "execute": execute,
            "__module__": __name__,
            **attributes,
        }
        registry.all()  # discovery comes first
        registry.register(type(name.title(), (Skill,), body))
        made.append(name)
        return calls

    yield make
    for name in made:
        registry.forget(name)


@pytest.fixture
def unsteady() -> ChimeraError:
    """An error of the default retry table."""
    return ChimeraError("NETWORK_ERROR", "the line is noisy")


@pytest.fixture
def sandbox(world: str, settings: Any) -> str:
    """The deployment's sandbox world; its base URL."""
    settings.CHIMERA = settings.CHIMERA.model_copy(update={"chimera_world_url": world})
    return world


@pytest.fixture
def account(sandbox: str, orchestrator: Agent) -> PlatformAccount:
    """An account of Aurora's on the sandbox twitter, of this test alone."""
    handle = f"aurora_{UUID(str(orchestrator.id)).hex[-10:]}"
    token = open_account(sandbox, "twitter", handle)
    return PlatformAccount.objects.create(
        platform="twitter",
        handle=handle,
        agent=orchestrator,
        sealed_credentials=encrypt(token.encode()),
    )


@pytest.fixture
def purse(devnet: Devnet, cashier: Agent) -> Wallet:
    """The cashier's wallet with 100 USDC and 1 coin, on the chain and in the books."""
    wallet = services.wallet_open(agent=cashier, network="devnet")
    devnet.fund(wallet.address, units=100 * 10**6, wei=10**18)
    deposits.deposits_scan("devnet")
    return wallet
