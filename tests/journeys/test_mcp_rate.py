"""200 calls of one agent, half over REST and half over MCP: exactly 60 pass; and how the endpoint stops."""

import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from tests.helpers.mcp_doors import Caller, Doors, doors, problem_of

CALLS, LIMIT, CLIENTS = 200, 60, 10


def passes_over_rest(who: Caller, number: int) -> bool:
    answer = who.skill("echo", {"number": number})
    if answer.status_code == 202:
        return True
    assert (answer.status_code, answer.json()["code"]) == (429, "RATE_LIMITED")
    return False


def passes_over_mcp(who: Caller, number: int) -> bool:
    result = who.tool("echo", {"number": number}, wait=0)
    if "problem" not in result["_meta"]:
        return True
    problem = problem_of(result)
    assert (problem["status"], problem["code"], problem["retryable"]) == (429, "RATE_LIMITED", True)
    assert "try again in" in result["content"][0]["text"]
    return False


@pytest.mark.req("W5", "X1")
def test_exactly_sixty_of_200_calls_pass_over_both_doors_together(tmp_path: Path) -> None:
    with doors(tmp_path, CHIMERA_RATE_LIMIT=str(LIMIT)) as both:
        both.add(Aurora="orchestrator")
        who = both.caller("Aurora")
        ways = (passes_over_rest, passes_over_mcp)
        begun = time.monotonic()
        with ThreadPoolExecutor(CLIENTS) as pool:
            passed = list(pool.map(lambda number: ways[number % 2](who, number), range(CALLS)))
        taken = time.monotonic() - begun

        assert taken < 50, "else a second window has begun"
        assert sum(passed) == LIMIT
        assert any(passed[0::2]) and any(passed[1::2]), "both doors let some in"
        executions = who.rest.get("/api/v1/executions/", params={"limit": 200}).json()["results"]
        assert len(executions) == LIMIT
        print(f"200 calls in {taken:.1f} s")  # noqa: T201  shown with -s
        expect_a_clean_stop(both)


def expect_a_clean_stop(both: Doors) -> None:
    """A call that waits does not hold the endpoint up, and is not lost."""
    both.add(Waiter="orchestrator")
    who, ended = both.caller("Waiter"), []
    call = threading.Thread(target=lambda: ended.append(_waits(who)))
    call.start()
    while not (made := who.rest.get("/api/v1/executions/").json()["results"]):
        time.sleep(0.1)

    begun = time.monotonic()
    assert both.endpoint
    both.endpoint.terminate()
    assert both.endpoint.wait(30) in (0, -signal.SIGTERM)
    call.join(30)

    assert time.monotonic() - begun < 25, "it would have waited for 55 s"
    assert ended == ["cut"]
    assert who.rest.get(f"/api/v1/executions/{made[0]['id']}/").json()["status"] == "queued"


def _waits(who: Caller) -> str:
    try:
        return str(who.tool("echo", {}))
    except (httpx.TransportError, ValueError, LookupError):
        return "cut"
