"""REST doors of the skills: catalogue, executions, agents' profiles."""

from typing import Any
from uuid import UUID

import django_filters
from django import forms
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.generics import ListAPIView
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from agents.auth import AgentPrincipal, agent_of
from agents.models import Agent
from agents.roles import Role
from agents.schemas import AgentProfile, Persona
from chimera.core import problem
from chimera.core.clock import moment_of
from chimera.core.errors import ChimeraError
from chimera.core.schema import PREFER, PROBLEMS, schema_of
from chimera.core.waiting import waited
from skills.catalogue import registry
from skills.contract import Skill
from skills.models import FINAL, SkillExecution, Status
from skills.presenters import (
    ExecutionOut,
    SkillOut,
    deprecation_headers,
    execution_dict,
    failure_of,
    skill_dict,
)
from skills.profiles import profile_of
from skills.services import execution_cancel, execution_of, submit

_SETTLED = (*FINAL, Status.BLOCKED)
KEY = OpenApiParameter(
    "Idempotency-Key", str, OpenApiParameter.HEADER, description="Makes the call safe to repeat"
)
UPSTREAM = {
    (status, "application/problem+json"): PROBLEMS[400, "application/problem+json"]
    for status in (402, 410, 500, 502, 503, 504)
}


class VersionedView(APIView):
    """A view whose answers, problems too, say when the skill they are about is to end."""

    def skill(self) -> Skill | None:
        """The skill that this request is about."""
        return registry.named(self.kwargs["name"])

    def finalize_response(
        self, request: Request, response: Response, *a: Any, **k: Any
    ) -> Response:
        answer = super().finalize_response(request, response, *a, **k)
        skill = self.skill()
        for name, value in (deprecation_headers(skill) if skill else {}).items():
            answer[name] = value
        return answer


class ExecutionView(VersionedView):
    """A view of one of the caller's executions."""

    execution: SkillExecution | None = None

    def skill(self) -> Skill | None:
        found = self.execution
        return registry.accepted(found.skill, found.version) if found else None

    def own(self, request: Request, execution_id: UUID) -> SkillExecution:
        """The execution; NOT_FOUND for another agent's."""
        self.execution = execution_of(agent_of(request), execution_id)
        return self.execution


class SkillList(APIView):
    """GET /api/v1/skills/"""

    pagination_class = None

    @extend_schema(
        operation_id="skills_list",
        responses={
            200: {
                "type": "object",
                "properties": {
                    "results": {"type": "array", "items": schema_of(SkillOut)},
                    "next": {"type": "null"},
                    "previous": {"type": "null"},
                },
            },
            **PROBLEMS,
        },
    )
    def get(self, request: Request) -> Response:
        """Every skill with its schemas, roles, limits and error codes."""
        return Response(
            {
                "results": [skill_dict(skill) for skill in registry.all()],
                "next": None,
                "previous": None,
            }
        )


class SkillDetail(VersionedView):
    """GET /api/v1/skills/{name}/"""

    @extend_schema(
        operation_id="skills_get", responses={200: schema_of(SkillOut), **PROBLEMS, **UPSTREAM}
    )
    def get(self, request: Request, name: str) -> Response:
        """One skill."""
        return Response(skill_dict(registry.get(name)))


class ExecutionCreate(VersionedView):
    """POST /api/v1/skills/{name}/executions/"""

    @extend_schema(
        operation_id="executions_create",
        parameters=[PREFER, KEY],
        request={
            "application/json": {
                "type": "object",
                "required": ["input"],
                "properties": {"input": {"type": "object"}},
                "additionalProperties": False,
            }
        },
        responses={
            200: schema_of(ExecutionOut),
            202: schema_of(ExecutionOut),
            **PROBLEMS,
            **UPSTREAM,
        },
    )
    def post(self, request: Request, name: str) -> Response:
        """Call a skill. 202 with a Location, or the finished execution when it was waited for."""
        principal = request.user
        assert isinstance(principal, AgentPrincipal)  # HasScope ran before
        submitted = submit(
            agent=principal.agent,
            skill_name=name,
            data=lambda: _input_of(request.data),
            scopes=principal.scopes,
            idempotency_key=request.headers.get("Idempotency-Key"),
        )
        execution = _waited(request, submitted.execution)
        answer = _answer(
            request, execution, raise_failures="wait" in request.headers.get("Prefer", "")
        )
        if submitted.replayed:
            answer["Idempotency-Replayed"] = "true"
        return answer


def _input_of(body: Any) -> Any:
    """The `input` of the body."""
    if isinstance(body, dict) and set(body) == {"input"}:
        return body["input"]
    message = 'The body must be {"input": {...}} and nothing else'
    raise ChimeraError("INVALID_INPUT", message, errors={"input": [message]})


def _waited(request: Request, execution: SkillExecution) -> SkillExecution:
    """The execution once it is settled, or as it is when the wait that was granted is over."""
    prefer = request.headers.get("Prefer", "")
    return waited(execution, lambda row: row.status in _SETTLED, execution.agent_id, prefer)


def _answer(request: Request, execution: SkillExecution, *, raise_failures: bool) -> Response:
    if execution.status == Status.FAILED and raise_failures:
        return _as_problem(request, execution)
    body = execution_dict(execution)
    if execution.status in FINAL:
        return Response(body)
    return Response(body, status=202, headers={"Location": f"/api/v1/executions/{execution.id}/"})


