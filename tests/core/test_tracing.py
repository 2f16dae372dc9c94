"""One trace: read from the caller, kept, passed on, exported without a word of what was said."""

import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import httpx
import pytest
from asgiref.sync import async_to_sync, sync_to_async
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status

from agents.models import Agent
from chimera.core import http, otlp, tracing
from chimera.core.errors import ChimeraError
from content.platforms import http as platforms
from skills.mcp.client import MCPClient, ServerConfig
from skills.models import SkillExecution
from tests.helpers.calls import attempt, call
from wallets.chain.gateway import Gateway

ROOT = Path(__file__).parents[2]
JSON = "application/json"
TRACE, SPAN = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
OUT = {"capabilities": {"NET"}}
GIVEN = f"00-{TRACE}-{SPAN}-01"
MakeSkill = Callable[..., Any]


class Listener(ThreadingHTTPServer):
    """A local server that keeps what it is sent: (headers, body); answers with `answer`."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Keeping)
        self.seen: list[tuple[dict[str, str], bytes]] = []
        self.answer = b"{}"
        self.status = 200

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def traces(self) -> list[str]:
        """The traceparent of every request, '' where there was none."""
        return [headers.get("traceparent", "") for headers, _ in self.seen]


class Keeping(BaseHTTPRequestHandler):
    server: Listener

    def do_GET(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.server.seen.append(({k.lower(): v for k, v in self.headers.items()}, body))
        self.send_response(self.server.status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(self.server.answer)))
        self.end_headers()
        self.wfile.write(self.server.answer)

    do_POST = do_GET

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def listener() -> Iterator[Listener]:
    with Listener() as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


# --- the header -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("header", "flags"),
    [
        (GIVEN, "01"),
        (f"00-{TRACE}-{SPAN}-00", "00"),
        (f"00-{TRACE}-{SPAN}-ff", "01"),
        (f"cc-{TRACE}-{SPAN}-01-of-a-later-version", "01"),
        (f"  {GIVEN} ", "01"),
    ],
)
def test_a_header_of_the_standard_is_read(header: str, flags: str) -> None:
    assert tracing.parse(header) == tracing.Place(TRACE, SPAN, flags)


@pytest.mark.parametrize(
    "header",
    [
        "",
        "nonsense",
        GIVEN.upper(),
        GIVEN[:-1],
        f"{GIVEN}-more",
        f"{GIVEN}\n{GIVEN}",
        f"ff-{TRACE}-{SPAN}-01",
        f"00-{'0' * 32}-{SPAN}-01",
        f"00-{TRACE}-{'0' * 16}-01",
        f"00-{TRACE}-{SPAN}",
        f"00-{TRACE.replace('4', 'g')}-{SPAN}-01",
        f"00-{TRACE.replace('4', '٤')}-{SPAN}-01",
        "0" * 100_000,
    ],
    ids=lambda value: str(value)[:40],
)
def test_a_header_that_breaks_the_standard_is_ignored(header: str) -> None:
    assert tracing.parse(header) is None


def test_outside_a_trace_nothing_is_sent_along() -> None:
    assert tracing.headers() == {}


def test_a_span_within_a_span_has_the_trace_and_an_id_of_its_own() -> None:
    with (
        tracing.span("outer", parent=tracing.parse(GIVEN)) as outer,
        tracing.span("inner") as inner,
    ):
        assert tracing.headers() == {"traceparent": inner.place.traceparent}

    assert outer.place.trace_id == inner.place.trace_id == TRACE
    assert len({SPAN, outer.place.span_id, inner.place.span_id}) == 3
    assert tracing.current() is None


# --- the way through the house --------------------------------------------------------------------


@pytest.mark.req("A0.5")
def test_the_callers_trace_is_kept_and_the_answer_names_it(
    api: Any, orchestrator: Agent, make_skill: MakeSkill
) -> None:
    make_skill()
    url = "/api/v1/skills/probe/executions/"

    answer = api(orchestrator).post(
        url, {"input": {}}, content_type=JSON, headers={"traceparent": GIVEN}
    )

    assert answer.headers["X-Trace-Id"] == answer.json()["trace_id"] == TRACE


@pytest.mark.parametrize("header", ["", "nonsense", f"00-{'0' * 32}-{SPAN}-01"])
def test_without_a_good_header_each_call_begins_a_trace(
    header: str, api: Any, orchestrator: Agent, make_skill: MakeSkill
) -> None:
    make_skill()
    client, url = api(orchestrator), "/api/v1/skills/probe/executions/"

    answers = [
        client.post(url, {"input": {}}, content_type=JSON, headers={"traceparent": header})
        for _ in range(2)
    ]

    found = {answer.json()["trace_id"] for answer in answers}
    assert len(found) == 2 and all(re.fullmatch("[0-9a-f]{32}", each) for each in found)
    assert [answer.headers["X-Trace-Id"] for answer in answers] == [
        answer.json()["trace_id"] for answer in answers
    ]


def test_a_problem_names_its_trace_too(api: Any, orchestrator: Agent) -> None:
    answer = api(orchestrator).get("/api/v1/skills/nope/", headers={"traceparent": GIVEN})

    assert answer.status_code == 404 and answer.headers["X-Trace-Id"] == TRACE


@pytest.mark.req("A0.5")
def test_every_way_out_carries_the_trace_of_the_call_that_the_job_came_from(
    listener: Listener, api: Any, orchestrator: Agent, make_skill: MakeSkill, settings: Any
) -> None:
    def go_out(ctx: Any) -> str:
        http.fetch(listener.url, allow_private=True)
        platforms.call("POST", listener.url, token="t", json={})
        with pytest.raises(ChimeraError):
            Gateway(listener.url, 1, "0x" + "11" * 20).block_number()
        with pytest.raises(ChimeraError):
            mcp = MCPClient({"local": ServerConfig(url=f"{listener.url}/mcp")})
            async_to_sync(mcp.list_tools)(timeout_sec=10)
        return ctx.trace_id

    calls = make_skill(
        sync_to_async(go_out), metadata={"timeout_sec": 30, "capabilities": {"NET", "CHAIN", "MCP"}}
    )
    made = api(orchestrator).post(
        "/api/v1/skills/probe/executions/",
        {"input": {}},
        content_type=JSON,
        headers={"traceparent": GIVEN},
    )
    execution = SkillExecution.objects.get(id=made.json()["id"])

    attempt(execution)

    assert execution.output == {"word": TRACE}, execution.error
    places = [tracing.parse(each) for each in listener.traces()]
    assert len(places) >= 4 and {place and place.trace_id for place in places} == {TRACE}
    spans = {place.span_id for place in places if place}
    assert len(spans) == len(places) and SPAN not in spans
    assert len(calls) == 1


def test_the_trace_of_one_job_does_not_reach_the_next(
    listener: Listener, orchestrator: Agent, make_skill: MakeSkill
) -> None:
    make_skill(
        sync_to_async(lambda ctx: str(http.fetch(listener.url, allow_private=True))), metadata=OUT
    )

    first, second = call(orchestrator, "probe"), call(orchestrator, "probe")

    found = [place.trace_id for each in listener.traces() if (place := tracing.parse(each))]
    assert found == [first.trace_id, second.trace_id] and found[0] != found[1]
    assert tracing.current() is None


# --- export ---------------------------------------------------------------------------------------


@pytest.fixture
def collector(listener: Listener, settings: Any, monkeypatch: pytest.MonkeyPatch) -> Listener:
    """An OpenTelemetry collector, and a deployment that exports to it."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    settings.CHIMERA = settings.CHIMERA.model_copy(update={"chimera_otlp_endpoint": listener.url})
    listener.answer = b""
    return listener


