"""REST: workflows and their runs."""

from datetime import datetime
from typing import Any, Literal
from uuid import UUID

import django_filters
from django.conf import settings
from drf_spectacular.utils import OpenApiParameter, extend_schema
from pydantic import BaseModel, Field
from rest_framework.generics import ListAPIView
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from agents.auth import AgentPrincipal, agent_of, writer_of
from agents.models import Agent
from chimera.core import ratelimit
from chimera.core.errors import ChimeraError
from chimera.core.jsontext import NO_TEXT, plain, unstorable
from chimera.core.schema import PREFER, PROBLEMS, inlined, schema_of
from chimera.core.waiting import waited
from skills.api import KEY, filtered
from skills.workflows import services
from skills.workflows.definition import Definition, parse
from skills.workflows.models import ENDED, RunStatus, StoredWorkflow, WorkflowRun

_OBJECT: dict[str, Any] = {"type": "object"}


class StepOut(BaseModel):
    """What became of one step of a run."""

    step: str = Field(description="Position: numbers, branches and items, joined by dots")
    name: str
    skill_name: str | None
    status: Literal["running", "blocked", "succeeded", "failed", "skipped", "cancelled"]
    attempt: int
    output: Any
    error: str | None
    error_code: str | None
    execution_id: UUID | None
    approval_id: UUID | None
    started_at: datetime
    completed_at: datetime | None


class RunOut(BaseModel):
    """A run of a workflow."""

    id: UUID
    workflow: str
    version: int
    status: Literal["queued", "running", "blocked", "completed", "failed", "cancelled"]
    input: Any
    output: Any
    error: dict[str, Any] | None
    steps: list[StepOut]
    trace_id: str
    created_at: datetime
    completed_at: datetime | None


def _definition_schema() -> dict[str, Any]:
    """The schema of a definition; a step inside a step is no more than an object there."""
    schema = Definition.model_json_schema()
    parts = schema.pop("$defs")
    inner = _OBJECT | {"description": "A step, as the one around it"}
    step = inlined(parts["Step"] | {"$defs": parts | {"Step": inner}})
    return inlined(schema | {"$defs": parts | {"Step": step}})


_RUN = schema_of(RunOut)
_DEFINITION = _definition_schema()
_WORKFLOW = _DEFINITION | {
    "properties": _DEFINITION["properties"]
    | {"origin": {"enum": ["built-in", "stored"], "type": "string"}},
    "required": [*_DEFINITION["required"], "version", "origin"],
}


class RunFilter(django_filters.FilterSet):  # type: ignore[misc]  # no types there
    """Filters of the list: workflow, status."""

    workflow = django_filters.CharFilter()
    status = django_filters.MultipleChoiceFilter(choices=RunStatus.choices)

    class Meta:
        model = WorkflowRun
        fields = ["workflow", "status"]


def definition_dict(definition: Definition, origin: str) -> dict[str, Any]:
    """A definition as the API shows it. origin: built-in or stored."""
    return dict(plain(definition.model_dump(exclude_none=True))) | {"origin": origin}


def run_dict(run: WorkflowRun) -> dict[str, Any]:
    """A run with the record of every step, in the order in which they began."""
    return {
        "id": run.id,
        "workflow": run.workflow,
        "version": run.version,
        "status": run.status,
        "input": run.input,
        "output": run.output,
        "error": run.error,
        "steps": [record.as_dict() for record in run.records.order_by("id")],
        "trace_id": run.trace_id,
        "created_at": run.created_at,
        "completed_at": run.completed_at,
    }


