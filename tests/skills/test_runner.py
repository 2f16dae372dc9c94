"""One pipeline: claims, attempts, waits, limits, endings."""

import asyncio
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from celery.exceptions import SoftTimeLimitExceeded
from django_celery_results.models import TaskResult

from agents.models import Agent
from chimera.core.clock import now
from chimera.core.errors import CODES, ChimeraError
from chimera.core.models import AuditEntry
from skills import endings, leases, runner, tasks
from skills.contract import Retry, SkillContext
from skills.models import SkillExecution, Status
from skills.retries import UNKNOWN_WAITS, retry_in
from skills.services import deadline_of, submit
from tests.helpers.calls import again, attempt, call, drive

MakeSkill = Callable[..., Any]


def queued(agent: Agent, **data: Any) -> SkillExecution:
    return submit(agent=agent, skill_name="probe", data=data, wake=False).execution


def gone_process() -> str:
    """The pid of a process that is no more."""
    process = subprocess.Popen(["true"])
    process.wait()
    return str(process.pid)


# --- claims ---------------------------------------------------------------------------------------


def test_of_two_runners_one_has_the_row(orchestrator: Agent, make_skill: MakeSkill) -> None:
    second: list[bool] = []
    nested = sync_to_async(lambda ctx: second.append(attempt(queued_one[0])) or "done")
    calls = make_skill(nested, metadata={"capabilities": {"DB"}})
    queued_one = [queued(orchestrator)]

    attempt(queued_one[0])

    assert second == [False] and len(calls) == 1


def test_a_doubled_wake_up_does_nothing(orchestrator: Agent, make_skill: MakeSkill) -> None:
    calls = make_skill()
    execution = call(orchestrator, "probe")

    assert not attempt(execution)

    assert len(calls) == 1 and execution.status == Status.COMPLETED


def test_what_is_not_due_is_not_run(orchestrator: Agent, make_skill: MakeSkill) -> None:
    calls = make_skill()
    execution = queued(orchestrator)
    SkillExecution.objects.update(due_at=now() + timedelta(minutes=1))

    assert not attempt(execution) and not calls


@pytest.mark.req("X3")
def test_the_lease_of_a_dead_process_is_released_at_once(
    orchestrator: Agent, make_skill: MakeSkill
) -> None:
    make_skill()
    execution = queued(orchestrator)
    leases.claim(execution.id, runner.registry.get("probe"))
    host = leases.new_lease().split("|")[0]
    SkillExecution.objects.update(lease=f"{host}|{gone_process()}|1|nonce")

    tasks.sweep()
    attempt(execution)

    assert execution.status == Status.COMPLETED and execution.claims == 2


def test_the_lease_of_a_living_process_is_left_alone(
    orchestrator: Agent, make_skill: MakeSkill
) -> None:
    make_skill()
    execution = queued(orchestrator)
    leases.claim(execution.id, runner.registry.get("probe"))

    assert leases.release_dead() == [] and not attempt(execution)


def test_a_pid_that_was_given_to_another_process_does_not_hold_the_lease() -> None:
    host, _, start, nonce = leases.new_lease().split("|")

    assert leases.holder_is_dead(f"{host}|{os.getpid()}|{int(start) - 1}|{nonce}")
    assert not leases.holder_is_dead(f"elsewhere|{os.getpid()}|1|{nonce}")


@pytest.mark.req("X3")
def test_an_expired_lease_of_another_machine_is_taken_over_and_its_late_answer_ignored(
    orchestrator: Agent, make_skill: MakeSkill
) -> None:
    make_skill()
    execution = queued(orchestrator)
    slow = leases.claim(execution.id, runner.registry.get("probe"))
    assert slow
    SkillExecution.objects.update(lease_until=now() - timedelta(seconds=1))

    attempt(execution)
    endings.fail(endings.Attempt(slow, runner.registry.get("probe")), ChimeraError("TIMEOUT"))
    execution.refresh_from_db()

    assert execution.status == Status.COMPLETED and execution.error is None


def test_a_row_that_keeps_killing_its_worker_ends_as_an_error(
    orchestrator: Agent, make_skill: MakeSkill
) -> None:
    calls = make_skill()
    execution = queued(orchestrator)
    SkillExecution.objects.update(claims=runner.MAX_CLAIMS)

    drive(execution)

    assert execution.status == Status.FAILED and execution.error["code"] == "INTERNAL_ERROR"
    assert not calls


def test_a_disabled_agent_gets_nothing_done_any_more(
    orchestrator: Agent, make_skill: MakeSkill
) -> None:
    calls = make_skill()
    execution = queued(orchestrator)
    Agent.objects.update(enabled=False)

    drive(execution)

    assert execution.error["code"] == "FORBIDDEN" and not calls


