"""What a call leaves behind: the log record, the metrics, the seal."""

import json
import logging
from collections.abc import Callable
from typing import Any

import pytest

from agents.models import Agent
from chimera.core.errors import ChimeraError
from skills import records, sealing
from skills.models import SkillExecution
from skills.services import submit
from tests.helpers.calls import call

MakeSkill = Callable[..., Any]
FIELDS = {
    "skill_name",
    "agent_id",
    "timestamp",
    "input_hash",
    "output_hash",
    "duration_ms",
    "error_code",
    "retry_count",
    "success",
    "execution_id",
    "trace_id",
}


@pytest.fixture
def lines(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The lines that the record logger writes."""
    found: list[str] = []
    handler = logging.Handler()
    monkeypatch.setattr(handler, "emit", lambda record: found.append(record.getMessage()))
    monkeypatch.setattr(records.log, "handlers", [handler])
    return found


@pytest.mark.req("A0.5")
def test_a_call_writes_one_line_with_exactly_the_agreed_fields(
    lines: list[str], orchestrator: Agent, make_skill: MakeSkill
) -> None:
    make_skill(["canary-out"])

    execution = call(orchestrator, "probe", word="canary-in")

    record = json.loads(lines[0])
    assert len(lines) == 1 and set(record) == FIELDS
    assert record["success"] is True and record["error_code"] is None
    assert record["input_hash"] == execution.input_hash and len(record["output_hash"]) == 64
    assert record["execution_id"] == str(execution.id) and "canary" not in lines[0]


@pytest.mark.req("A0.5")
def test_a_failed_call_writes_its_code_and_retries_once(
    lines: list[str], orchestrator: Agent, make_skill: MakeSkill, unsteady: ChimeraError
) -> None:
    make_skill(unsteady)

    call(orchestrator, "probe")

    record = json.loads(lines[0])
    assert len(lines) == 1, "attempts that are tried again are no calls"
    assert (record["error_code"], record["retry_count"]) == ("NETWORK_ERROR", 2)
    assert record["success"] is False and record["output_hash"] is None


@pytest.mark.req("A0.5", "A1.7")
def test_dropped_items_show_up_as_the_code_of_a_successful_record(
    lines: list[str], orchestrator: Agent, make_skill: MakeSkill
) -> None:
    make_skill(lambda ctx: ctx.warn("VALIDATION_FAILED") or "done")

    call(orchestrator, "probe")

    record = json.loads(lines[0])
    assert record["success"] is True and record["error_code"] == "VALIDATION_FAILED"


@pytest.mark.parametrize(
    ("data", "scopes", "code"),
    [
        ({"word": 7}, None, "INVALID_INPUT"),
        ({"word": "canary"}, frozenset({"executions:read"}), "FORBIDDEN"),
        ({"canary": float("nan")}, None, "INVALID_INPUT"),
        ("canary", None, "INVALID_INPUT"),
    ],
)
@pytest.mark.req("A0.5")
def test_a_call_that_is_refused_at_the_door_has_a_line_of_its_own(
    data: Any,
    scopes: Any,
    code: str,
    lines: list[str],
    orchestrator: Agent,
    make_skill: MakeSkill,
) -> None:
    make_skill()

    with pytest.raises(ChimeraError):
        submit(agent=orchestrator, skill_name="probe", data=data, scopes=scopes, wake=False)

    record = json.loads(lines[0])
    assert len(lines) == 1 and set(record) == FIELDS and "canary" not in lines[0]
    assert (record["error_code"], record["success"]) == (code, False)
    assert record["execution_id"] is None and len(record["trace_id"]) == 32
    assert not SkillExecution.objects.exists()


@pytest.mark.req("A0.5")
def test_the_line_of_a_refused_call_leaves_its_secret_out_of_the_hash(
    lines: list[str], orchestrator: Agent, make_skill: MakeSkill
) -> None:
    make_skill(secret_field="token")

    for token in ("canary-1", "canary-2"):
        with pytest.raises(ChimeraError):
            data = {"word": "x", "token": token}
            submit(agent=orchestrator, skill_name="probe", data=data, wake=False)

    first, second = (json.loads(line)["input_hash"] for line in lines)
    assert first == second and first is not None


def test_the_hash_of_an_input_is_that_of_its_defaults(
    orchestrator: Agent, make_skill: MakeSkill
) -> None:
    make_skill()

    assert (
        call(orchestrator, "probe").input_hash
        == call(orchestrator, "probe", word="hello").input_hash
        == "2d3877c4722618b6545b82fced691be6626cdcbf455f119e259d74edab5077ab"
    )


# --- seals ----------------------------------------------------------------------------------------


def test_finished_calls_are_sealed_once(orchestrator: Agent, make_skill: MakeSkill) -> None:
    make_skill()
    call(orchestrator, "probe"), call(orchestrator, "probe", word="two")

    assert (sealing.seal(), sealing.seal()) == (2, 0)
    assert list(sealing.problems()) == []


@pytest.mark.parametrize(
    "change",
    [
        {"status": "failed"},
        {"output_hash": "0" * 64},
        {"input_hash": "0" * 64},
        {"error": {"code": "TIMEOUT"}},
        {"skill": "other"},
        {"completed_at": None},
    ],
)
@pytest.mark.req("C3")
def test_a_changed_call_is_named(
    change: dict[str, Any], orchestrator: Agent, make_skill: MakeSkill
) -> None:
    make_skill()
    execution = call(orchestrator, "probe")
    call(orchestrator, "probe", word="untouched")
    sealing.seal()

    SkillExecution.objects.filter(id=execution.id).update(**change)

    (problem,) = sealing.problems()
    assert str(execution.id) in problem and problem.endswith("was changed")


@pytest.mark.req("C3")
def test_a_removed_call_is_named(orchestrator: Agent, make_skill: MakeSkill) -> None:
    make_skill()
    execution = call(orchestrator, "probe")
    gone = str(execution.id)
    sealing.seal()

    execution.delete()

    (problem,) = sealing.problems()
    assert gone in problem and problem.endswith("was removed")
