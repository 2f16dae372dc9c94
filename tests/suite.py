"""`make test`: the whole suite on the embedded default and, side by side, on PostgreSQL and Redis (X1).

The second run needs both servers; without them it is left out and the last line says so, or, if
CHIMERA_TEST_REQUIRE names one of them, the command fails. Arguments are handed to pytest.
"""

import hashlib
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import psycopg
import redis

from tests.plugins.skips import REMEDIES, required

# Everything that would point a test at somebody's real deployment.
DEPLOYMENT = ("DATABASE_URL", "CELERY_BROKER_URL", "CACHE_URL", "CHIMERA_DATA_DIR", "PORT")
MARK = "chimera-test-suite"
# What stands on no database, broker or cache of the set-up is run once, on the embedded default.
ONCE = (
    "tests/agents/test_schemas.py",
    "tests/approvals/test_previews.py",
    "tests/chaos/test_killpoints.py",
    "tests/chimera/test_compose.py",
    "tests/chimera/test_demo_campaign.py",
    "tests/chimera/test_demo_client.py",
    "tests/chimera/test_demo_command.py",
    "tests/chimera/test_demo_forms.py",
    "tests/chimera/test_demo_journey.py",
    "tests/chimera/test_local_mode.py::test_a_stack_in_local_mode_publishes_one_post_and_the_server_counts_one",
    "tests/chimera/test_stack.py",
    "tests/chimera/test_supervisor.py",
    "tests/content/llm",
    "tests/content/mediatools/test_store.py",
    "tests/content/platforms/test_instagram.py",
    "tests/content/platforms/test_instagram_once.py",
    "tests/content/platforms/test_quoted_secrets.py",
    "tests/content/platforms/test_sandbox_adapter.py",
    "tests/content/platforms/test_tiktok.py",
    "tests/content/platforms/test_tiktok_once.py",
    "tests/content/platforms/test_tiktok_refusals.py",
    "tests/content/platforms/test_twitter.py",
    "tests/content/platforms/test_youtube.py",
    "tests/content/sources",
    "tests/content/studio",
    "tests/content/test_relevance.py",
    "tests/content/test_schemas.py",
    "tests/content/validation",
    "tests/contracts/test_every_skill.py",
    "tests/contracts/test_layout.py",
    "tests/contracts/test_migrations.py",
    "tests/contracts/test_requirements.py",
    "tests/core/test_clock.py",
    "tests/core/test_http.py",
    "tests/core/test_jwk.py",
    "tests/core/test_metrics.py",
    "tests/core/test_money.py",
    "tests/core/test_problem.py",
    "tests/core/test_waiting.py",
    "tests/sandbox",
    "tests/skills/mcp/test_client.py",
    "tests/skills/test_contract_page.py",
    "tests/skills/test_installed_skills.py",
    "tests/skills/test_new_skill.py",
    "tests/skills/test_retry_table.py",
    "tests/skills/test_text_analysis.py",
    "tests/skills/workflows/test_expressions.py",
    "tests/wallets/chain",
)


def postgres_url() -> str:
    """A database name of this checkout's own; pytest-django puts `test_` before it."""
    server = os.environ.get("CHIMERA_TEST_POSTGRES", "postgres://postgres@127.0.0.1:5432")
    return f"{server.rstrip('/')}/chimera_{hashlib.sha256(os.getcwd().encode()).hexdigest()[:8]}"


def redis_url() -> str:
    return os.environ.get("CHIMERA_TEST_REDIS", "redis://127.0.0.1:6379/15")


def reach_postgres() -> None:
    """Raises when no server answers or the user may not create databases."""
    server = postgres_url().rsplit("/", 1)[0]
    with psycopg.connect(f"{server}/postgres", connect_timeout=3) as connection:
        row = connection.execute(
            "select rolcreatedb or rolsuper from pg_roles where rolname = current_user"
        ).fetchone()
    if row is None or not row[0]:
        raise ConnectionError("the user may not create databases")


def reach_redis() -> None:
    """Raises when no server answers or the database index holds somebody else's data."""
    client = redis.Redis.from_url(redis_url(), socket_connect_timeout=3)
    if client.dbsize() and not client.exists(MARK):
        raise ConnectionError(f"{redis_url()} holds data that is not of these tests")
    client.flushdb()
    client.set(MARK, "1")


def missing(name: str, reach: Callable[[], None]) -> str:
    """Why a server cannot be used; empty if it can."""
    try:
        reach()
    except (psycopg.Error, redis.RedisError, OSError) as problem:
        return f"{name}: {str(problem).strip().splitlines()[0]}; {REMEDIES[name]}"
    return ""


def start(folder: Path, *options: str, **env: str) -> subprocess.Popen[bytes]:
    """pytest in a data directory of its own; what it prints goes to a file in it."""
    folder.mkdir()
    clean = {name: value for name, value in os.environ.items() if name not in DEPLOYMENT}
    clean.pop(
        "PYTHONDONTWRITEBYTECODE", None
    )  # hundreds of processes would compile everything anew
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *options, *sys.argv[1:]]
    with (folder / "output").open("wb") as output:
        return subprocess.Popen(
            command,
            env=clean | {"CHIMERA_DATA_DIR": str(folder), "PYTHONUNBUFFERED": "1"} | env,
            stdout=output,
            stderr=subprocess.STDOUT,
        )


def follow(title: str, run: subprocess.Popen[bytes], folder: Path) -> int:
    """Print what a run says until it ends; its exit status."""
    print(f"\n== {title}", flush=True)
    with (folder / "output").open(errors="replace") as output:
        while run.poll() is None:
            print(output.read(), end="", flush=True)
            time.sleep(0.2)
        print(output.read(), end="", flush=True)
    return run.returncode


def run_both(folder: Path, absent: dict[str, str]) -> int:
    """The suite on both set-ups side by side; the first status that is not 0."""
    runs = {"embedded: SQLite, broker in files": (start(folder / "embedded"), folder / "embedded")}
    if not absent:
        redis_at = {"CELERY_BROKER_URL": redis_url(), "CACHE_URL": redis_url()}
        left_out = [f"--{'deselect' if '::' in path else 'ignore'}={path}" for path in ONCE]
        where = folder / "distributed"
        # No test cuts the server's power, so its commits need not wait for the disk.
        quick = {"PGOPTIONS": "-c synchronous_commit=off"}
        second = start(where, *left_out, DATABASE_URL=postgres_url(), **redis_at, **quick)
        runs["distributed: PostgreSQL and Redis"] = (second, folder / "distributed")
    try:
        statuses = [follow(title, run, where) for title, (run, where) in runs.items()]
    finally:
        for run, _ in runs.values():
            run.terminate()
            run.wait()
    return next((status for status in statuses if status), 0)


def main() -> int:
    absent = {
        name: why
        for name, reach in (("postgres", reach_postgres), ("redis", reach_redis))
        if (why := missing(name, reach))
    }
    for name in required() & set(absent):
        print(f"CHIMERA_TEST_REQUIRE asks for {absent[name]}", file=sys.stderr)
        return 1
    with tempfile.TemporaryDirectory(prefix="chimera-test-") as folder:
        status = run_both(Path(folder), absent)
    if absent:
        print(f"Skipped: the same suite on PostgreSQL and Redis ({'; '.join(absent.values())})")
    else:
        redis.Redis.from_url(redis_url()).flushdb()
    return status


if __name__ == "__main__":
    sys.exit(main())
