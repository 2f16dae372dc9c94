"""REST: ask for an approval, read one's own, the public keys."""

from typing import Any
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from agents.auth import agent_of, writer_of
from approvals import services
from approvals.keys import jwks_text
from approvals.models import ApprovalRequest, Status
from approvals.requests import BODY, open_request, parse_body
from approvals.schemas import ApprovalOut
from chimera.core.clock import iso
from chimera.core.schema import PREFER, PROBLEMS, schema_of
from chimera.core.waiting import waited


def as_dict(request: ApprovalRequest, token: str | None = None) -> dict[str, Any]:
    """A request as the API shows it."""
    return {
        "id": str(request.id),
        "status": request.status,
        "kind": request.kind,
        "action": request.action,
        "action_digest": request.action_digest,
        "sentence": request.sentence,
        "lane": request.lane,
        "confidence": request.confidence,
        "reason": request.reason or None,
        "execution_id": request.execution_id,
        "created_at": iso(request.created_at),
        "expires_at": iso(request.expires_at),
        "decided_at": iso(request.decided_at),
        "token_expires_at": iso(request.token_expires_at),
        "approval_token": token,
    }


class ApprovalCreate(APIView):
    """POST /api/v1/approvals/"""

    scopes = {"POST": "approvals:request"}

    @extend_schema(
        operation_id="approvals_request",
        request={"application/json": schema_of(BODY)},
        responses={201: schema_of(ApprovalOut), 200: schema_of(ApprovalOut), **PROBLEMS},
    )
    def post(self, request: Request) -> Response:
        """Ask a person for an approval; a second open request for the same action is the first."""
        opened, fresh = open_request(writer_of(request), parse_body(request.data))
        return Response(as_dict(opened, services.token_of(opened)), status=201 if fresh else 200)


class ApprovalDetail(APIView):
    """GET /api/v1/approvals/{id}/"""

    scopes = {"GET": "approvals:read"}

    @extend_schema(
        operation_id="approvals_get",
        parameters=[PREFER],
        responses={200: schema_of(ApprovalOut), **PROBLEMS},
    )
    def get(self, request: Request, approval_id: UUID) -> Response:
        """One of the agent's own requests, with the token once it is approved."""
        found = services.request_of(agent_of(request), approval_id)
        prefer = request.headers.get("Prefer", "")
        waited(found, lambda row: row.status != Status.PENDING, found.agent_id, prefer)
        return Response(as_dict(found, services.token_of(found)))


def jwks_view(request: HttpRequest) -> HttpResponse:
    """GET /.well-known/jwks.json"""
    return HttpResponse(jwks_text(), content_type="application/json")
