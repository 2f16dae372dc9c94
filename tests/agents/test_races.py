"""Several processes that change one agent at once, on a database of their own."""

import json
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import jwt
import pytest

from tests.helpers.gate_process import ROOT, Stage, stage

PROCESSES, TIMES = 3, 8
WORKER = [sys.executable, "-m", "tests.agents.race_worker"]


@pytest.fixture(scope="module")
def own_stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    with stage(tmp_path_factory.mktemp("agents")) as made:
        yield made


def at_once(own_stage: Stage, *what: str, processes: int = PROCESSES) -> list[Any]:
    """What all the processes printed."""
    running = [
        subprocess.Popen(
            [*WORKER, *what], cwd=ROOT, env=own_stage.env, stdout=subprocess.PIPE, text=True
        )
        for _ in range(processes)
    ]
    printed = [process.communicate(timeout=120)[0] for process in running]
    assert all(process.returncode == 0 for process in running)
    return [json.loads(line) for text in printed for line in text.splitlines()]


@pytest.fixture
def agent_id(own_stage: Stage) -> str:
    (made,) = at_once(own_stage, "make", processes=1)
    return str(made)


@pytest.mark.req("A7.2", "X3")
def test_of_changes_that_expect_the_same_version_one_is_made(
    own_stage: Stage, agent_id: str
) -> None:
    answers = at_once(own_stage, "states", agent_id, "1", str(TIMES))

    assert sorted(answers, key=str) == [2] + ["CONCURRENCY_ERROR"] * (PROCESSES * TIMES - 1)


@pytest.mark.req("A7.2", "X3")
def test_changes_that_expect_no_version_are_all_made_one_after_the_other(
    own_stage: Stage, agent_id: str
) -> None:
    answers = at_once(own_stage, "states", agent_id, "0", str(TIMES))

    assert sorted(answers) == list(range(2, 2 + PROCESSES * TIMES))


@pytest.mark.req("A10.2", "X3")
def test_every_statement_has_a_sequence_of_its_own_and_all_are_of_one_key(
    own_stage: Stage, agent_id: str
) -> None:
    answers = at_once(own_stage, "sign", agent_id, str(TIMES))

    kids = {jwt.get_unverified_header(signature)["kid"] for _, signature in answers}
    assert len(kids) == 1, "the processes agreed on one key"
    assert sorted(number for number, _ in answers) == list(range(1, 1 + PROCESSES * TIMES))
