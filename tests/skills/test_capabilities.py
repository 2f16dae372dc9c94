"""A skill uses what it declared: every client of the product asks, and a refusal cannot be swallowed."""

import asyncio
import socket
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from types import SimpleNamespace
from typing import Any
from uuid import uuid4

import pytest
from asgiref.sync import sync_to_async
from django.core.cache import cache

from agents import directory
from agents.models import Agent
from chimera.core import capabilities, http
from chimera.core.capabilities import CAPABILITIES
from chimera.core.errors import ChimeraError
from chimera.core.models import AuditEntry
from content.llm.budget import Budget
from content.llm.models import Connection
from content.mediatools.wire import Provider
from content.platforms.http import call as platform_call
from skills import queues
from skills.catalogue import IncompleteSkill, Registry
from skills.contract import Retry, Skill, SkillMetadata
from skills.mcp.client import MCPClient, ServerConfig
from skills.models import SkillExecution, Status
from skills.services import submit
from tests.helpers.calls import call
from tests.skills.conftest import PURE, Word
from wallets.chain.gateway import Gateway

MakeSkill = Callable[..., Any]
Use = Callable[[str], Awaitable[Any]]
USDC = "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913"


@pytest.fixture
def door(settings: Any) -> Iterator[str]:
    """A server that nobody may knock at: its address, which is the agent directory's as well."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        url = f"http://127.0.0.1:{server.getsockname()[1]}"
        settings.CHIMERA = settings.CHIMERA.model_copy(update={"chimera_openclaw_url": url})
        yield url
        server.setblocking(False)
        with pytest.raises(BlockingIOError):
            server.accept()


async def fetch(url: str) -> Any:
    return await sync_to_async(http.fetch)(url, allow_private=True)


async def post(url: str) -> Any:
    return await asyncio.to_thread(platform_call, "POST", url)


async def order_media(url: str) -> Any:
    return await sync_to_async(Provider("maker", url, {}).call)("GET", "/", seconds=1)


async def look_up_agent(url: str) -> Any:
    return await directory._call("GET", uuid4(), 1)


async def read_mcp(url: str) -> Any:
    return await MCPClient({"one": ServerConfig(url=f"{url}/mcp")}).read_resource("trends://news")


async def check_mcp(url: str) -> Any:
    return MCPClient({"one": ServerConfig(url=f"{url}/mcp")}).check("trends://news")


async def ask_model(url: str) -> Any:
    model: Any = SimpleNamespace(maker="openai", name="gpt", key="openai:gpt")
    work = Connection({}).ask
    return await work(model, instructions="", document={}, answer=Word, budget=Budget(), seconds=1)


async def read_chain(url: str) -> Any:
    return await sync_to_async(Gateway(url, 8453, USDC).check)()


async def read_database(url: str) -> Any:
    return await sync_to_async(Agent.objects.count)()


USES: list[tuple[Use, str]] = [
    (fetch, "NET"),
    (post, "NET"),
    (order_media, "NET"),
    (look_up_agent, "NET"),
    (read_mcp, "MCP"),
    (check_mcp, "MCP"),
    (ask_model, "LLM"),
    (read_chain, "CHAIN"),
    (read_database, "DB"),
]


@pytest.mark.parametrize(("use", "needed"), USES, ids=[use.__name__ for use, _ in USES])
@pytest.mark.req("I8", "I5")
def test_a_client_that_was_not_declared_is_refused_at_once_and_audited(
    use: Use, needed: str, orchestrator: Agent, make_skill: MakeSkill, door: str
) -> None:
    others = CAPABILITIES - {needed}
    calls = make_skill(lambda ctx: use(door), metadata={"capabilities": others, "timeout_sec": 5})

    execution = call(orchestrator, "probe")

    assert execution.status == Status.FAILED and len(calls) == 1
    assert execution.error["code"] == "SECURITY_VIOLATION"
    assert execution.error["message"] == f"probe did not declare the capability {needed}"
    kept = AuditEntry.objects.get(object_id=str(execution.id))
    assert kept.action == "execution.security_violation"


@pytest.mark.req("I8", "I5")
def test_a_refusal_that_the_skill_swallows_still_blocks_the_call(
    orchestrator: Agent, make_skill: MakeSkill, door: str
) -> None:
    async def sly(ctx: Any) -> str:
        try:
            await fetch(door)
        except ChimeraError:
            return "nothing happened"
        return "fetched"

    make_skill(sly)

    execution = call(orchestrator, "probe")

    assert execution.error["code"] == "SECURITY_VIOLATION" and execution.output is None


@pytest.mark.req("I8")
def test_a_remote_skill_is_held_to_its_capabilities_while_it_is_constructed(
    orchestrator: Agent, make_skill: MakeSkill, door: str
) -> None:
    make_skill(__init__=lambda self: http.fetch(door, allow_private=True), retry=Retry(0))

    assert call(orchestrator, "probe").error["code"] == "SECURITY_VIOLATION"


@pytest.mark.req("I8")
def test_limits_hold_in_threads_that_take_the_context_along_and_end_with_the_skill() -> None:
    threads = ThreadPoolExecutor(1)
    refused = pytest.raises(ChimeraError, match="capability GPU")
    with threads, refused, capabilities.limited("probe", frozenset({"NET"})):
        capabilities.require("NET")
        with capabilities.aside():
            capabilities.require("GPU")
        threads.submit(copy_context().run, capabilities.require, "GPU").result()

    capabilities.require("GPU")


# --- the queue gpu --------------------------------------------------------------------------------

GPU = {"requires_gpu": True, "capabilities": {"GPU"}}


@pytest.mark.req("I8")
def test_a_call_for_a_graphics_processor_needs_a_worker_that_has_one(
    orchestrator: Agent, make_skill: MakeSkill, api: Any
) -> None:
    calls = make_skill(metadata=GPU)
    url = "/api/v1/skills/probe/executions/"

    refused = api(orchestrator).post(url, {"word": "x"}, content_type="application/json")

    assert refused.status_code == 503 and refused.json()["code"] == "RESOURCE_UNAVAILABLE"
    assert not SkillExecution.objects.exists()
    queues.announce("gpu")
    assert call(orchestrator, "probe").status == Status.COMPLETED and len(calls) == 1


@pytest.mark.req("I8")
def test_its_wake_ups_go_to_the_queue_gpu_and_those_of_others_do_not(
    orchestrator: Agent,
    make_skill: MakeSkill,
    monkeypatch: pytest.MonkeyPatch,
    django_capture_on_commit_callbacks: Any,
) -> None:
    sent: list[str] = []
    send = lambda task, **options: sent.append(options["queue"])  # noqa: E731
    monkeypatch.setattr("chimera.core.hints.current_app", SimpleNamespace(send_task=send))
    make_skill(metadata=GPU)
    make_skill(name="other")
    queues.announce("gpu")

    with django_capture_on_commit_callbacks(execute=True):
        submit(agent=orchestrator, skill_name="probe", data={})
        submit(agent=orchestrator, skill_name="other", data={})

    assert sent == ["gpu", "default"]


@pytest.mark.parametrize(("taken", "there"), [(["gpu", "default"], True), (["default"], False)])
@pytest.mark.req("I8")
def test_a_worker_announces_itself_by_the_queues_it_takes_from(
    taken: list[str], there: bool, db: None
) -> None:
    timers: list[Any] = []
    consumer = SimpleNamespace(
        app=SimpleNamespace(amqp=SimpleNamespace(queues=SimpleNamespace(consume_from=taken))),
        timer=SimpleNamespace(call_repeatedly=lambda *what: timers.append(what)),
    )

    queues._announce_gpu(consumer)

    assert (cache.get("chimera.queue.gpu") is not None) is there
    assert timers == ([(queues.SAY_EVERY, queues.announce, ("gpu",))] if there else [])


@pytest.mark.req("I8")
def test_a_skill_that_requires_a_gpu_must_declare_it() -> None:
    body = {
        "name": "probe",
        "input_model": Word,
        "output_model": Word,
        "metadata": SkillMetadata(**PURE | {"requires_gpu": True}),
        "execute": drive_nothing,
    }

    with pytest.raises(IncompleteSkill, match="requires_gpu needs the capability GPU"):
        Registry().register(type("Probe", (Skill,), body))


async def drive_nothing(self: Skill, ctx: Any) -> Any:
    """An execute that is never reached."""
