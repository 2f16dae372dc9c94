"""Pay out of an agent's wallet, once a person has signed exactly this payment.

Without a token the call blocks, opens the approval request and goes on by itself when it is signed.
"""

from typing import Any, Literal
from uuid import UUID

from asgiref.sync import sync_to_async
from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, field_validator

from agents.roles import Role
from approvals.models import ApprovalRequest
from approvals.payments import debit_action
from approvals.requests import open_request
from approvals.schemas import Address, CurrencyName, DebitBody
from chimera.core.errors import ChimeraError
from chimera.core.grants import Grant
from chimera.core.money import Money, from_units
from skills.contract import (
    CostClass,
    GatedSkill,
    Retry,
    RiskLevel,
    SkillContext,
    SkillMetadata,
    SkillResult,
)
from wallets.chain.signer import validate_address
from wallets.debits import debit_advance, debit_begin, debit_of_execution, debit_preflight
from wallets.models import Debit
from wallets.services import wallet_balances

CONFIRMATION_SEC = 8.0


class Input(BaseModel):
    """Who pays how much for what."""

    model_config = ConfigDict(extra="forbid")
    wallet_address: Address = Field(description="The wallet that pays")
    amount: Money = Field(ge=0, description="Amount, at least 0.01")
    currency: CurrencyName = Field(
        description="Currency; BASE is the native coin of the Base network"
    )
    tx_description: str = Field(
        min_length=1,
        max_length=200,
        pattern=r"\S",
        description="e.g. 'OpenClaw RFP-123 payment'",
    )
    idempotency_key: UUID = Field(description="Prevents a second charge when the call is repeated")
    approval_token: str | None = Field(
        None, min_length=1, description="Signed approval; without one the call blocks"
    )
    recipient: Address | None = Field(None, description="Payee; default: the settlement address")

    @field_validator("wallet_address", "recipient")
    @classmethod
    def _checksum(cls, value: str | None) -> str | None:
        try:
            return value and validate_address(value)
        except ChimeraError as problem:
            raise ValueError(problem.message) from None

    @field_validator("amount")
    @classmethod
    def _minimum(cls, value: Any) -> Any:
        if value * 100 < 1:
            raise ValueError("must be at least 0.01")
        return value


class Output(BaseModel):
    """The settled payment."""

    success: Literal[True]
    tx_id: str = Field(description="Transaction hash")
    amount_deducted: Money
    new_balance: Money = Field(description="Available afterwards")
    confirmed_at: AwareDatetime


class DebitWallet(GatedSkill):
    """Holds, signs, broadcasts and settles; what is not final in time is outcome_unknown."""

    input_model = Input
    output_model = Output
    metadata = SkillMetadata(
        version="1.1",
        risk_level=RiskLevel.HIGH,
        cost_class=CostClass.EXPENSIVE,
        side_effects=True,
        idempotent=True,
        capabilities=frozenset({"NET", "CHAIN", "DB"}),
        timeout_sec=10,
    )
    compatible_versions = ("1.0",)
    roles = frozenset({Role.CFO_JUDGE})
    retry = Retry(3, frozenset({"TX_FAILED", "NETWORK_ERROR", "TIMEOUT"}))
    error_codes = (
        "INSUFFICIENT_BALANCE",
        "TX_FAILED",
        "INVALID_ADDRESS",
        "NETWORK_ERROR",
        "INVALID_TOKEN",
        "TOKEN_EXPIRED",
        "IDEMPOTENCY_CONFLICT",
        "OUTCOME_UNKNOWN",
        "NOT_FOUND",
    )
    escalate_codes = frozenset({"INSUFFICIENT_BALANCE", "TX_FAILED"})
    field_codes = {
        "wallet_address": "INVALID_ADDRESS",
        "recipient": "INVALID_ADDRESS",
        "approval_token": "INVALID_TOKEN",
    }
    secret_field = "approval_token"  # noqa: S105  the name of a field

    def idempotency(self, params: Input) -> tuple[str, str]:
        return f"wallet:{params.wallet_address}", str(params.idempotency_key)

    async def prepare(self, ctx: SkillContext[Input]) -> dict[str, Any]:
        return await sync_to_async(self._prepare)(ctx)

    def _prepare(self, ctx: SkillContext[Input]) -> dict[str, Any]:
        action, _ = debit_action(**ctx.params.model_dump(exclude={"approval_token"}))
        try:
            ctx.prepared = debit_preflight(action)
        except ChimeraError as problem:
            if problem.code != "WALLET_ERROR":
                raise
            message = f"The chain cannot be read, so nothing was held: {problem.message}"
            raise ChimeraError("NETWORK_ERROR", message) from problem
        return action

    def ask(self, ctx: SkillContext[Input]) -> ApprovalRequest:
        fields = ctx.params.model_dump(exclude={"approval_token"})
        request, _ = open_request(
            ctx.caller, DebitBody(action="debit_wallet", **fields), ctx.execution_id
        )
        return request

    def begin(self, ctx: SkillContext[Input], grant: Grant) -> None:
        """Holds the amount and the fee and reserves the nonce."""
        debit_begin(grant=grant, execution_id=grant.execution_id, quote=ctx.prepared)

    def under_way(self, execution_id: UUID) -> bool:
        return debit_of_execution(execution_id) is not None

    async def execute(self, ctx: SkillContext[Input]) -> SkillResult:
        return await sync_to_async(self._carry_out)(ctx)

    def _carry_out(self, ctx: SkillContext[Input]) -> SkillResult:
        assert ctx.grant  # the framework has redeemed the approval
        begun = debit_of_execution(ctx.grant.execution_id) or Debit.objects.get(
            approval_id=ctx.grant.approval_id
        )
        try:
            debit = debit_advance(begun.id, wait=CONFIRMATION_SEC)
        except ChimeraError as problem:  # the money is held and the poller goes on: not failed
            message = f"The amount is held and is sent once the chain answers: {problem.message}"
            raise ChimeraError("OUTCOME_UNKNOWN", message) from problem
        if debit.status == Debit.Status.OUTCOME_UNKNOWN:
            message = f"The transaction {debit.tx_hash} is not final yet; it is watched and never sent anew"
            raise ChimeraError("OUTCOME_UNKNOWN", message, details={"tx_id": debit.tx_hash})
        if debit.status == Debit.Status.FAILED:
            message = "The chain reverted the transaction; nothing was paid"
            raise ChimeraError("TX_FAILED", message, details={"tx_id": debit.tx_hash}, final=True)
        return _settled(debit)


def _settled(debit: Debit) -> SkillResult:
    available = wallet_balances(debit.wallet)[debit.currency].available
    output = Output.model_validate(
        {
            "success": True,
            "tx_id": debit.tx_hash,
            "amount_deducted": from_units(debit.amount, debit.currency),
            "new_balance": from_units(available, debit.currency),
            "confirmed_at": debit.finished_at,
        }
    )
    return SkillResult(
        output=output,
        output_text=f"Paid {output.amount_deducted} {debit.currency} in {debit.tx_hash}",
    )