# --- retries --------------------------------------------------------------------------------------


@pytest.mark.parametrize("code", sorted(Retry().codes))
@pytest.mark.req("A0.3")
def test_the_five_codes_are_tried_three_times(
    code: str, orchestrator: Agent, make_skill: MakeSkill
) -> None:
    calls = make_skill(ChimeraError(code))

    execution = call(orchestrator, "probe")

    assert len(calls) == 3 and execution.retry_count == 2
    assert execution.status == Status.FAILED and execution.error["code"] == code


@pytest.mark.parametrize("code", sorted(set(CODES) - Retry().codes - {"OUTCOME_UNKNOWN"}))
@pytest.mark.req("A0.3")
def test_every_other_code_fails_at_once(
    code: str, orchestrator: Agent, make_skill: MakeSkill
) -> None:
    calls = make_skill(ChimeraError(code))

    execution = call(orchestrator, "probe")

    assert len(calls) == 1 and execution.status == Status.FAILED


@pytest.mark.req("A0.3")
def test_waits_double_from_one_second_with_up_to_a_second_of_jitter(
    orchestrator: Agent, make_skill: MakeSkill, unsteady: ChimeraError, time_machine: Any
) -> None:
    time_machine.move_to("2026-11-21T10:00:00Z", tick=False)
    make_skill(unsteady, retry=Retry(3))
    execution = queued(orchestrator)

    for least in (1, 2, 4):
        attempt(execution)
        wait = (execution.due_at - now()).total_seconds()
        assert execution.status == Status.RETRYING and least <= wait <= least + 1
        time_machine.shift(wait)


@pytest.mark.req("A0.3")
def test_a_source_that_asks_for_a_longer_wait_gets_it(
    orchestrator: Agent, make_skill: MakeSkill
) -> None:
    make_skill(ChimeraError("RATE_LIMITED", backoff_sec=20))
    execution = queued(orchestrator)

    attempt(execution)

    assert (execution.due_at - now()).total_seconds() > 19


@pytest.mark.req("A0.3")
def test_success_after_a_retry_completes_with_its_count(
    orchestrator: Agent, make_skill: MakeSkill, unsteady: ChimeraError
) -> None:
    make_skill([unsteady, "fine"])

    execution = call(orchestrator, "probe")

    assert execution.status == Status.COMPLETED and execution.output == {"word": "fine"}
    assert execution.retry_count == 1 and execution.error is None


@pytest.mark.req("I3")
def test_an_effect_that_is_not_idempotent_is_never_tried_again(
    orchestrator: Agent, make_skill: MakeSkill, unsteady: ChimeraError
) -> None:
    calls = make_skill(unsteady, metadata={"side_effects": True, "idempotent": False})

    execution = call(orchestrator, "probe")

    assert len(calls) == 1 and execution.status == Status.FAILED


@pytest.mark.parametrize("metadata", [{}, {"side_effects": True}, {"idempotent": False}])
@pytest.mark.req("I3")
def test_what_is_idempotent_or_has_no_effect_is_tried_again(
    metadata: Any, orchestrator: Agent, make_skill: MakeSkill, unsteady: ChimeraError
) -> None:
    calls = make_skill([unsteady, "fine"], metadata=metadata)

    assert call(orchestrator, "probe").status == Status.COMPLETED and len(calls) == 2


@pytest.mark.req("I3", "X2", "X3")
def test_an_effect_that_is_not_idempotent_is_not_repeated_when_its_worker_dies(
    orchestrator: Agent, make_skill: MakeSkill
) -> None:
    power_cut = KeyboardInterrupt()  # passes through the pipeline, as a kill does
    calls = make_skill([power_cut, "again"], metadata={"side_effects": True, "idempotent": False})
    execution = queued(orchestrator)
    with pytest.raises(KeyboardInterrupt):
        attempt(execution)
    SkillExecution.objects.update(lease_until=now() - timedelta(seconds=1))

    attempt(execution)

    assert execution.status == Status.FAILED and execution.error["code"] == "OUTCOME_UNKNOWN"
    assert len(calls) == 1


@pytest.mark.req("I3", "X2")
def test_an_effect_that_is_not_idempotent_and_unknown_is_not_looked_up_by_doing_it_again(
    orchestrator: Agent, make_skill: MakeSkill
) -> None:
    unknown = ChimeraError("OUTCOME_UNKNOWN")
    calls = make_skill(unknown, metadata={"side_effects": True, "idempotent": False})

    assert call(orchestrator, "probe").status == Status.FAILED and len(calls) == 1