class WorkflowList(ListAPIView):  # type: ignore[type-arg]  # no serializer: presented by a function
    """GET and POST /api/v1/workflows/"""

    scopes = {"GET": "workflows:read", "POST": "workflows:write"}
    queryset = StoredWorkflow.objects.none()

    @extend_schema(
        operation_id="workflows_list",
        parameters=[OpenApiParameter("limit", int), OpenApiParameter("cursor", str)],
        responses={200: _WORKFLOW, **PROBLEMS},
    )
    def get(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """Every version that is stored, newest first; the built-in ones stand on the first page."""
        page = self.paginate_queryset(StoredWorkflow.objects.filter(enabled=True)) or []
        found = [definition_dict(parse(one.definition), "stored") for one in page]
        if "cursor" not in request.query_params:
            found += [definition_dict(one, "built-in") for one in services.builtin().values()]
        return self.get_paginated_response(found)

    @extend_schema(
        operation_id="workflows_create",
        request={"application/json": _DEFINITION},
        responses={201: _WORKFLOW, **PROBLEMS},
    )
    def post(self, request: Request) -> Response:
        """Store a workflow, or a new version of one of yours."""
        agent = writer_of(request)
        if not isinstance(request.data, dict):
            raise ChimeraError("INVALID_INPUT", "The body must be a workflow definition")
        stored = services.workflow_store(agent=agent, data=request.data, actor=agent.actor)
        body = definition_dict(parse(stored.definition), "stored")
        return Response(body, status=201)


class RunCreate(APIView):
    """POST /api/v1/workflows/{name}/runs/"""

    scopes = {"POST": "workflows:run"}

    @extend_schema(
        operation_id="workflow_runs_create",
        request={
            "application/json": {
                "type": "object",
                "properties": {"input": _OBJECT, "version": {"type": "integer", "minimum": 1}},
                "additionalProperties": False,
            }
        },
        parameters=[PREFER, KEY],
        responses={200: _RUN, 202: _RUN, **PROBLEMS},
    )
    def post(self, request: Request, name: str) -> Response:
        """Start a run; it counts as one call. It goes on by itself: read it at its Location.

        The same Idempotency-Key with the same body gives the same run again.
        """
        principal = request.user
        assert isinstance(principal, AgentPrincipal)  # HasScope ran before
        _count_call(principal.agent)
        data, version = _body(request.data)
        run, replayed = services.run_once(
            agent=principal.agent,
            name=name,
            version=version,
            data=data,
            scopes=principal.scopes,
            key=request.headers.get("Idempotency-Key"),
        )
        run = _waited(request, run)
        headers = {"Location": f"/api/v1/workflow-runs/{run.id}/"}
        if replayed:
            headers["Idempotency-Replayed"] = "true"
        return Response(run_dict(run), status=200 if run.status in ENDED else 202, headers=headers)


def _count_call(agent: Agent) -> None:
    ratelimit.hit(f"skill:{agent.id}", settings.CHIMERA.chimera_rate_limit)


def _waited(request: Request, run: WorkflowRun) -> WorkflowRun:
    """The run once it has ended or waits for a person, or as it is when the wait is over."""
    settled = (*ENDED, RunStatus.BLOCKED)
    prefer = request.headers.get("Prefer", "")
    return waited(run, lambda row: row.status in settled, run.agent_id, prefer)


def _body(data: Any) -> tuple[dict[str, Any], int | None]:
    problems = {}
    known: dict[str, Any] = data if isinstance(data, dict) else {"": None}
    given, version = known.get("input", {}), known.get("version")
    if not isinstance(given, dict):
        problems["input"] = ["Give an object"]
    elif (where := unstorable(given)) is not None:
        problems[f"input.{where}".rstrip(".")] = [NO_TEXT]
    if version is not None and (type(version) is not int or not 1 <= version <= 1_000_000):
        problems["version"] = ["Give a whole number from 1 to 1000000"]
    for name in set(known) - {"input", "version"}:
        problems[str(name)] = ["Only input and version are known"]
    if problems:
        raise ChimeraError("INVALID_INPUT", errors=problems)
    return given, version


def _own(request: Request, run_id: UUID) -> WorkflowRun:
    found = WorkflowRun.objects.filter(id=run_id, agent=agent_of(request)).first()
    if found is None:
        raise ChimeraError("NOT_FOUND", "No such run of yours")
    return found


class RunList(ListAPIView):  # type: ignore[type-arg]  # no serializer: presented by a function
    """GET /api/v1/workflow-runs/"""

    scopes = {"GET": "workflows:read"}
    queryset = WorkflowRun.objects.none()

    @extend_schema(
        operation_id="workflow_runs_list",
        parameters=[
            OpenApiParameter("workflow", str),
            OpenApiParameter("status", str, enum=RunStatus.values),
            OpenApiParameter("limit", int),
            OpenApiParameter("cursor", str),
        ],
        responses={200: _RUN, **PROBLEMS},
    )
    def get(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """The caller's runs, newest first."""
        mine = WorkflowRun.objects.filter(agent=agent_of(request)).prefetch_related("records")
        page = self.paginate_queryset(filtered(request, RunFilter, mine)) or []
        return self.get_paginated_response([run_dict(run) for run in page])


class RunDetail(APIView):
    """GET /api/v1/workflow-runs/{id}/"""

    scopes = {"GET": "workflows:read"}

    @extend_schema(
        operation_id="workflow_runs_get",
        parameters=[PREFER],
        responses={200: _RUN, **PROBLEMS},
    )
    def get(self, request: Request, run_id: UUID) -> Response:
        """One of the caller's runs with the record of every step; with Prefer: wait=N once it stops."""
        return Response(run_dict(_waited(request, _own(request, run_id))))


class RunCancel(APIView):
    """POST /api/v1/workflow-runs/{id}/cancel/"""

    scopes = {"POST": "workflows:run"}

    @extend_schema(
        operation_id="workflow_runs_cancel", request=None, responses={200: _RUN, **PROBLEMS}
    )
    def post(self, request: Request, run_id: UUID) -> Response:
        """End a run; steps whose effect has begun end by themselves."""
        return Response(run_dict(services.run_cancel(agent=agent_of(request), run_id=run_id)))


class RunResume(APIView):
    """POST /api/v1/workflow-runs/{id}/resume/"""

    scopes = {"POST": "workflows:run"}

    @extend_schema(
        operation_id="workflow_runs_resume", request=None, responses={200: _RUN, **PROBLEMS}
    )
    def post(self, request: Request, run_id: UUID) -> Response:
        """Go on from the step that failed; it counts as one call."""
        agent = agent_of(request)
        _count_call(agent)
        return Response(run_dict(services.run_resume(agent=agent, run_id=run_id)))
