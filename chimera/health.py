"""Is it alive, is it ready, what does it count."""

import hmac
from datetime import datetime, timedelta
from typing import Any

from celery import current_app
from django.conf import settings
from django.core.cache import cache
from django.db import DatabaseError, connection
from django.http import HttpRequest, HttpResponse, JsonResponse

from chimera.core import metrics as counters
from chimera.core.clock import now
from skills.tasks import HEARTBEAT

WORKER_SILENCE = timedelta(seconds=60)


def healthz(request: HttpRequest) -> HttpResponse:
    """The process answers."""
    return JsonResponse({"status": "ok"})


def readyz(request: HttpRequest) -> HttpResponse:
    """200 when the database, the broker and a worker answer; 503 names what does not."""
    checks = {"database": _database(), "broker": _broker(), "worker": _worker()}
    ready = all(check == "ok" for check in checks.values())
    body = {"status": "ok" if ready else "unavailable", "checks": checks}
    answer = JsonResponse(body, status=200 if ready else 503)
    answer._has_been_logged = True  # type: ignore[attr-defined]  # polled; not an error to log
    return answer


def _database() -> str:
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
        return "ok"
    except DatabaseError as problem:
        return type(problem).__name__


def _broker() -> str:
    try:
        with current_app.connection_for_write() as broker:
            broker.ensure_connection(max_retries=1, timeout=2)
        return "ok"
    except Exception as problem:  # noqa: BLE001  every transport has errors of its own
        return type(problem).__name__


def _worker() -> str:
    heard: Any = cache.get(HEARTBEAT)
    if heard and now() - datetime.fromisoformat(heard) < WORKER_SILENCE:
        return "ok"
    return "no worker has answered within 60 seconds"


def metrics(request: HttpRequest) -> HttpResponse:
    """Prometheus text, on loopback or with CHIMERA_METRICS_TOKEN."""
    token = settings.CHIMERA.chimera_metrics_token
    given = request.headers.get("Authorization", "").removeprefix("Bearer ")
    trusted = bool(token) and hmac.compare_digest(token.encode(), given.encode())
    if not trusted and request.META.get("REMOTE_ADDR") not in ("127.0.0.1", "::1"):
        return HttpResponse(
            "metrics are for loopback or a token", status=403, content_type="text/plain"
        )
    return HttpResponse(
        counters.exposition(), content_type="text/plain; version=0.0.4; charset=utf-8"
    )
