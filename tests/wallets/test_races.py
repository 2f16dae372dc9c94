"""Real processes on one wallet, in a database of their own: the database alone decides."""

import json
import os
from collections.abc import Iterator
from functools import partial
from typing import Any
from uuid import uuid4

import pytest

from tests.helpers.crew import AtOnce, crew
from tests.helpers.servers import own_database

PROCESSES = 4


@pytest.fixture(scope="module")
def processes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AtOnce]:
    """Runs the race worker several times at once; gives the lines that all printed."""
    folder = tmp_path_factory.mktemp("race")
    with own_database(folder) as database:
        env = os.environ | {
            "DATABASE_URL": database,
            "CHIMERA_DATA_DIR": str(folder / "var"),
            "SECRET_KEY": "only for this race, and long enough for everybody, really",
        }
        with crew("tests.wallets.race_worker", env) as started:
            yield partial(started, count=PROCESSES)


def books(run: AtOnce, wallet: str) -> dict[str, Any]:
    facts: dict[str, Any] = json.loads(run("show", wallet, count=1)[0])
    assert facts["sum"] == 0
    assert facts["available"] >= 0
    return facts


@pytest.mark.req("A9.3", "X1")
def test_200_debits_at_once_take_what_is_there_and_no_more(processes: AtOnce) -> None:
    """100 USDC, 200 attempts of 1 USDC, 4 processes: 100 get it, with nonces in a row."""
    (wallet,) = processes("open", 100_000_000, count=1)
    won = processes("debit", wallet, 50, "1")
    assert len(set(won)) == len(won) == 100
    facts = books(processes, wallet)
    assert (facts["held"], facts["available"], facts["debits"]) == (100_000_000, 0, 100)
    assert facts["nonces"] == list(range(100))
    assert facts["next_nonce"] == 100
    assert facts["audited"] == 100


@pytest.mark.req("A9.2")
def test_one_key_from_many_processes_is_one_debit(processes: AtOnce) -> None:
    (wallet,) = processes("open", 100_000_000, count=1)
    answers = processes("debit", wallet, 3, "1", uuid4())
    assert len(answers) == 3 * PROCESSES
    assert len(set(answers)) == 1
    facts = books(processes, wallet)
    assert (facts["held"], facts["nonces"], facts["audited"]) == (1_000_000, [0], 1)


def test_one_arrival_found_by_many_scanners_is_posted_once(processes: AtOnce) -> None:
    (wallet,) = processes("open", 1, count=1)
    posted = processes("deposit", wallet, 20)
    assert len(posted) == 20
    assert books(processes, wallet)["posted"] == 1 + 20


def test_a_hold_that_many_finish_ends_once(processes: AtOnce) -> None:
    (wallet,) = processes("open", 20_000_000, count=1)
    processes("debit", wallet, 20, "1", count=1)
    finished = processes("finish", wallet, 20)
    assert len({line.split()[1] for line in finished}) == len(finished) == 20
    facts = books(processes, wallet)
    assert facts["held"] == 0
    voided = sum(line.startswith("voided") for line in finished)
    assert facts["posted"] == facts["available"] == voided * 1_000_000
