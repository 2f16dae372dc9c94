"""GET /api/v1/wallets/{address}/ and its entries: for the owning agent and for a cfo_judge."""

from decimal import Decimal
from typing import Any

from drf_spectacular.utils import extend_schema, inline_serializer
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from agents.auth import agent_of
from agents.roles import Role
from chimera.core.clock import iso
from chimera.core.errors import ChimeraError
from chimera.core.money import from_units
from chimera.core.rest import KeysetPagination
from chimera.core.schema import PROBLEMS
from wallets.ledger import Balance
from wallets.models import Entry, Wallet
from wallets.services import wallet_balances, wallet_by_address

_AMOUNTS: dict[str, Any] = {
    "currency": serializers.ChoiceField(choices=["USDC", "ETH"]),
    "posted": serializers.DecimalField(max_digits=38, decimal_places=18, coerce_to_string=False),
    "held": serializers.DecimalField(max_digits=38, decimal_places=18, coerce_to_string=False),
    "available": serializers.DecimalField(max_digits=38, decimal_places=18, coerce_to_string=False),
}
BALANCE = inline_serializer("WalletBalance", _AMOUNTS)
WALLET = inline_serializer(
    "Wallet",
    {
        "address": serializers.CharField(),
        "agent_id": serializers.UUIDField(),
        "network": serializers.CharField(),
        **_AMOUNTS,
        "balances": inline_serializer("WalletBalances", _AMOUNTS, many=True),
    },
)
ENTRY = inline_serializer(
    "WalletEntry",
    {
        "id": serializers.IntegerField(),
        "transfer_id": serializers.UUIDField(),
        "kind": serializers.ChoiceField(choices=["deposit", "debit", "fee"]),
        "currency": serializers.ChoiceField(choices=["USDC", "ETH"]),
        "amount": serializers.DecimalField(
            max_digits=38, decimal_places=18, coerce_to_string=False
        ),
        "tx_hash": serializers.CharField(allow_null=True),
        "reference": serializers.CharField(),
        "created_at": serializers.DateTimeField(),
    },
    many=True,
)


class WalletDetail(APIView):
    """A wallet with its balances; the fields beside `balances` are those of USDC."""

    scopes = {"GET": "wallets:read"}

    @extend_schema(operation_id="wallet", responses={200: WALLET, **PROBLEMS})
    def get(self, request: Request, address: str) -> Response:
        wallet = visible_wallet(request, address)
        shown = [_balance(currency, units) for currency, units in wallet_balances(wallet).items()]
        body = {"address": wallet.address, "agent_id": wallet.agent_id, "network": wallet.network}
        return Response(body | shown[0] | {"balances": shown})


class WalletEntries(APIView):
    """The posted legs on a wallet's accounts, newest first; amounts carry their sign."""

    scopes = {"GET": "wallets:read"}
    pagination_class = KeysetPagination

    @extend_schema(operation_id="wallet_entries", responses={200: ENTRY, **PROBLEMS})
    def get(self, request: Request, address: str) -> Response:
        wallet = visible_wallet(request, address)
        entries = Entry.objects.filter(account__wallet=wallet).select_related(
            "account", "transfer__chain_transaction"
        )
        pages = KeysetPagination()
        page = pages.paginate_queryset(entries, request, view=self)
        return pages.get_paginated_response([_entry(entry) for entry in page or []])


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
