"""Waiting for an execution without holding a thread, and telling the client how it goes."""

import asyncio
import time
from functools import partial
from typing import Any

from skills.mcp.server.threads import in_thread
from skills.models import FINAL, SkillExecution, Status

LONGEST_WAIT = 55
"""Seconds; a client gives up on a silent call after 60."""
_LONGEST_PAUSE = 0.25


async def settled(ctx: Any, execution: SkillExecution, seconds: float) -> SkillExecution:
    """The execution once it ends, waits for a person or for its time; or as it is after `seconds`."""
    until, pause = time.monotonic() + seconds, 0.01
    steps, told = 0, ""
    while True:
        if execution.status != told:
            steps, told = steps + 1, execution.status
            await ctx.session.report_progress(steps, None, f"{execution.skill}: {told}")
        if _is_settled(execution) or time.monotonic() >= until:
            break
        await asyncio.sleep(pause)
        pause = min(pause * 1.5, _LONGEST_PAUSE)
        looked_at = ["status", "scheduled_for"]
        await in_thread(partial(execution.refresh_from_db, fields=looked_at))
    await in_thread(execution.refresh_from_db)
    return execution


def _is_settled(execution: SkillExecution) -> bool:
    waits_for_its_time = execution.scheduled_for is not None and execution.status == Status.QUEUED
    return execution.status in (*FINAL, Status.BLOCKED) or waits_for_its_time
