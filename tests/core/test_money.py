"""Amounts keep every digit, and what is no amount is refused."""

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from chimera.core.errors import ChimeraError
from chimera.core.jsontext import dumps, loads, unstorable
from chimera.core.money import DECIMALS, Money, amount_text, from_units, to_units

MONEY: TypeAdapter[Decimal] = TypeAdapter(Money)


@given(units=st.integers(0, 10**40), currency=st.sampled_from(sorted(DECIMALS)))
def test_units_and_amounts_are_the_same_number(units: int, currency: str) -> None:
    amount = from_units(units, currency)

    assert to_units(amount, currency) == units
    assert to_units(Decimal(amount_text(amount)), currency) == units
    assert loads(dumps(amount)) == amount


@pytest.mark.parametrize(("text", "currency"), [("0.0000001", "USDC"), ("1e-19", "ETH")])
def test_more_decimals_than_the_currency_has_is_an_error(text: str, currency: str) -> None:
    with pytest.raises(ChimeraError) as refusal:
        to_units(Decimal(text), currency)

    assert refusal.value.errors and "amount" in refusal.value.errors


@pytest.mark.parametrize(
    ("amount", "text"),
    [("25.10", "25.1"), ("100", "100"), ("1E+2", "100"), ("-0", "0"), ("0.000001", "0.000001")],
)
def test_an_action_has_one_text_for_one_amount(amount: str, text: str) -> None:
    assert amount_text(Decimal(amount)) == text


@pytest.mark.parametrize(
    "value",
    [0.1, True, None, "NaN", "Infinity", "1_000", "١٢", "", " 1", "1e5", [0, [1], 2], "9" * 61],
)
def test_what_is_no_exact_number_is_refused(value: Any) -> None:
    with pytest.raises(ValidationError):
        MONEY.validate_python(value)


@pytest.mark.parametrize("value", [Decimal("1e999999"), 10**61, Decimal("1e-61")])
def test_an_absurd_number_is_refused_before_it_is_reckoned_with(value: Any) -> None:
    with pytest.raises(ValidationError, match="digits"):
        MONEY.validate_python(value)


@pytest.mark.parametrize(
    ("value", "path"),
    [
        ("fine", None),
        ({"a": ["x", {"b": "\0"}]}, "a.1.b"),
        ({"a\0": 1}, ""),
        ("\ud800", ""),
        ({"n": 1, "t": None}, None),
    ],
)
def test_a_text_that_no_database_takes_is_found_by_its_path(value: Any, path: str | None) -> None:
    assert unstorable(value) == path