@pytest.mark.req("A0.4")
def test_no_attempt_begins_that_could_not_end_before_the_deadline(
    orchestrator: Agent, make_skill: MakeSkill, unsteady: ChimeraError
) -> None:
    calls = make_skill(unsteady)
    execution = queued(orchestrator)
    SkillExecution.objects.update(deadline_at=now() + timedelta(milliseconds=500))

    drive(execution)

    assert len(calls) == 1 and execution.status == Status.FAILED


@pytest.mark.req("A0.4")
def test_the_deadline_covers_every_attempt_and_every_wait(make_skill: MakeSkill) -> None:
    make_skill(metadata={"timeout_sec": 10})

    assert deadline_of(runner.registry.get("probe")).total_seconds() >= 3 * 10 + 2 + 3


# --- time limits ----------------------------------------------------------------------------------


@pytest.mark.req("A0.4")
def test_code_that_awaits_for_too_long_is_ended(orchestrator: Agent, make_skill: MakeSkill) -> None:
    make_skill(lambda ctx: asyncio.sleep(30), retry=Retry(0))
    started = time.monotonic()

    execution = call(orchestrator, "probe")

    assert execution.error["code"] == "TIMEOUT" and execution.error["http_status"] == 504
    assert time.monotonic() - started < 5


@contextmanager
def soft_limit(seconds: float) -> Iterator[None]:
    """Celery's soft time limit: the signal of the pool raises in the main thread of its process."""

    def strike(*_: Any) -> None:
        raise SoftTimeLimitExceeded

    before = signal.signal(signal.SIGALRM, strike)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _block(ctx: SkillContext[Any]) -> str:
    time.sleep(30)
    return "too late"


@pytest.mark.req("A0.4")
def test_code_that_blocks_for_too_long_is_ended_by_the_workers_limit(
    orchestrator: Agent, make_skill: MakeSkill
) -> None:
    make_skill(sync_to_async(_block), retry=Retry(0))
    started = time.monotonic()

    with soft_limit(0.6):
        execution = call(orchestrator, "probe")

    assert execution.error["code"] == "TIMEOUT" and time.monotonic() - started < 5


@pytest.mark.req("A0.4")
def test_a_skill_with_a_time_out_code_of_its_own_uses_it(
    orchestrator: Agent, make_skill: MakeSkill
) -> None:
    make_skill(lambda ctx: asyncio.sleep(30), timeout_code="FILTER_TIMEOUT")

    assert call(orchestrator, "probe").error["code"] == "FILTER_TIMEOUT"


# --- errors ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("raised", "code"),
    [
        (ValueError("the word is empty"), "INVALID_INPUT"),
        (ConnectionResetError(), "NETWORK_ERROR"),
        (TimeoutError(), "TIMEOUT"),
        (KeyError("secret of the inside"), "INTERNAL_ERROR"),
        (lambda ctx: 7, "INTERNAL_ERROR"),
    ],
)
@pytest.mark.req("I5")
def test_whatever_a_skill_raises_is_an_error_of_the_table(
    raised: Any, code: str, orchestrator: Agent, make_skill: MakeSkill
) -> None:
    make_skill(raised, retry=Retry(0))

    execution = call(orchestrator, "probe")

    assert execution.status == Status.FAILED and execution.error["code"] == code
    assert "secret of the inside" not in str(execution.error)


@pytest.mark.parametrize(
    ("raised", "code", "attempts"),
    [
        (ValueError("the word is empty"), "INVALID_INPUT", 1),
        (ConnectionResetError(), "NETWORK_ERROR", 3),
        (ZeroDivisionError(), "INTERNAL_ERROR", 1),
        (ChimeraError("SECURITY_VIOLATION"), "SECURITY_VIOLATION", 1),
    ],
    ids=["validation", "runtime", "critical", "security"],
)
@pytest.mark.req("I5")
def test_each_kind_of_error_is_tried_as_often_as_it_may_and_only_security_is_audited(
    raised: Exception, code: str, attempts: int, orchestrator: Agent, make_skill: MakeSkill
) -> None:
    calls = make_skill(raised)

    execution = call(orchestrator, "probe")

    assert execution.error["code"] == code and len(calls) == attempts
    audited = AuditEntry.objects.filter(object_id=str(execution.id))
    assert audited.count() == (code == "SECURITY_VIOLATION")


def test_a_failure_keeps_its_partial_output(orchestrator: Agent, make_skill: MakeSkill) -> None:
    make_skill(ChimeraError("FILTER_TIMEOUT", output={"word": "half"}))

    execution = call(orchestrator, "probe")

    assert execution.status == Status.FAILED and execution.output == {"word": "half"}


# --- unknown outcomes -----------------------------------------------------------------------------


