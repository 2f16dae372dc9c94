"""Check a wallet's balance on the chain."""

from typing import Literal

from asgiref.sync import sync_to_async
from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, field_validator

from agents.roles import Role
from chimera.core.errors import ChimeraError
from chimera.core.money import Money, from_units
from skills.contract import (
    CostClass,
    Retry,
    RiskLevel,
    Skill,
    SkillContext,
    SkillMetadata,
    SkillResult,
)
from wallets.chain.signer import validate_address
from wallets.networks import gateway_for
from wallets.services import wallet_by_address


class Input(BaseModel):
    """Which wallet."""

    model_config = ConfigDict(extra="forbid")
    wallet_address: str = Field(
        pattern=r"^0x[a-fA-F0-9]{40}$", description="Ethereum or Base wallet address"
    )

    @field_validator("wallet_address")
    @classmethod
    def _checksum(cls, value: str) -> str:
        try:
            return validate_address(value)
        except ChimeraError as problem:
            raise ValueError(problem.message) from None


class Output(BaseModel):
    """The balance as the chain shows it."""

    wallet_address: str
    balance: Money = Field(ge=0)
    currency: Literal["USDC", "ETH", "BASE"]
    last_updated: AwareDatetime
    network: Literal["mainnet", "base", "sepolia", "base-sepolia", "devnet"]


class FetchWalletBalance(Skill):
    """Reads USDC through the network's gateway; a known copy when the network is down."""

    input_model = Input
    output_model = Output
    metadata = SkillMetadata(
        risk_level=RiskLevel.LOW,
        cost_class=CostClass.CHEAP,
        side_effects=False,
        idempotent=True,
        capabilities=frozenset({"NET", "CHAIN", "DB"}),
        timeout_sec=5,
    )
    roles = frozenset({Role.CFO_JUDGE})
    retry = Retry(2, frozenset({"NETWORK_ERROR", "WALLET_ERROR"}))
    timeout_code = "NETWORK_ERROR"
    cache_seconds = 30
    stale_codes = frozenset({"NETWORK_ERROR"})
    error_codes = ("WALLET_ERROR", "NETWORK_ERROR", "INVALID_ADDRESS", "NOT_FOUND")
    escalate_codes = frozenset({"WALLET_ERROR"})
    field_codes = {"wallet_address": "INVALID_ADDRESS"}

    async def execute(self, ctx: SkillContext[Input]) -> SkillResult:
        output = await sync_to_async(_balance)(ctx)
        return SkillResult(output=output, output_text=f"{output.balance} {output.currency}")


def _balance(ctx: SkillContext[Input]) -> Output:
    wallet = wallet_by_address(ctx.params.wallet_address)
    units = gateway_for(wallet.network).balance(wallet.address, "USDC")
    return Output.model_validate(
        {
            "wallet_address": wallet.address,
            "balance": from_units(units, "USDC"),
            "currency": "USDC",
            "last_updated": ctx.now(),
            "network": wallet.network,
        }
    )
