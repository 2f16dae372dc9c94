"""REST: content packages and their revisions."""

from datetime import datetime
from typing import Any
from uuid import UUID

from drf_spectacular.utils import OpenApiParameter, extend_schema
from pydantic import BaseModel, Field, ValidationError
from rest_framework.generics import ListAPIView
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from agents.auth import writer_of
from chimera.core.clock import iso
from chimera.core.errors import ChimeraError
from chimera.core.jsontext import plain
from chimera.core.schema import PROBLEMS, field_errors, schema_of
from content import services
from content.models import ContentPackage as Package
from content.schemas import ContentPackage, Platform
from content.validation.issue import Issue


class PublicationOut(BaseModel):
    """A post of the package on one platform."""

    platform: Platform
    state: str
    post_url: str | None


class ContentOut(BaseModel):
    """A package and what has become of it."""

    content: dict[str, Any] = Field(
        description="The ContentPackage; one of an ExecutionIntent has fields of that too"
    )
    agent_id: UUID
    revision: int
    content_sha256: str
    valid: bool | None = Field(description="The last verdict on this revision; null without one")
    issues: list[Issue]
    publications: list[PublicationOut]
    created_at: datetime


_OUT = schema_of(ContentOut)


def as_dict(package: Package) -> dict[str, Any]:
    """A package as the API shows it: its current revision, the verdict on it, where it was published."""
    revision = package.current
    verdict = revision.validations.order_by("-id").first()
    return {
        "content": revision.data,
        "agent_id": package.agent_id,
        "revision": revision.number,
        "content_sha256": revision.sha256,
        "valid": verdict.valid if verdict else None,
        "issues": verdict.issues if verdict else [],
        "publications": [
            {"platform": item.platform, "state": item.state, "post_url": item.post_url or None}
            for item in package.publications.all()
        ],
        "created_at": iso(package.created_at),
    }


def parse_package(data: Any) -> dict[str, Any]:
    """A ContentPackage, or INVALID_CONTENT naming each field."""
    try:
        package: dict[str, Any] = plain(ContentPackage.model_validate(data))
        return package
    except ValidationError as problem:
        raise ChimeraError("INVALID_CONTENT", errors=field_errors(problem)) from None


def _changes(content_id: UUID, data: Any) -> dict[str, Any]:
    """The fields to change, or INVALID_CONTENT; the id of a package stays what it is."""
    if not isinstance(data, dict):
        raise ChimeraError("INVALID_CONTENT", "Send an object with the fields to change")
    if str(data.get("content_id", content_id)).lower() != str(content_id):
        message = f"Leave it out, or give the id of the path, {content_id}"
        raise ChimeraError("INVALID_CONTENT", message, errors={"content_id": [message]})
    changes = {name: value for name, value in data.items() if name != "content_id"}
    if not changes:
        raise ChimeraError("INVALID_CONTENT", "Name at least one field to change")
    return changes


class ContentList(ListAPIView):  # type: ignore[type-arg]  # no serializer: presented by a function
    """GET, POST /api/v1/content/"""

    scopes = {"GET": "content:read", "POST": "content:write"}
    queryset = Package.objects.none()

    @extend_schema(
        operation_id="content_list",
        parameters=[OpenApiParameter("limit", int), OpenApiParameter("cursor", str)],
        responses={200: _OUT, **PROBLEMS},
    )
    def get(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """Packages of all agents of the deployment, newest first."""
        page = self.paginate_queryset(Package.objects.prefetch_related("publications")) or []
        return self.get_paginated_response([as_dict(package) for package in page])

    @extend_schema(
        operation_id="content_create",
        request={"application/json": schema_of(ContentPackage)},
        responses={201: _OUT, **PROBLEMS},
    )
    def post(self, request: Request) -> Response:
        """Store a package of one's own making as a draft."""
        agent, package = writer_of(request), parse_package(request.data)
        if Package.objects.filter(id=package["content_id"]).exists():
            message = f"content_id {package['content_id']} exists; PATCH it to make a new revision"
            raise ChimeraError("CONCURRENCY_ERROR", message, errors={"content_id": [message]})
        return Response(
            as_dict(
                services.content_store(agent=agent, package=package, trends=[], actor=agent.actor)
            ),
            status=201,
        )


class ContentDetail(APIView):
    """GET, PATCH /api/v1/content/{id}/"""

    scopes = {"GET": "content:read", "PATCH": "content:write"}

    @extend_schema(operation_id="content_get", responses={200: _OUT, **PROBLEMS})
    def get(self, request: Request, content_id: UUID) -> Response:
        """One package."""
        return Response(as_dict(services.content_get(content_id)))

    @extend_schema(
        operation_id="content_revise",
        request={"application/json": {"type": "object"}},
        responses={200: _OUT, **PROBLEMS},
    )
    def patch(self, request: Request, content_id: UUID) -> Response:
        """Change fields of one's own package: a new revision, to be validated and approved anew."""
        agent, package = writer_of(request), services.content_get(content_id)
        if package.agent_id != agent.id:
            raise ChimeraError("FORBIDDEN", "Only the agent that made a package may revise it")
        changed = parse_package({**package.current.data, **_changes(content_id, request.data)})
        services.content_revise(content_id=content_id, package=changed, actor=agent.actor)
        return Response(as_dict(services.content_get(content_id)))
