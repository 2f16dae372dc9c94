"""The Runway API, version 2024-11-06, as its documents and SDK describe it, read on 2026-11-21.

Sources: docs.dev.runwayml.com (POST /v1/text_to_video, errors: 400, 401, 404, 429, 502 to 504; task
failures: SAFETY.*, INTERNAL.BAD_OUTPUT.*), runwayml/sdk-python types/task_retrieve_response.py (the
states and what each carries; an output's address lives 24 to 48 hours, a new GET gives a fresh one).
No key makes a second POST the same as the first, and no list of tasks is offered.

An account's access_token is its API key. Every look at a task takes it one state further: PENDING,
RUNNING, SUCCEEDED. Kinds of fault of its own: `throttled` (one look more in THROTTLED per count),
`unsafe` (FAILED, SAFETY.INPUT.TEXT), `bad_output` (FAILED, INTERNAL.BAD_OUTPUT.CODE01), `cancelled`,
`expired_url` (the address of the video has expired), `html_video` (it gives a page).
"""

import secrets
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from tests.fakes import faults
from tests.fakes.base import Endpoint, Fake, Json, Refusal, now_text

FAILURES = {"unsafe": "SAFETY.INPUT.TEXT", "bad_output": "INTERNAL.BAD_OUTPUT.CODE01"}
VIDEO = b"\x00\x00\x00\x18ftypmp42\x00\x00\x00\x00mp42isom"


@dataclass
class Task:
    """A video being made. fate: the failure it will end in, '' for none."""

    id: str
    owner: str
    created_at: str
    fate: str = ""
    looks: int = 0
    keys: set[str] = field(default_factory=set)


def make() -> "Runway":
    return Runway()


class Runway(Fake):
    """The server. An effect is a task, which is paid for."""

    name = "runway"

    def __init__(self) -> None:
        super().__init__()
        self.tasks: dict[str, Task] = {}

    def endpoints(self) -> list[tuple[str, str, Endpoint]]:
        return [
            ("POST", "/v1/text_to_video", self.create),
            ("GET", "/v1/tasks/{id}", self.read),
            ("GET", "/output/{id}.mp4", self.output),
        ]

    def limited(self) -> Response:
        return error(429, "You have reached your daily limit of tasks for this model.")

    def broken(self) -> Response:
        return error(503, "Service unavailable")

    def unauthorized(self) -> Response:
        return error(401, "The provided API key is not valid.")

    async def create(self, request: Request) -> Response:
        account, body = self._caller(request), await request.json()
        wrong = _wrong(body)
        if wrong:
            raise Refusal(error(400, "Validation of body failed", issues=[wrong]))
        fate = next((kind for kind in FAILURES if self.take(kind)), "")
        task = Task(str(uuid4()), account, now_text(), fate)
        self.tasks[task.id] = task
        self.effect(id=task.id, account=account, text=body["promptText"])
        return JSONResponse({"id": task.id})

    async def read(self, request: Request) -> Response:
        owner, task = self._caller(request), self.tasks.get(request.path_params["id"])
        if task is None or task.owner != owner:
            return error(404, "A task with that ID was not found.")
        about = {"id": task.id, "createdAt": task.created_at}
        if self.take("cancelled"):
            return JSONResponse(about | {"status": "CANCELLED"})
        if self.take("throttled"):
            return JSONResponse(about | {"status": "THROTTLED"})
        task.looks += 1
        return JSONResponse(about | self._state(request, task))

    def _state(self, request: Request, task: Task) -> Json:
        if task.looks == 1:
            return {"status": "PENDING"}
        if task.fate:
            why = "The generation did not succeed."
            return {"status": "FAILED", "failure": why, "failureCode": FAILURES[task.fate]}
        if task.looks == 2:
            return {"status": "RUNNING", "progress": 0.4}
        key = secrets.token_urlsafe(12)
        task.keys.add(key)
        url = f"{request.base_url}runway/output/{task.id}.mp4?_jwt={key}"
        return {"status": "SUCCEEDED", "output": [url]}

    async def output(self, request: Request) -> Response:
        if self.take("html_video"):
            return faults.html(200)
        task = self.tasks.get(request.path_params["id"])
        key = request.query_params.get("_jwt", "")
        if task is None or key not in task.keys or self.take("expired_url"):
            return Response("<Error><Code>AccessDenied</Code></Error>", 403)
        return Response(VIDEO + task.id.encode(), media_type="video/mp4")

    def _caller(self, request: Request) -> str:
        if request.headers.get("x-runway-version") != "2024-11-06":
            raise Refusal(error(400, "X-Runway-Version is required"))
        return self.account_of(request).id


def error(status: int, text: str, **more: Any) -> JSONResponse:
    return JSONResponse({"error": text, **more}, status)


def _wrong(body: Any) -> Json | None:
    """What the provider objects to; None for nothing."""
    if not isinstance(body, dict) or body.get("model") != "gen4.5":
        return {"path": ["model"], "message": "Unknown model"}
    text = body.get("promptText")
    if not isinstance(text, str) or not 1 <= len(text.encode("utf-16-le")) // 2 <= 1000:
        return {"path": ["promptText"], "message": "1 to 1000 UTF-16 code units"}
    if body.get("ratio") not in ("1280:720", "720:1280"):
        return {"path": ["ratio"], "message": "Invalid ratio"}
    if body.get("duration") not in range(2, 11):
        return {"path": ["duration"], "message": "2 to 10"}
    return None
