"""Skill call overhead: a no-op skill through submit, worker and result, against a bare Celery task.

Both run on the same PostgreSQL and Redis, in turn, with one prefork worker each of two processes and
django-celery-results writing a row per task. Prints calls per second and the ratio per round.

    CHIMERA_BENCH_POSTGRES=postgres://postgres@127.0.0.1:5432  CHIMERA_BENCH_REDIS=redis://127.0.0.1:6379/14
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
import redis

ROOT = Path(__file__).resolve().parent.parent
POSTGRES = os.environ.get("CHIMERA_BENCH_POSTGRES", "postgres://postgres@127.0.0.1:5432")
REDIS = os.environ.get("CHIMERA_BENCH_REDIS", "redis://127.0.0.1:6379/14")
DATABASE = "chimera_bench_execution"
CALLS, ROUNDS, WARM_UP = 600, 3, 50
PATIENCE = 120.0


def environment(data_dir: str) -> None:
    """Point this process and the workers it starts at the scratch servers."""
    os.environ |= {
        "DATABASE_URL": f"{POSTGRES}/{DATABASE}",
        "CELERY_BROKER_URL": REDIS,
        "CACHE_URL": REDIS,
        "CHIMERA_DATA_DIR": data_dir,
        "CHIMERA_RATE_LIMIT": "1000000",
        "DJANGO_SETTINGS_MODULE": "benchmarks.support.settings",
        "PYTHONPATH": str(ROOT),
    }


@contextmanager
def scratch_database(name: str) -> Any:
    """The address of an empty database, gone afterwards."""
    with psycopg.connect(f"{POSTGRES}/postgres", autocommit=True) as server:
        server.execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")
        server.execute(f"CREATE DATABASE {name}")
        try:
            yield f"{POSTGRES}/{name}".replace("postgres://", "postgresql://")
        finally:
            server.execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")


@contextmanager
def scratch_servers() -> Any:
    """An empty database and an empty Redis index, gone afterwards."""
    broker = redis.Redis.from_url(REDIS)
    if broker.dbsize():
        sys.exit(f"{REDIS} is not empty; name a free index with CHIMERA_BENCH_REDIS")
    with scratch_database(DATABASE):
        try:
            yield
        finally:
            broker.flushdb()


@contextmanager
def worker(queue: str) -> Any:
    """A prefork worker of two processes on one queue."""
    command = [
        sys.executable,
        "-m",
        "celery",
        "-A",
        "chimera",
        "worker",
        "--pool",
        "prefork",
        "-c",
        "2",
        "-Q",
        queue,
    ]
    quiet = ["--without-gossip", "--without-mingle", "--without-heartbeat", "--loglevel", "ERROR"]
    process = subprocess.Popen(
        [*command, *quiet],
        cwd=ROOT,
        env={**os.environ, "CHIMERA_PROCESS": "worker"},
        stdout=subprocess.DEVNULL,
    )
    try:
        yield process
    finally:
        process.terminate()
        process.wait(timeout=30)


def await_count(rows: Any, wanted: int) -> None:
    """Wait until so many rows are there."""
    deadline = time.monotonic() + PATIENCE
    while rows.count() < wanted:
        if time.monotonic() > deadline:
            sys.exit(f"only {rows.count()} of {wanted} finished within {PATIENCE:g} s")
        time.sleep(0.01)


def bare(number: int) -> float:
    """Calls per second of a bare task: send, run, result row."""
    from django_celery_results.models import TaskResult

    from benchmarks.support.tasks import noop

    before = TaskResult.objects.count()
    started = time.perf_counter()
    for _ in range(number):
        noop.delay()
    await_count(TaskResult.objects.all(), before + number)
    return number / (time.perf_counter() - started)


def ours(agent: Any, number: int) -> float:
    """Calls per second of a no-op skill: submit, run, finished execution with its result row."""
    from skills.models import SkillExecution
    from skills.services import submit

    before = SkillExecution.objects.filter(status="completed").count()
    started = time.perf_counter()
    for _ in range(number):
        submit(agent=agent, skill_name="bench_noop", data={})
    await_count(SkillExecution.objects.filter(status="completed"), before + number)
    return number / (time.perf_counter() - started)


def measure() -> None:
    """Warm up, then alternate; print every round and the median ratio."""
    from agents.services import agent_create

    agent = agent_create(name="Bench", role="orchestrator", actor="system:bench")
    with worker("default"):
        bare(WARM_UP), ours(agent, WARM_UP)
        rounds = [(bare(CALLS), ours(agent, CALLS)) for _ in range(ROUNDS)]
    for number, (theirs, mine) in enumerate(rounds, 1):
        print(
            f"round {number}: bare task {theirs:6.0f}/s   skill call {mine:6.0f}/s   ratio {mine / theirs:.2f}"
        )
    ratio = statistics.median(mine / theirs for theirs, mine in rounds)
    print(
        json.dumps(
            {"benchmark": "execution", "ratio_median": round(ratio, 3), "aim": 0.5, "calls": CALLS}
        )
    )


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    with tempfile.TemporaryDirectory() as data_dir, scratch_servers():
        environment(data_dir)
        import django
        from django.core.management import call_command

        django.setup()
        call_command("migrate", verbosity=0)
        measure()
