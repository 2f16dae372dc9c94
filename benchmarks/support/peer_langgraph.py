"""The task on LangGraph with its PostgreSQL checkpointer: PEER_DATABASE RUNS APPROVALS.

A graph is walked by its caller; eight threads start runs side by side. Every step is stored before the
next one begins, as it is with the others. Prints a line of JSON.
"""

import os
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TypedDict

from langgraph.checkpoint.postgres import PostgresSaver
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command, interrupt
from psycopg.rows import dict_row
from psycopg_pool import ConnectionPool

from benchmarks.support.measuring import WARM_UP, busy, report, resident

THREADS = 8


class State(TypedDict):
    """What the steps hand on."""

    answer: str


def nothing(state: State) -> State:
    """Do nothing."""
    return state


def ask(state: State) -> State:
    """Wait for the yes."""
    return {"answer": interrupt("Go on?")}


def graph_on(pool: ConnectionPool):
    """Step, question, step."""
    saver = PostgresSaver(pool)
    saver.setup()
    made = StateGraph(State)
    made.add_node("first", nothing)
    made.add_node("ask", ask)
    made.add_node("second", nothing)
    for edge in ((START, "first"), ("first", "ask"), ("ask", "second"), ("second", END)):
        made.add_edge(*edge)
    return made.compile(checkpointer=saver)


def measure(url: str, runs: int, approvals: int) -> str:
    options = {"autocommit": True, "prepare_threshold": 0, "row_factory": dict_row}
    with ConnectionPool(url, min_size=THREADS, max_size=THREADS, kwargs=options) as pool:
        graph = graph_on(pool)

        def walk(name: str, given) -> None:
            graph.invoke(given, {"configurable": {"thread_id": name}}, durability="sync")

        def approve(name: str) -> float:
            started = time.perf_counter()
            walk(name, Command(resume="yes"))
            return time.perf_counter() - started

        def begin(names: list[str]) -> None:
            with ThreadPoolExecutor(THREADS) as threads:
                list(threads.map(lambda name: walk(name, {"answer": ""}), names))

        warm = [f"warm-{number}" for number in range(WARM_UP)]
        begin(warm)
        for name in warm:
            approve(name)
        me, names = [os.getpid()], [f"run-{number}" for number in range(runs)]
        before, started = resident(me), time.perf_counter()
        begin(names)
        starts = runs / (time.perf_counter() - started)
        memory = (resident(me) - before) * 1000 / runs
        idle = busy(me)
        waits = [approve(name) for name in names[:approvals]]
    return report(starts=starts, waits=waits, memory=memory, idle=idle)


if __name__ == "__main__":
    print(measure(sys.argv[1], int(sys.argv[2]), int(sys.argv[3])))
