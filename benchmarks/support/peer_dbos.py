"""The task on DBOS: PEER_DATABASE RUNS APPROVALS. Prints a line of JSON."""

import asyncio
import os
import sys
import time

from dbos import DBOS

from benchmarks.support.measuring import WARM_UP, busy, report, resident

waiting = 0


@DBOS.step()
async def nothing() -> None:
    """Do nothing, once."""


@DBOS.workflow()
async def task() -> None:
    """Step, wait for the yes, step."""
    global waiting
    await nothing()
    waiting += 1
    await DBOS.recv_async("approval", timeout_seconds=3600)
    await nothing()


async def begin(count: int) -> list:
    """Start so many runs and wait until they all wait."""
    wanted = waiting + count
    handles = [await DBOS.start_workflow_async(task) for _ in range(count)]
    while waiting < wanted:
        await asyncio.sleep(0.002)
    return handles


async def approve(handle) -> float:
    """Seconds from the yes to the end of the run."""
    started = time.perf_counter()
    await DBOS.send_async(handle.get_workflow_id(), "yes", "approval")
    await handle.get_result()
    return time.perf_counter() - started


async def measure(runs: int, approvals: int) -> str:
    DBOS.launch()
    for handle in await begin(WARM_UP):
        await approve(handle)
    me = [os.getpid()]
    before, started = resident(me), time.perf_counter()
    handles = await begin(runs)
    starts = runs / (time.perf_counter() - started)
    memory = (resident(me) - before) * 1000 / runs
    idle = await asyncio.to_thread(busy, me)
    waits = [await approve(handle) for handle in handles[:approvals]]
    return report(starts=starts, waits=waits, memory=memory, idle=idle)


if __name__ == "__main__":
    url, runs, approvals = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    DBOS(config={"name": "bench", "system_database_url": url, "console_log_level": "ERROR"})
    print(asyncio.run(measure(runs, approvals)), flush=True)
    os._exit(0)  # runs that still wait would hold it up
