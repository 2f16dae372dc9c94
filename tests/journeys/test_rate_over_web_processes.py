"""200 calls at once over real web processes: exactly 60 pass, the rest learn when to come back."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest
import redis

from chimera.core.http import tls
from chimera.probes import answers
from tests.helpers.http import HTTP
from tests.helpers.servers import own_database, own_index
from tests.helpers.stack import free_ports
from tests.plugins.skips import need
from tests.suite import redis_url

ROOT = Path(__file__).parents[2]
CALLS, LIMIT, WORKERS, CLIENTS = 200, 60, 3, 20
URL = "/api/v1/skills/echo/executions/"
AGENT = """
import json
from agents.services import agent_create, credential_issue
agent = agent_create(name="Aurora", role="orchestrator", actor="system:test")
issued = credential_issue(agent=agent, actor="system:test")
print("MADE" + json.dumps([issued.client_id, issued.client_secret]))
"""


@dataclass
class Web:
    """Web processes behind one port, and an agent's access token."""

    base_url: str
    token: str

    def call(self, number: int) -> tuple[httpx.Response, float]:
        """One call by itself and when it was answered, in seconds since the epoch."""
        headers = {"Authorization": f"Bearer {self.token}"}
        given = {"trust_env": False, "timeout": 60, "verify": tls()}
        with httpx.Client(base_url=self.base_url, **given) as http:
            answer = http.post(URL, json={"input": {"number": number}}, headers=headers)
        return answer, time.time()


@contextmanager
def web(folder: Path, **servers: str) -> Iterator[Web]:
    """gunicorn with several workers on a database of its own; nobody works the jobs off."""
    folder.mkdir()
    port = free_ports()
    env = os.environ | {"CELERY_BROKER_URL": "", "CACHE_URL": "", "DATABASE_URL": ""} | servers
    env |= {"CHIMERA_DATA_DIR": str(folder), "PORT": str(port), "CHIMERA_RATE_LIMIT": str(LIMIT)}
    env |= {"CHIMERA_PROCESS": "web", "DJANGO_SETTINGS_MODULE": "chimera.settings"}
    manage = [sys.executable, "manage.py"]
    made = subprocess.check_output([*manage, "shell", "-c", AGENT], cwd=ROOT, env=env, text=True)
    options = ("--workers", str(WORKERS), "--worker-class", "gthread", "--threads", "8")
    bind = ("--bind", f"127.0.0.1:{port}", "--no-control-socket")
    server = subprocess.Popen(
        [sys.executable, "-m", "gunicorn", "chimera.wsgi", *options, *bind], cwd=ROOT, env=env
    )
    try:
        base_url = f"http://127.0.0.1:{port}"
        yield Web(base_url, _token(base_url, made))
    finally:
        server.terminate()
        server.wait()


def _token(base_url: str, made: str) -> str:
    client_id, client_secret = json.loads(made.partition("MADE")[2])
    deadline = time.monotonic() + 60
    while not answers(f"{base_url}/healthz"):
        assert time.monotonic() < deadline
        time.sleep(0.1)
    body = {"client_id": client_id, "client_secret": client_secret}
    answer = HTTP.post(
        f"{base_url}/oauth/token/",
        data=body | {"grant_type": "client_credentials"},
        timeout=60,
    )
    return str(answer.raise_for_status().json()["access_token"])


@dataclass(frozen=True)
class Window:
    """What 200 calls at once found, and two more around the moment from which they may come back."""

    begun: float
    found: list[tuple[httpx.Response, float]]
    early: httpx.Response
    late: httpx.Response

    def of(self, status: int) -> list[tuple[httpx.Response, float]]:
        """The answers of this status and their moments, in seconds since the epoch."""
        return [(answer, moment) for answer, moment in self.found if answer.status_code == status]


def observed(at: Web) -> Window:
    """The first window, two seconds before its end as the last refusal tells it, and that end."""
    begun = time.time()
    with ThreadPoolExecutor(CLIENTS) as pool:
        found = list(pool.map(at.call, range(CALLS)))
    answer, moment = [each for each in found if each[0].status_code == 429][-1]
    free = told(answer, moment)
    time.sleep(max(0.0, free - 2.5 - time.time()))
    early, _ = at.call(0)
    time.sleep(max(0.0, free - time.time()))
    late, _ = at.call(0)
    return Window(begun, found, early, late)


def told(answer: httpx.Response, moment: float) -> float:
    """When a refused call may be made again, in seconds since the epoch."""
    return moment + int(answer.headers["Retry-After"])


@pytest.mark.req("W5", "X1")
def test_exactly_sixty_of_200_calls_pass_over_web_processes_with_the_database_and_with_redis(
    tmp_path: Path,
) -> None:
    """Side by side, as a window is a minute of waiting: calls counted in the database and in Redis."""
    try:
        there = bool(redis.Redis.from_url(redis_url(), socket_connect_timeout=2).ping())
    except redis.RedisError:
        there = False
    need("redis", there)
    with (
        own_database(tmp_path) as database,
        own_database(tmp_path) as other,
        own_index(redis_url()) as index,
        web(tmp_path / "database", DATABASE_URL=database) as counted_there,
        web(tmp_path / "redis", DATABASE_URL=other, CACHE_URL=index) as counted_here,
        ThreadPoolExecutor() as pool,
    ):
        windows = list(pool.map(observed, (counted_there, counted_here)))

    for window in windows:
        passed = [moment for _, moment in window.of(202)]
        refused = window.of(429)
        assert (len(passed), len(refused)) == (LIMIT, CALLS - LIMIT)
        assert max(moment for _, moment in window.found) - window.begun < 50, (
            "a second one has begun"
        )
        assert {answer.json()["code"] for answer, _ in refused} == {"RATE_LIMITED"}
        assert all(answer.json()["retryable"] is True for answer, _ in refused)
        free = [told(answer, moment) for answer, moment in refused]
        assert window.begun + 60 - 1 <= min(free) and max(free) <= min(passed) + 60 + 2
        assert (window.early.status_code, window.late.status_code) == (429, 202)