def exported(collector: Listener) -> list[Span]:
    """The spans that have arrived, in the order of their end."""
    otlp.flush()
    requests = [ExportTraceServiceRequest.FromString(body) for _, body in collector.seen]
    return [
        span
        for request in requests
        for resource in request.resource_spans
        for scope in resource.scope_spans
        for span in scope.spans
    ]


def attributes(span: Span) -> dict[str, str]:
    return {each.key: str(next(iter(each.value.ListFields()))[1]) for each in span.attributes}


def test_request_attempt_and_call_arrive_as_one_tree(
    collector: Listener, api: Any, orchestrator: Agent, make_skill: MakeSkill
) -> None:
    with Listener() as outside:
        Thread(target=outside.serve_forever, daemon=True).start()
        make_skill(
            sync_to_async(lambda ctx: str(http.fetch(outside.url, allow_private=True))),
            metadata=OUT,
        )
        made = api(orchestrator).post(
            "/api/v1/skills/probe/executions/",
            {"input": {"word": "payload-of-the-caller"}},
            content_type=JSON,
            headers={"traceparent": GIVEN},
        )
        attempt(SkillExecution.objects.get(id=made.json()["id"]))
        outside.shutdown()

    mine = [span for span in exported(collector) if span.trace_id.hex() == TRACE]
    request, run, out = sorted(mine, key=lambda span: span.start_time_unix_nano)
    assert request.name == "POST /api/v1/skills/<str:name>/executions/"
    assert (run.name, out.name) == ("run probe", "GET 127.0.0.1")
    assert [span.kind for span in (request, run, out)] == [
        Span.SPAN_KIND_SERVER,
        Span.SPAN_KIND_INTERNAL,
        Span.SPAN_KIND_CLIENT,
    ]
    assert request.parent_span_id.hex() == SPAN
    assert (run.parent_span_id, out.parent_span_id) == (request.span_id, run.span_id)
    assert [tracing.parse(each) for each in outside.traces()] == [
        tracing.Place(TRACE, out.span_id.hex(), "01")
    ]
    assert attributes(request) == {
        "http.request.method": "POST",
        "http.response.status_code": "202",
    }
    assert attributes(run) == {
        "chimera.execution.skill": "probe",
        "chimera.execution.version": "1.0",
        "chimera.execution.id": made.json()["id"],
        "chimera.execution.status": "completed",
    }
    assert attributes(out) == {
        "http.request.method": "GET",
        "server.address": "127.0.0.1",
        "http.response.status_code": "200",
    }