@pytest.mark.req("X2", "A0.3")
def test_an_unknown_outcome_is_a_state_and_is_looked_up_for_as_long_as_it_takes(
    orchestrator: Agent, make_skill: MakeSkill
) -> None:
    unknown = ChimeraError("OUTCOME_UNKNOWN")
    calls = make_skill([unknown] * 8 + ["found"])
    execution = call(orchestrator, "probe")
    assert execution.status == Status.OUTCOME_UNKNOWN and execution.retry_count == 0

    for _ in range(8):
        again(execution)

    assert execution.status == Status.COMPLETED and len(calls) == 9


def test_the_waits_between_look_ups_grow_to_a_minute(
    orchestrator: Agent, make_skill: MakeSkill
) -> None:
    make_skill()
    execution, unknown = queued(orchestrator), ChimeraError("OUTCOME_UNKNOWN")
    waits = []
    for claims in range(1, 12):
        execution.claims = claims
        waits.append(retry_in(execution, runner.registry.get("probe"), unknown))

    assert waits[: len(UNKNOWN_WAITS)] == list(UNKNOWN_WAITS) and waits[-1] == 60


# --- wake-ups -------------------------------------------------------------------------------------


@pytest.fixture
def woken(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Ids of executions that the sweep wakes, in place of a broker."""
    found: list[str] = []
    monkeypatch.setattr(tasks, "wake_up", lambda execution, skill: found.append(str(execution.id)))
    return found


@pytest.mark.req("X3")
def test_a_lost_wake_up_is_found_by_the_sweep(
    orchestrator: Agent, make_skill: MakeSkill, woken: list[str]
) -> None:
    make_skill()
    execution = queued(orchestrator)
    SkillExecution.objects.update(hinted_at=now() - timedelta(seconds=10))

    tasks.sweep()
    tasks.sweep()

    assert woken == [str(execution.id)], "woken once, then left alone for a while"


def test_a_fresh_call_is_not_swept(
    orchestrator: Agent, make_skill: MakeSkill, woken: list[str]
) -> None:
    make_skill()
    queued(orchestrator)

    tasks.sweep()

    assert woken == []


# --- cache ----------------------------------------------------------------------------------------


@pytest.mark.req("A0.8")
def test_the_same_input_is_served_from_cache_and_says_so(
    orchestrator: Agent, make_skill: MakeSkill
) -> None:
    calls = make_skill(cache_seconds=300)

    first, second = call(orchestrator, "probe"), call(orchestrator, "probe")
    other = call(orchestrator, "probe", word="other")

    assert (first.cached, second.cached, other.cached) == (False, True, False)
    assert second.output == first.output and len(calls) == 2


def test_the_cache_ends_with_its_time(
    orchestrator: Agent, make_skill: MakeSkill, time_machine: Any
) -> None:
    time_machine.move_to("2026-11-21T10:00:00Z", tick=False)
    calls = make_skill(cache_seconds=300)
    call(orchestrator, "probe")
    time_machine.shift(200)
    call(orchestrator, "probe")
    time_machine.shift(101)

    third = call(orchestrator, "probe")

    assert not third.cached and len(calls) == 2, "a served copy does not prolong the cache"


def test_a_failure_is_never_served_from_cache(orchestrator: Agent, make_skill: MakeSkill) -> None:
    make_skill([ChimeraError("LLM_ERROR"), "fine"], cache_seconds=300)

    failed, second = call(orchestrator, "probe"), call(orchestrator, "probe")

    assert failed.status == Status.FAILED
    assert second.status == Status.COMPLETED and not second.cached


def test_a_source_that_is_down_is_replaced_by_the_stale_copy(
    orchestrator: Agent, make_skill: MakeSkill
) -> None:
    make_skill(["old", ChimeraError("UNAVAILABLE")], stale_codes=frozenset({"UNAVAILABLE"}))
    call(orchestrator, "probe")

    second = call(orchestrator, "probe")

    assert second.status == Status.COMPLETED and second.output == {"word": "old"}
    assert second.warnings == ["STALE_CACHE"] and second.cached


# --- the task's row -------------------------------------------------------------------------------


@pytest.mark.req("C4")
def test_the_task_has_a_result_row_without_payload(
    orchestrator: Agent, make_skill: MakeSkill
) -> None:
    make_skill(["canary-in-the-output"])
    execution = queued(orchestrator, word="canary-in-the-input")

    attempt(execution, task_id="task-1")

    row = TaskResult.objects.get(task_id="task-1")
    assert row.status == "SUCCESS" and row.task_args == f'["{execution.id}"]'
    assert "canary" not in str(vars(row))


@pytest.mark.req("C4")
def test_a_failed_call_has_a_failed_row(orchestrator: Agent, make_skill: MakeSkill) -> None:
    make_skill(ChimeraError("LLM_ERROR"))

    execution = call(orchestrator, "probe")

    assert TaskResult.objects.get(task_id=str(execution.id)).status == "FAILURE"
