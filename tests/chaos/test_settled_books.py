"""Runs after the kills of this folder: nothing may be left that does not add up."""

import pytest

from tests.helpers.stack import Stack

pytestmark = [pytest.mark.chaos, pytest.mark.req("X3")]


@pytest.mark.parametrize("command", ["reconcile", "verify_audit"])
def test_after_all_kills_books_and_chain_agree_and_the_audit_chain_is_whole(
    stack: Stack, command: str
) -> None:
    answer = stack.manage(command)
    assert answer.returncode == 0, f"{answer.stdout}{answer.stderr}"
