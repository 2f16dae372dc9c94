"""Amounts: integers of the smallest unit inside, Decimal at the edges, never a float.

USDC has 6 decimals, the native coin (ETH; BASE is its name on the Base network) 18.
"""

import re
from decimal import Context, Decimal, InvalidOperation
from typing import Annotated, Any

from pydantic import BeforeValidator, WithJsonSchema

from chimera.core.errors import ChimeraError

DECIMALS = {"USDC": 6, "ETH": 18, "BASE": 18}
MAX_DIGITS = 60
_EXACT = Context(prec=2 * MAX_DIGITS)  # the default context rounds after 28 digits
_TEXT = re.compile(r"-?\d+(\.\d+)?", re.ASCII)
LEDGER_CURRENCY = {"USDC": "USDC", "ETH": "ETH", "BASE": "ETH"}


def to_units(amount: Decimal, currency: str) -> int:
    """Smallest units of an exact amount; more decimals than the currency has is INVALID_INPUT."""
    scaled = amount.scaleb(DECIMALS[currency], _EXACT)
    if scaled != scaled.to_integral_value():
        message = f"{currency} has {DECIMALS[currency]} decimals; {amount:f} has more"
        raise ChimeraError("INVALID_INPUT", message, errors={"amount": [message]})
    return int(scaled)


def from_units(units: int, currency: str) -> Decimal:
    """Exact amount of a number of smallest units."""
    return Decimal(units).scaleb(-DECIMALS[currency], _EXACT)


def amount_text(amount: Decimal) -> str:
    """The canonical text of an amount inside an action: plain digits, no exponent, no trailing zeros."""
    text = format(amount.normalize(_EXACT), "f")
    return "0" if text in ("-0", "") else text


def readable(amount: Decimal | str) -> str:
    """An amount as people read it: every digit, at least two decimals, thousands apart."""
    exact = Decimal(amount)
    places = max(2, -int(exact.normalize().as_tuple().exponent)) if exact else 2
    return f"{exact:,.{places}f}".replace("-", "−")


def _exact(value: Any) -> Decimal:
    if isinstance(value, bool) or not isinstance(value, int | str | Decimal):
        raise ValueError("give the amount as an exact JSON number or a decimal string")
    if isinstance(value, str) and not (len(value) <= MAX_DIGITS and _TEXT.fullmatch(value)):
        raise ValueError(f"not a decimal number of at most {MAX_DIGITS} digits")
    try:
        amount = Decimal(value)
    except (InvalidOperation, TypeError, ValueError):
        raise ValueError("not a decimal number") from None
    if not amount.is_finite():
        raise ValueError("not a finite number")
    if max(abs(amount.adjusted()), len(amount.as_tuple().digits)) > MAX_DIGITS:
        raise ValueError(f"has more than {MAX_DIGITS} digits")
    return amount


Money = Annotated[
    Decimal,
    BeforeValidator(_exact),
    WithJsonSchema(
        {"anyOf": [{"type": "number"}, {"type": "string", "pattern": r"^\d+(\.\d+)?$"}]}
    ),
]
