"""Bodies and answers of the approvals API."""

from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationInfo,
    field_validator,
)
from pydantic_core import PydanticCustomError

from chimera.core.clock import Moment, now
from chimera.core.money import Money
from content.execution_intents import ExecutionIntent

PlatformName = Literal["twitter", "tiktok", "instagram", "youtube"]
CurrencyName = Literal["USDC", "ETH", "BASE"]
NetworkName = Literal["mainnet", "base", "sepolia", "base-sepolia", "devnet"]
Address = Annotated[
    str, Field(pattern=r"^0x[a-fA-F0-9]{40}$", description="Ethereum or Base address")
]


class PublishBody(BaseModel):
    """Ask to publish a stored, validated content package."""

    model_config = ConfigDict(extra="forbid")
    action: Literal["publish_content"] = Field(description="What is asked for")
    content_id: UUID = Field(description="The content package, validated with valid=true")
    platform: PlatformName = Field(description="Where to post")
    account: str | None = Field(
        None, max_length=100, description="Handle of the account; default: the agent's own"
    )
    schedule_time: Moment | None = Field(None, description="When to post; default: at once")
    fallback_platforms: list[PlatformName] = Field(
        [], max_length=3, description="Platforms to use if this one fails, without it"
    )

    @field_validator("schedule_time")
    @classmethod
    def _ahead(cls, value: Moment | None) -> Moment | None:
        if value and value <= now():
            raise ValueError("is in the past; leave it out to publish at once")
        return value

    @field_validator("fallback_platforms")
    @classmethod
    def _others(cls, value: list[str], info: ValidationInfo) -> list[str]:
        if info.data.get("platform") in value:
            raise ValueError("must not hold the platform itself; leave it out")
        return value


class DebitBody(BaseModel):
    """Ask for a payment out of a wallet."""

    model_config = ConfigDict(extra="forbid")
    action: Literal["debit_wallet"] = Field(description="What is asked for")
    wallet_address: Address = Field(description="The wallet that pays")
    amount: Money = Field(ge=0, description="Amount, at least 0.01")
    currency: CurrencyName = Field(
        description="Currency; BASE is the native coin of the Base network"
    )
    tx_description: str = Field(
        min_length=1, max_length=200, pattern=r"\S", description="What it is for"
    )
    idempotency_key: UUID = Field(description="Prevents a second charge")
    recipient: Address | None = Field(None, description="Payee; default: the settlement address")
    network: NetworkName | None = Field(
        None, description="Network of the wallet; default: where it lives"
    )


class IntentBody(BaseModel):
    """Ask for an ExecutionIntent; its approvedBy and trace.reviewId make no difference here."""

    model_config = ConfigDict(extra="forbid")
    action: Literal["execute_publish_intent"] = Field(description="What is asked for")
    intent: ExecutionIntent = Field(description="The intent, exactly as it will be executed")


ACTIONS = ("publish_content", "debit_wallet", "execute_publish_intent")


def _with_action(body: Any) -> Any:
    if isinstance(body, dict) and body.get("action") not in ACTIONS:
        message = f"give {', '.join(ACTIONS[:-1])} or {ACTIONS[-1]}"
        raise PydanticCustomError("action", message, {"discriminator": "action"})
    return body


ApprovalBody = Annotated[
    PublishBody | DebitBody | IntentBody,
    Field(discriminator="action"),
    BeforeValidator(_with_action),
]


class ApprovalOut(BaseModel):
    """An approval request."""

    id: UUID
    status: Literal[
        "pending", "approved", "rejected", "changes_requested", "expired", "revoked", "consumed"
    ]
    kind: Literal["publish_content", "debit_wallet", "execute_publish_intent"]
    action: dict[str, Any]
    action_digest: str
    sentence: str
    lane: Literal["fast", "standard", "careful"]
    confidence: float | None
    reason: str | None
    execution_id: UUID | None
    created_at: datetime
    expires_at: datetime
    decided_at: datetime | None
    token_expires_at: datetime | None
    approval_token: str | None = Field(description="Once approved, to the requesting agent alone")
