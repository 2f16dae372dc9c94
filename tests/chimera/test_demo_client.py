"""The demo's API client against a real HTTP server that answers as the API may."""

from collections.abc import Callable
from typing import Any
from uuid import uuid4

import pytest
from pytest_httpserver import HTTPServer
from werkzeug import Request, Response

from chimera.core import jsontext
from chimera.demo.campaign import Campaign
from chimera.demo.client import AgentClient, Credentials, Refused, Unreachable

WHO = Credentials("Aurora", "orchestrator", "id", "secret", "0x0")
CALL = "/api/v1/workflows/echo/runs/"
KEY = uuid4()
DONE = {"id": "e1", "status": "completed", "output": {"x": 1}}


def answer(status: int, body: Any, **headers: str) -> Response:
    return Response(jsontext.dumps(body), status, headers, content_type="application/json")


def in_turn(*answers: Response) -> Callable[[Request], Response]:
    """A handler that gives its answers one after the other, the last one for ever."""
    left = list(answers)
    return lambda request: left.pop(0) if len(left) > 1 else left[0]


@pytest.fixture
def client(httpserver: HTTPServer) -> AgentClient:
    httpserver.expect_request("/oauth/token/").respond_with_json({"access_token": "t1"})
    return AgentClient(httpserver.url_for(""), WHO, lambda text: None, patience=10)


def keys(httpserver: HTTPServer, path: str = CALL) -> list[str | None]:
    return [seen.headers.get("Idempotency-Key") for seen, _ in httpserver.log if seen.path == path]


def test_busy_server_is_asked_again_with_the_same_key(
    client: AgentClient, httpserver: HTTPServer, tmp_path: Any
) -> None:
    httpserver.expect_request(CALL).respond_with_handler(
        in_turn(answer(503, {"code": "UNAVAILABLE"}), answer(200, DONE))
    )
    key = Campaign(path=tmp_path / "c.json").key("echo")
    assert client.start_run("echo", {"x": 1}, key) == DONE
    assert keys(httpserver) == [str(key)] * 2


def test_a_refused_start_is_not_asked_again(client: AgentClient, httpserver: HTTPServer) -> None:
    problem = {"code": "FORBIDDEN", "detail": "no stand-in"}
    httpserver.expect_request(CALL).respond_with_handler(in_turn(answer(403, problem)))
    with pytest.raises(Refused, match="FORBIDDEN: no stand-in"):
        client.start_run("echo", {}, KEY)
    assert len(keys(httpserver)) == 1


def test_lost_access_token_is_replaced_once(client: AgentClient, httpserver: HTTPServer) -> None:
    httpserver.expect_request(CALL).respond_with_handler(
        in_turn(answer(401, {"code": "UNAUTHENTICATED"}), answer(200, DONE))
    )
    assert client.start_run("echo", {}, KEY) == DONE
    assert [seen.path for seen, _ in httpserver.log].count("/oauth/token/") == 2


def test_refused_approval_token_is_no_reason_to_sign_in_again(
    client: AgentClient, httpserver: HTTPServer
) -> None:
    httpserver.expect_request(CALL).respond_with_json({"code": "INVALID_TOKEN"}, 401)
    with pytest.raises(Refused, match="INVALID_TOKEN"):
        client.start_run("echo", {}, KEY)
    assert [seen.path for seen, _ in httpserver.log].count("/oauth/token/") == 1


def test_rate_limit_is_waited_out_as_told(client: AgentClient, httpserver: HTTPServer) -> None:
    limited = answer(429, {"code": "RATE_LIMITED"}, **{"Retry-After": "1"})
    httpserver.expect_request(CALL).respond_with_handler(in_turn(limited, answer(200, DONE)))
    assert client.start_run("echo", {}, KEY) == DONE


def test_wrong_credentials_are_said_so_with_a_hint(httpserver: HTTPServer) -> None:
    httpserver.expect_request("/oauth/token/").respond_with_json({"error": "invalid_client"}, 401)
    client = AgentClient(httpserver.url_for(""), WHO, lambda text: None)
    with pytest.raises(Refused, match="same data directory"):
        client.me()


def test_server_that_never_answers_is_given_up_with_the_reason() -> None:
    said: list[str] = []
    client = AgentClient("http://127.0.0.1:1", WHO, said.append, patience=2)
    with pytest.raises(Unreachable, match="no answer"):
        client.me()
    assert "trying again" in said[0]


def test_numbers_keep_their_digits_on_the_way_out_and_back(
    client: AgentClient, httpserver: HTTPServer
) -> None:
    text = '{"id":"e1","status":"completed","output":{"amount":0.10}}'
    httpserver.expect_request(CALL).respond_with_data(text, content_type="application/json")
    output = client.start_run("echo", {}, KEY)["output"]
    assert jsontext.dumps(output) == '{"amount":0.10}'


def test_sign_in_that_is_refused_otherwise_ends_the_call(httpserver: HTTPServer) -> None:
    httpserver.expect_request("/oauth/token/").respond_with_data("<h1>Forbidden</h1>", status=403)
    client = AgentClient(httpserver.url_for(""), WHO, lambda text: None, patience=10)
    with pytest.raises(Refused, match="HTTP_403"):
        client.me()
    assert len(httpserver.log) == 1
