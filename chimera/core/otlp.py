"""Spans to an OpenTelemetry collector over OTLP/HTTP; loaded where CHIMERA_OTLP_ENDPOINT is set.

One exporter per process, made at its first span, so that a fork of the web server or of the worker
has a sending thread of its own. What OTEL_EXPORTER_OTLP_HEADERS holds goes along.
"""

import os
from contextvars import ContextVar
from functools import lru_cache
from typing import Any

from django.conf import settings
from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.sdk.trace.id_generator import RandomIdGenerator

from chimera.core import tracing

SEND_EVERY_MS = 1000
_KINDS = {
    "server": trace.SpanKind.SERVER,
    "internal": trace.SpanKind.INTERNAL,
    "client": trace.SpanKind.CLIENT,
}
_given: ContextVar[str] = ContextVar("chimera_given_trace", default="")


class _Ids(RandomIdGenerator):
    """Random ids, but the trace id that an execution has already got."""

    def generate_trace_id(self) -> int:
        return int(_given.get(), 16) if _given.get() else super().generate_trace_id()


class Exported:
    """A span on its way to the collector. ids: trace id, span id, flags, as hex digits."""

    def __init__(self, span: trace.Span) -> None:
        self._span = span
        own = span.get_span_context()
        flags = f"{own.trace_flags & 1:02x}"
        self.ids = (f"{own.trace_id:032x}", f"{own.span_id:016x}", flags)

    def set(self, attributes: dict[str, Any]) -> None:
        self._span.set_attributes(_named(attributes))

    def rename(self, name: str) -> None:
        self._span.update_name(name)

    def end(self, error: str) -> None:
        if error:
            self._span.set_attribute("error.type", error)
            self._span.set_status(trace.StatusCode.ERROR)
        self._span.end()


def begin(
    endpoint: str,
    name: str,
    kind: str,
    parent: "tracing.Place | None",
    attributes: dict[str, Any],
) -> Exported:
    """Start a span under the parent; where that has no span yet, as the first of its trace."""
    token = _given.set(parent.trace_id if parent else "")
    try:
        tracer = _provider(endpoint, os.getpid()).get_tracer("chimera")
        context = _context(parent) if parent and parent.span_id else Context()
        made = tracer.start_span(
            name, context, _KINDS[kind], _named(attributes), record_exception=False
        )
        return Exported(made)
    finally:
        _given.reset(token)


def _context(parent: "tracing.Place") -> Context:
    remote = trace.SpanContext(
        int(parent.trace_id, 16),
        int(parent.span_id, 16),
        is_remote=True,
        trace_flags=trace.TraceFlags(int(parent.flags, 16)),
    )
    return trace.set_span_in_context(trace.NonRecordingSpan(remote), Context())


def _named(attributes: dict[str, Any]) -> dict[str, Any]:
    return {name.replace("__", "."): value for name, value in attributes.items()}


@lru_cache(maxsize=4)
def _provider(endpoint: str, pid: int) -> TracerProvider:
    resource = Resource.create(
        {"service.name": "chimera", "chimera.process": settings.CHIMERA.chimera_process}
    )
    provider = TracerProvider(resource=resource, id_generator=_Ids())
    exporter = OTLPSpanExporter(endpoint=f"{endpoint.rstrip('/')}/v1/traces")
    provider.add_span_processor(BatchSpanProcessor(exporter, schedule_delay_millis=SEND_EVERY_MS))
    return provider


def flush() -> None:
    """Send what waits, within two seconds."""
    _provider(settings.CHIMERA.chimera_otlp_endpoint, os.getpid()).force_flush(2000)
