"""Several processes that change one agent at once, on a database of their own."""

import json
from collections.abc import Iterator

import jwt
import pytest

from tests.helpers.crew import AtOnce, crew
from tests.helpers.gate_process import stage

PROCESSES, TIMES = 3, 8


@pytest.fixture(scope="module")
def at_once(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AtOnce]:
    """Gives what all the processes printed."""
    with (
        stage(tmp_path_factory.mktemp("agents")) as made,
        crew("tests.agents.race_worker", made.env) as started,
    ):
        yield lambda *what, count=PROCESSES: [
            json.loads(line) for line in started(*what, count=count)
        ]


@pytest.fixture
def agent_id(at_once: AtOnce) -> str:
    (made,) = at_once("make", count=1)
    return str(made)


@pytest.mark.req("A7.2", "X3")
def test_of_changes_that_expect_the_same_version_one_is_made(
    at_once: AtOnce, agent_id: str
) -> None:
    answers = at_once("states", agent_id, "1", TIMES)

    assert sorted(answers, key=str) == [2] + ["CONCURRENCY_ERROR"] * (PROCESSES * TIMES - 1)


@pytest.mark.req("A7.2", "X3")
def test_changes_that_expect_no_version_are_all_made_one_after_the_other(
    at_once: AtOnce, agent_id: str
) -> None:
    answers = at_once("states", agent_id, "0", TIMES)

    assert sorted(answers) == list(range(2, 2 + PROCESSES * TIMES))


@pytest.mark.req("A10.2", "X3")
def test_every_statement_has_a_sequence_of_its_own_and_all_are_of_one_key(
    at_once: AtOnce, agent_id: str
) -> None:
    answers = at_once("sign", agent_id, TIMES)

    kids = {jwt.get_unverified_header(signature)["kid"] for _, signature in answers}
    assert len(kids) == 1, "the processes agreed on one key"
    assert sorted(number for number, _ in answers) == list(range(1, 1 + PROCESSES * TIMES))
