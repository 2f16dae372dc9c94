"""The frozen action of a payment, its sentence and what the reviewer is shown beside it."""

from decimal import Decimal
from typing import Any
from uuid import UUID

from chimera.core.errors import ChimeraError
from chimera.core.jsontext import plain
from chimera.core.money import LEDGER_CURRENCY, amount_text, from_units, readable, to_units
from wallets.chain.signer import validate_address
from wallets.models import Debit, Wallet
from wallets.networks import network_of, settlement_address
from wallets.services import wallet_balances, wallet_by_address

MINIMUM = Decimal("0.01")


def debit_action(
    *,
    wallet_address: str,
    amount: Decimal,
    currency: str,
    tx_description: str,
    idempotency_key: UUID | str,
    recipient: str | None = None,
    network: str | None = None,
) -> tuple[dict[str, Any], Wallet]:
    """The action of a payment, addresses in checksum form. INVALID_ADDRESS, NOT_FOUND, INVALID_INPUT."""
    wallet = wallet_by_address(validate_address(wallet_address), network)
    chain = network_of(wallet.network)
    target = validate_address(recipient or settlement_address(wallet.network))
    if target in (wallet.address, chain.usdc):
        message = (
            "The recipient must be another account than the wallet itself or the token contract"
        )
        raise ChimeraError("INVALID_INPUT", message, errors={"recipient": [message]})
    if amount < MINIMUM:
        message = f"The amount must be at least {MINIMUM}"
        raise ChimeraError("INVALID_INPUT", message, errors={"amount": [message]})
    to_units(amount, currency)
    action = {
        "type": "debit_wallet",
        "wallet": wallet.address,
        "recipient": target,
        "amount": amount_text(amount),
        "currency": currency,
        "network": wallet.network,
        "tx_description": tx_description,
        "idempotency_key": str(idempotency_key),
    }
    return action, wallet


def debit_sentence(action: dict[str, Any], wallet: Wallet) -> str:
    """What will happen, in one line."""
    recipient = action["recipient"]
    label = "OpenClaw settlement " if recipient == _settlement(wallet) else ""
    short = f"{label}{recipient[:6]}…{recipient[-4:]}"
    return f"Pay {readable(action['amount'])} {action['currency']} from {wallet.agent.name}'s wallet to {short}"


def _settlement(wallet: Wallet) -> str:
    """The configured settlement address in checksum form; '' where none is configured."""
    try:
        return validate_address(settlement_address(wallet.network))
    except ChimeraError:
        return ""


def debit_context(action: dict[str, Any], wallet: Wallet) -> dict[str, Any]:
    """What the reviewer is shown beside the action of a payment, as it is now."""
    currency = LEDGER_CURRENCY[action["currency"]]
    balance = wallet_balances(wallet).get(currency)
    earlier = Debit.objects.filter(recipient=action["recipient"], status="posted").order_by(
        "-created_at"
    )
    settlement = _settlement(wallet)
    context = {
        "wallet": {
            "address": wallet.address,
            "agent": wallet.agent.name,
            "network": wallet.network,
        },
        "balance": {
            "posted": from_units(balance.posted if balance else 0, currency),
            "held": from_units(balance.held if balance else 0, currency),
            "available": from_units(balance.available if balance else 0, currency),
            "currency": currency,
        },
        "recipient": {
            "address": action["recipient"],
            "label": "OpenClaw settlement" if action["recipient"] == settlement else "",
            "known": earlier.exists(),
        },
        "recent_payments": [
            {
                "amount": from_units(debit.amount, LEDGER_CURRENCY[debit.currency]),
                "currency": debit.currency,
                "at": debit.created_at,
                "tx_description": debit.tx_description,
            }
            for debit in earlier[:5]
        ],
    }
    kept: dict[str, Any] = plain(context)
    return kept
