"""REST door of the files that executions made."""

from uuid import UUID

from django.http import FileResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request

from chimera.core.schema import PROBLEMS
from skills.api import UPSTREAM, ExecutionView
from skills.artifacts import headers_of, open_artifact


class ArtifactDownload(ExecutionView):
    """GET /api/v1/executions/{id}/artifacts/{n}/"""

    scopes = {"GET": "executions:read"}

    @extend_schema(
        operation_id="executions_artifact",
        parameters=[OpenApiParameter("number", int, OpenApiParameter.PATH)],
        responses={
            (200, "application/octet-stream"): OpenApiTypes.BINARY,
            **PROBLEMS,
            **UPSTREAM,
        },
    )
    def get(self, request: Request, execution_id: UUID, number: int) -> FileResponse:
        """One file of one of the caller's executions, to be saved; counted from 0."""
        kept, file = open_artifact(self.own(request, execution_id), number)
        answer = FileResponse(file, content_type="application/octet-stream")
        for name, value in headers_of(kept).items():
            answer[name] = value
        return answer
