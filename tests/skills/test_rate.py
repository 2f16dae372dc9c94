"""One limit for all processes: 200 calls within the window, exactly 60 pass."""

import os
import subprocess
import sys
from pathlib import Path
from uuid import uuid4

import pytest
import redis

from tests.helpers.servers import own_database, own_index
from tests.plugins.skips import need
from tests.suite import redis_url

ROOT = Path(__file__).parents[2]
PROCESSES, CALLS = 2, 100


def _passes(env: dict[str, str]) -> int:
    key = f"skill:{uuid4()}"
    command = [sys.executable, "-m", "tests.skills.rate_worker", key, str(CALLS)]
    running = [
        subprocess.Popen(
            command, cwd=ROOT, env={**os.environ, **env}, stdout=subprocess.PIPE, text=True
        )
        for _ in range(PROCESSES)
    ]
    return sum(process.communicate(timeout=120)[0].count("passed") for process in running)


def _redis_answers() -> bool:
    try:
        return bool(redis.Redis.from_url(redis_url(), socket_connect_timeout=2).ping())
    except redis.RedisError:
        return False


@pytest.mark.req("W5", "X1")
def test_exactly_sixty_pass_through_two_processes_with_redis(tmp_path: Path) -> None:
    need("redis", _redis_answers())

    with own_index(redis_url()) as index:  # every other test empties the cache of the suite
        assert _passes({"CACHE_URL": index, "CHIMERA_DATA_DIR": str(tmp_path)}) == 60


@pytest.mark.req("W5", "X1")
def test_exactly_sixty_pass_through_two_processes_with_the_database(
    tmp_path: Path,
) -> None:
    with own_database(tmp_path) as database:
        env = {"DATABASE_URL": database, "CHIMERA_DATA_DIR": str(tmp_path), "CACHE_URL": ""}
        assert _passes(env) == 60
