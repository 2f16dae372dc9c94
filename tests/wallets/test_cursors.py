"""A cursor that no page has given out."""

from typing import Any

import pytest

from agents.models import Agent
from wallets.models import Wallet


@pytest.mark.parametrize("cursor", ["cD14eXo=", "cD0A", "cD0="])
def test_a_strange_cursor_of_the_entries_is_no_fault_of_ours(
    cursor: str, wallet: Wallet, cashier: Agent, api: Any
) -> None:
    answer = api(cashier).get(f"/api/v1/wallets/{wallet.address}/entries/?cursor={cursor}")

    assert answer.status_code == 400 and list(answer.json()["errors"]) == ["cursor"]
