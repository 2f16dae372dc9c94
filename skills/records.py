"""The structured log record of every call: var/log/skills.jsonl and standard output.

A call that is refused at the door (permission, input, idempotency) has a record too, without an
execution_id; what is refused before the skill is known (identity, rate, name) has none.
"""

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from agents.models import Agent
from chimera.core import metrics
from chimera.core.clock import iso, now
from chimera.core.digest import digest
from chimera.core.errors import ChimeraError
from chimera.core.jsontext import dumps, plain
from skills.contract import Skill
from skills.models import SkillExecution, Status

log = logging.getLogger("chimera.skills.record")


@dataclass
class Call:
    """A call that may still be refused. data: the input, once it has been read."""

    data: Any = None


def input_hash(skill: Skill, data: dict[str, Any]) -> str:
    """SHA-256 over the canonical input without its secret."""
    return digest({key: value for key, value in data.items() if key != skill.secret_field})


def write(execution: SkillExecution, code: str | None) -> None:
    """The record of a finished execution: one JSON object on one line, hashes instead of payloads.

    code: why it failed, also where its output says so.
    """
    _write(
        skill_name=execution.skill,
        agent_id=execution.agent_id,
        timestamp=iso(execution.completed_at),
        input_hash=execution.input_hash,
        output_hash=execution.output_hash or None,
        duration_ms=execution.duration_ms,
        error_code=code or _warned(execution),
        retry_count=execution.retry_count,
        success=execution.status == Status.COMPLETED and code is None,
        execution_id=execution.id,
        trace_id=execution.trace_id,
    )


@contextmanager
def refused(skill: Skill, agent: Agent, trace_id: str) -> Iterator[Call]:
    """Record and count the call that is made inside, if it is refused."""
    call, started = Call(), time.monotonic()
    try:
        yield call
    except ChimeraError as refusal:
        taken = int((time.monotonic() - started) * 1000)
        _write(
            skill_name=skill.name,
            agent_id=agent.id,
            timestamp=iso(now()),
            input_hash=_raw_hash(skill, call.data),
            output_hash=None,
            duration_ms=taken,
            error_code=refusal.code,
            retry_count=0,
            success=False,
            execution_id=None,
            trace_id=trace_id,
        )
        metrics.count(skill.name, duration_ms=taken, error_code=refusal.code, retries=0)
        raise


def _raw_hash(skill: Skill, data: Any) -> str | None:
    """The hash of an input as it came; None for one that has no canonical form."""
    try:
        return input_hash(skill, plain(data))
    except (ValueError, TypeError, AttributeError, ArithmeticError):
        return None


def _write(**fields: Any) -> None:
    log.info(dumps(fields))


def _warned(execution: SkillExecution) -> str | None:
    """Codes that show up in the record of a completed execution (A1.7, A3.7)."""
    shown = [
        code
        for code in execution.warnings
        if code in ("VALIDATION_FAILED", "MEDIA_GENERATION_FAILED")
    ]
    return shown[0] if shown else None