def _as_problem(request: Request, execution: SkillExecution) -> Response:
    error = failure_of(execution)
    body = problem.document(error, instance=request.path, execution_id=str(execution.id))
    return Response(
        body,
        status=error.http_status,
        headers=problem.headers(error),
        content_type=problem.CONTENT_TYPE,
    )


class _MomentField(forms.Field):
    """A point in time, with a time zone."""

    def to_python(self, value: Any) -> Any:
        if value in self.empty_values:
            return None
        try:
            return moment_of(value)
        except ValueError as problem:
            raise forms.ValidationError(str(problem)) from None


class _MomentFilter(django_filters.Filter):  # type: ignore[misc]  # no types there
    field_class = _MomentField


class ExecutionFilter(django_filters.FilterSet):  # type: ignore[misc]  # no types there
    """Filters of the list: skill, status, since."""

    skill = django_filters.CharFilter()
    status = django_filters.MultipleChoiceFilter(choices=Status.choices)
    since = _MomentFilter(field_name="created_at", lookup_expr="gte")

    class Meta:
        model = SkillExecution
        fields = ["skill", "status", "since"]


def filtered(request: Request, kind: type[django_filters.FilterSet], found: Any) -> Any:
    """What the query asks for. INVALID_INPUT naming each wrong filter, and those that there are not."""
    given = request.query_params
    filters = kind(given, queryset=found)
    errors = {name: [str(text) for text in texts] for name, texts in filters.errors.items()}
    blank = [name for name in filters.filters if given.get(name) == ""]
    errors |= {name: ["Give a value, or leave the filter out"] for name in blank}
    known = [*filters.filters, "limit", "cursor"]
    errors |= {name: [f"Unknown; there are {', '.join(known)}"] for name in set(given) - set(known)}
    if errors:
        raise ChimeraError("INVALID_INPUT", "A filter is not valid", errors=errors)
    return filters.qs


class ExecutionList(ListAPIView):  # type: ignore[type-arg]  # no serializer: presented by a function
    """GET /api/v1/executions/"""

    scopes = {"GET": "executions:read"}
    queryset = SkillExecution.objects.none()

    @extend_schema(
        operation_id="executions_list",
        parameters=[
            OpenApiParameter("skill", str),
            OpenApiParameter("status", str, enum=Status.values),
            OpenApiParameter("since", OpenApiTypes.DATETIME),
            OpenApiParameter("limit", int),
            OpenApiParameter("cursor", str),
        ],
        responses={200: schema_of(ExecutionOut), **PROBLEMS},
    )
    def get(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """The caller's executions, newest first."""
        mine = SkillExecution.objects.filter(agent=agent_of(request))
        page = self.paginate_queryset(filtered(request, ExecutionFilter, mine)) or []
        return self.get_paginated_response([execution_dict(execution) for execution in page])


class ExecutionDetail(ExecutionView):
    """GET /api/v1/executions/{id}/"""

    scopes = {"GET": "executions:read"}

    @extend_schema(
        operation_id="executions_get",
        parameters=[PREFER],
        responses={200: schema_of(ExecutionOut), **PROBLEMS},
    )
    def get(self, request: Request, execution_id: UUID) -> Response:
        """One of the caller's executions; with Prefer: wait=N once it is finished."""
        return Response(execution_dict(_waited(request, self.own(request, execution_id))))


class ExecutionCancel(ExecutionView):
    """POST /api/v1/executions/{id}/cancel/"""

    scopes = {"POST": "executions:cancel"}

    @extend_schema(
        operation_id="executions_cancel",
        request=None,
        responses={200: schema_of(ExecutionOut), **PROBLEMS},
    )
    def post(self, request: Request, execution_id: UUID) -> Response:
        """Cancel before any effect; else NOT_CANCELLABLE."""
        self.own(request, execution_id)
        return Response(
            execution_dict(execution_cancel(agent=agent_of(request), execution_id=execution_id))
        )


_PROFILE = schema_of(AgentProfile)
_OWN_PROFILE = _PROFILE | {
    "properties": _PROFILE["properties"] | {"persona": schema_of(Persona)},
    "required": [*_PROFILE["required"], "persona"],
}


class AgentMe(APIView):
    """GET /api/v1/agents/me/"""

    scopes = {"GET": "agents:read"}

    @extend_schema(operation_id="agents_me", responses={200: _OWN_PROFILE, **PROBLEMS})
    def get(self, request: Request) -> Response:
        """The caller's own profile with its persona."""
        agent = agent_of(request)
        return Response(profile_of(agent) | {"persona": agent.persona.as_dict()})


class AgentDetail(APIView):
    """GET /api/v1/agents/{id}/"""

    scopes = {"GET": "agents:read"}

    @extend_schema(operation_id="agents_get", responses={200: _PROFILE, **PROBLEMS})
    def get(self, request: Request, agent_id: UUID) -> Response:
        """A profile: the caller's own, or any for an orchestrator."""
        caller = agent_of(request)
        visible = (
            Agent.objects.all()
            if caller.type == Role.ORCHESTRATOR
            else Agent.objects.filter(id=caller.id)
        )
        found = visible.filter(id=agent_id).first()
        if found is None:
            raise ChimeraError("NOT_FOUND", "No such agent that you may see")
        return Response(profile_of(found))
