"""Orders of the contract skills, a language model server for them, and implementations to test with."""

import asyncio
import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from pytest_httpserver import HTTPServer
from werkzeug import Request, Response

from content.studio import contracts as c
from content.studio import offline
from content.studio.order import Order
from skills.catalogue import registry

NAMES = ("research", "thesis", "ctr", "script", "eval")
RESEARCH: dict[str, Any] = {
    "topic": "intermittent fasting",
    "target_audience": "busy parents",
    "constraints": "no fear",
}


def written(skill: str, params: Any, run: int = 0) -> dict[str, Any]:
    """What the offline writer makes of it."""
    made: dict[str, Any] = asyncio.run(
        offline.write(Order(skill, params, registry.get(skill).output_model, run=run))
    )
    return made


def inputs(**changes: Any) -> dict[str, dict[str, Any]]:
    """One input per contract, each from the outputs before it."""
    found = written("research", c.ResearchInput(**{**RESEARCH, **changes}))
    about = {key: {**RESEARCH, **changes}[key] for key in ("topic", "target_audience")}
    thesis = written("thesis", c.ThesisInput(**about, research=c.Research(**found)))["click_thesis"]
    ideas = written("ctr", c.CtrInput(click_thesis=thesis, research=c.Research(**found)))
    chosen = {"selected_hook": ideas["hooks"][0], "selected_title": ideas["titles"][0]}
    script = written("script", c.ScriptInput(**chosen, click_thesis=thesis))["script"]
    return {
        "research": {**RESEARCH, **changes},
        "thesis": {**about, "research": found},
        "ctr": {"click_thesis": thesis, "research": found},
        "script": {**chosen, "click_thesis": thesis},
        "eval": {
            "click_thesis": thesis,
            "hook": ideas["hooks"][0],
            "title": ideas["titles"][0],
            "thumbnail_text": ideas["thumbnail_texts"][0],
            "script": script,
        },
    }


BREAKS: dict[str, dict[str, Any]] = {
    "research": {"audience_pain": ["People want to know more."]},
    "thesis": {"click_thesis": "Fasting exists. It is a thing."},
    "ctr": {"thumbnail_texts": ["one two three four five six seven"] * 5},
    "script": {"script": "Hey guys, welcome back. ```python```"},
    "eval": {"failure_reason": "it is not good", "result": "FAIL"},
}
"""Fields that break each contract."""

runs: list[Order] = []
"""The orders that the implementations of this module were given."""


async def another(order: Order) -> dict[str, Any]:
    """An implementation of somebody else's that keeps the contracts."""
    runs.append(order)
    return await offline.write(Order(order.skill, order.params, order.answer, run=order.run + 7))


async def titled(order: Order) -> dict[str, Any]:
    """Writes every headline with capitals, among which no name can be told."""
    made = await another(order)
    return {**made, "titles": [title.title() for title in made["titles"]]}


async def stubborn(order: Order) -> dict[str, Any]:
    """Breaks its contract every time."""
    return {**await another(order), **BREAKS[order.skill]}


async def late(order: Order) -> dict[str, Any]:
    """Breaks its contract until the last run."""
    return await (stubborn(order) if order.run < 3 else another(order))


async def prose(order: Order) -> Any:
    """Gives a text instead of fields."""
    runs.append(order)
    return "Here is what you asked for!"


async def odd(order: Order) -> Any:
    """Gives what is no JSON."""
    runs.append(order)
    return {"hooks": {"a", "b"}, "confidence": float("nan"), "script": "\ud800", "deep": object()}


async def endless(order: Order) -> Any:
    """Gives far more than anybody can read."""
    runs.append(order)
    return {name: ["x" * 1000] * 1000 for name in order.answer.model_fields}


WRITERS = ("another", "titled", "stubborn", "late", "prose", "odd", "endless")


@pytest.fixture
def choose(settings: Any) -> Iterator[Any]:
    """`choose("offline")`: every contract skill is written by this implementation."""
    runs.clear()

    def use(path: str) -> None:
        path = f"{__name__}.{path}" if path in WRITERS else path
        chosen = {"skill_impls": dict.fromkeys(NAMES, path)}
        settings.CHIMERA = settings.CHIMERA.model_copy(update=chosen)

    yield use
    runs.clear()


class Mind:
    """An OpenAI-compatible server that writes what the document asks for. spoil: answers to break."""

    def __init__(self, server: HTTPServer) -> None:
        self.asked: list[dict[str, Any]] = []
        self.spoil = 0
        server.expect_request("/v1/chat/completions").respond_with_handler(self._answer)

    def _answer(self, request: Request) -> Response:
        body = json.loads(request.get_data())
        said = "".join(str(message["content"]) for message in body["messages"])
        prompt = str(body["messages"][-1]["content"])
        found = re.search(r"<document>(.*)</document>", prompt, re.S)
        assert found, prompt
        document = json.loads(found.group(1))
        self.asked.append({**document, "instructions": said})
        name = document["task"]
        params = registry.get(name).input_model.model_validate(document["material"])
        thought = written(name, params, run=40 + len(self.asked))
        if self.spoil:
            self.spoil -= 1
            thought |= BREAKS[name]
        call = {"name": body["tools"][0]["function"]["name"], "arguments": json.dumps(thought)}
        message = {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "call_1", "type": "function", "function": call}],
        }
        answer = {
            "id": "chatcmpl-1",
            "object": "chat.completion",
            "created": 1_700_000_000,
            "model": body["model"],
            "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}],
            "usage": {"prompt_tokens": 100, "completion_tokens": 100, "total_tokens": 200},
        }
        return Response(json.dumps(answer), content_type="application/json")


@pytest.fixture
def mind(httpserver: HTTPServer, settings: Any) -> Mind:
    """The deployment's language model."""
    settings.CHIMERA = settings.CHIMERA.model_copy(
        update={
            "chimera_llm_model": "openai:gpt-4o-mini",
            "chimera_openai_api_key": "key-of-the-tests",
            "chimera_openai_base_url": httpserver.url_for("/v1"),
        }
    )
    return Mind(httpserver)
