"""GET /api/v1/wallets/{address}/ and its entries: for the owning agent and for a cfo_judge."""

from datetime import datetime
from decimal import Decimal
from typing import Annotated, Any, Literal
from uuid import UUID

from drf_spectacular.utils import OpenApiParameter, extend_schema
from pydantic import BaseModel, Field, WithJsonSchema
from rest_framework.generics import ListAPIView
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from agents.auth import agent_of
from agents.roles import Role
from chimera.core.clock import iso
from chimera.core.errors import ChimeraError
from chimera.core.money import from_units
from chimera.core.schema import PROBLEMS, schema_of
from wallets.ledger import Balance
from wallets.models import Entry, Wallet
from wallets.services import wallet_balances, wallet_by_address

Amount = Annotated[Decimal, WithJsonSchema({"type": "number"})]
Currency = Literal["USDC", "ETH"]


class BalanceOut(BaseModel):
    """What a wallet holds of one currency."""

    currency: Currency
    posted: Amount = Field(description="Settled")
    held: Amount = Field(description="Of that, set aside for payments under way")
    available: Amount = Field(description="The rest")


class WalletOut(BalanceOut):
    """A wallet; the balance beside `balances` is that of USDC."""

    address: str
    agent_id: UUID
    network: str
    balances: list[BalanceOut]


class EntryOut(BaseModel):
    """A posted leg of a transfer."""

    id: int
    transfer_id: UUID
    kind: Literal["deposit", "debit", "fee"]
    currency: Currency
    amount: Amount = Field(description="With its sign: what came in is positive")
    tx_hash: str | None
    reference: str
    created_at: datetime


NETWORK = OpenApiParameter(
    "network", str, description="Network of the wallet; needed where the address is on several"
)


class WalletDetail(APIView):
    """A wallet with its balances; the fields beside `balances` are those of USDC."""

    scopes = {"GET": "wallets:read"}

    @extend_schema(
        operation_id="wallet",
        parameters=[NETWORK],
        responses={200: schema_of(WalletOut), **PROBLEMS},
    )
    def get(self, request: Request, address: str) -> Response:
        wallet = visible_wallet(request, address)
        shown = [_balance(currency, units) for currency, units in wallet_balances(wallet).items()]
        body = {"address": wallet.address, "agent_id": wallet.agent_id, "network": wallet.network}
        return Response(body | shown[0] | {"balances": shown})


class WalletEntries(ListAPIView):  # type: ignore[type-arg]  # no serializer: presented by a function
    """The posted legs on a wallet's accounts, newest first; amounts carry their sign."""

    scopes = {"GET": "wallets:read"}
    queryset = Entry.objects.none()

    @extend_schema(
        operation_id="wallet_entries",
        parameters=[NETWORK, OpenApiParameter("limit", int), OpenApiParameter("cursor", str)],
        responses={200: schema_of(EntryOut), **PROBLEMS},
    )
    def get(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        wallet = visible_wallet(request, kwargs["address"])
        entries = Entry.objects.filter(account__wallet=wallet).select_related(
            "account", "transfer__chain_transaction"
        )
        page = self.paginate_queryset(entries) or []
        return self.get_paginated_response([_entry(entry) for entry in page])


def visible_wallet(request: Request, address: str) -> Wallet:
    """The wallet, if the caller owns it or is a cfo_judge; else NOT_FOUND."""
    caller = agent_of(request)
    wallet = wallet_by_address(address, request.query_params.get("network"))
    if wallet.agent_id != caller.id and caller.type != Role.CFO_JUDGE:
        raise ChimeraError("NOT_FOUND", f"This deployment has no wallet {address}")
    return wallet


def _balance(currency: str, units: Balance) -> dict[str, Any]:
    return {
        "currency": currency,
        "posted": _amount(units.posted, currency),
        "held": _amount(units.held, currency),
        "available": _amount(units.available, currency),
    }


def _amount(units: int, currency: str) -> Decimal:
    """Exact; nothing is a plain 0, as 0E-18 is hard to read."""
    return from_units(units, currency) if units else Decimal(0)


def _entry(entry: Entry) -> dict[str, Any]:
    transfer, currency = entry.transfer, entry.account.currency
    sent = transfer.chain_transaction
    return {
        "id": entry.id,
        "transfer_id": transfer.id,
        "kind": transfer.kind,
        "currency": currency,
        "amount": from_units(entry.signed, currency),
        "tx_hash": transfer.tx_hash or (sent and sent.tx_hash),
        "reference": transfer.reference,
        "created_at": iso(entry.created_at),
    }