def test_a_failure_is_exported_by_its_code_without_what_was_said(
    collector: Listener, orchestrator: Agent, make_skill: MakeSkill
) -> None:
    make_skill(ChimeraError("LLM_ERROR", "canary-message", details={"said": "canary-detail"}))

    execution = call(orchestrator, "probe", word="canary-payload")

    (run,) = [each for each in exported(collector) if each.trace_id.hex() == execution.trace_id]
    assert run.status.code == Status.STATUS_CODE_ERROR and run.parent_span_id == b""
    assert attributes(run)["error.type"] == "LLM_ERROR"
    assert collector.seen and not any(b"canary" in body for _, body in collector.seen)


def test_a_call_that_its_caller_does_not_sample_is_not_exported(
    collector: Listener, orchestrator: Agent
) -> None:
    with tracing.span("step", parent=tracing.parse(f"00-{TRACE}-{SPAN}-00")) as step:
        pass

    assert step.place.trace_id == TRACE and step.place.flags == "00"
    assert TRACE not in {span.trace_id.hex() for span in exported(collector)}


def test_a_call_that_gets_no_answer_is_exported_as_such(collector: Listener) -> None:
    with Listener() as gone:
        url = gone.url
    with tracing.span("step", parent=tracing.parse(GIVEN)), pytest.raises(httpx.ConnectError):
        platforms.call("GET", f"{url}/secret/path?access_token=canary")

    (out,) = [span for span in exported(collector) if span.name == "GET 127.0.0.1"]
    assert attributes(out)["error.type"] == "NoAnswer"
    assert not any(b"canary" in body or b"secret" in body for _, body in collector.seen)


def test_a_collector_that_is_down_disturbs_nobody(
    collector: Listener, orchestrator: Agent, make_skill: MakeSkill
) -> None:
    collector.status = 503
    make_skill()

    assert call(orchestrator, "probe").output == {"word": "done"}


QUIET = """
import sys, django; django.setup()
import skills.tasks
from chimera.core import tracing
with tracing.span("step"):
    assert tracing.headers()
print([name for name in ("chimera.core.otlp", "opentelemetry.exporter") if name in sys.modules])
"""


def test_without_a_collector_no_exporter_is_loaded() -> None:
    said = subprocess.run(
        [sys.executable, "-c", QUIET],
        cwd=ROOT,
        env={**os.environ, "DJANGO_SETTINGS_MODULE": "chimera.settings"},
        capture_output=True,
        text=True,
        check=True,
    ).stdout

    assert said.strip() == "[]"
