"""An approved debit action, read exactly; and the price of carrying it out."""

from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any
from uuid import UUID

from chimera.core.errors import ChimeraError
from chimera.core.money import DECIMALS, LEDGER_CURRENCY, from_units, to_units
from wallets import ledger, services
from wallets.chain.signer import Fees, transfer_call, validate_address
from wallets.models import Wallet
from wallets.networks import gateway_for, network_of


@dataclass(frozen=True)
class Order:
    """Who pays whom how much: `units` of `currency`, the ledger's name for it (USDC or ETH)."""

    wallet: str
    recipient: str
    units: int
    currency: str
    network: str
    tx_description: str
    idempotency_key: UUID


@dataclass(frozen=True)
class Quote:
    """What the order's transaction may cost: gas units and wei per gas, for this order alone."""

    order: Order
    gas: int
    fees: Fees
    fee_limit: int


def order_of(action: dict[str, Any]) -> Order:
    """The order inside an action `{type: "debit_wallet", ...}`. INVALID_INPUT, INVALID_ADDRESS."""
    if action.get("type") != "debit_wallet":
        raise _invalid("type", "give an action of type debit_wallet")
    if action["currency"] not in DECIMALS:
        raise _invalid("currency", f"give one of {', '.join(DECIMALS)}")
    try:
        key, amount = UUID(str(action["idempotency_key"])), Decimal(action["amount"])
    except (ValueError, InvalidOperation, TypeError):
        raise _invalid("amount", "give a decimal string, and a UUID as idempotency_key") from None
    if not amount.is_finite() or amount <= 0:
        raise _invalid("amount", "give more than zero")
    return Order(
        wallet=validate_address(action["wallet"]),
        recipient=validate_address(action["recipient"]),
        units=to_units(amount, action["currency"]),
        currency=LEDGER_CURRENCY[action["currency"]],
        network=action["network"],
        tx_description=action["tx_description"],
        idempotency_key=key,
    )


def _invalid(field: str, remedy: str) -> ChimeraError:
    return ChimeraError("INVALID_INPUT", f"{field}: {remedy}", errors={field: [remedy]})


def quote_of(order: Order) -> Quote:
    """Price an order and try it out on the node without sending it.

    INSUFFICIENT_BALANCE when the books do not hold amount and gas, TX_FAILED when the transaction
    would fail, NETWORK_ERROR without an answer. Nothing is held or reserved.
    """
    wallet = services.wallet_by_address(order.wallet, order.network)
    _require(wallet, order.currency, order.units, gas=False)
    network, gateway = network_of(order.network), gateway_for(order.network)
    call = transfer_call(
        recipient=order.recipient,
        units=order.units,
        currency=order.currency,
        usdc=network.usdc,
    )
    fees = gateway.fees()
    estimate = gateway.estimate_gas(order.wallet, call["to"], call["value"], call["data"])
    gas = estimate + estimate // 4
    quote = Quote(order, gas, fees, gas * fees.max_fee_per_gas)
    also_paid = order.units if order.currency == "ETH" else 0
    _require(wallet, "ETH", quote.fee_limit + also_paid, gas=True)
    return quote


def _require(wallet: Wallet, currency: str, units: int, *, gas: bool) -> None:
    """An early, friendly refusal; the database decides when the units are held."""
    available = ledger.balances(wallet)[currency].available
    if units > available:
        raise ledger.insufficient(currency, units, available, gas=gas)


def amount_text(units: int, currency: str) -> str:
    """Units as plain digits of the currency, for messages and the audit log."""
    return f"{from_units(units, currency):f}"
