"""Pydantic models in the OpenAPI document, and validation errors as field -> messages."""

from typing import Any

from drf_spectacular.utils import OpenApiParameter, OpenApiResponse
from pydantic import BaseModel, TypeAdapter, ValidationError

PREFER = OpenApiParameter(
    "Prefer", str, OpenApiParameter.HEADER, description="wait=N seconds, at most 60"
)
PROBLEM = {
    "type": "object",
    "required": ["type", "title", "status", "detail", "instance", "code", "retryable"],
    "properties": {
        "type": {"type": "string"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string"},
        "instance": {"type": "string"},
        "code": {"type": "string"},
        "retryable": {"type": "boolean"},
        "execution_id": {"type": "string", "format": "uuid"},
        "details": {"type": "object"},
        "output": {},
        "errors": {
            "type": "object",
            "additionalProperties": {"type": "array", "items": {"type": "string"}},
        },
    },
}


def _problem(text: str) -> Any:
    return OpenApiResponse(response=PROBLEM, description=text)


PROBLEMS: dict[Any, Any] = {
    (status, "application/problem+json"): _problem(text)
    for status, text in {
        400: "The input is not valid",
        401: "No valid access token",
        402: "The budget or the balance does not suffice",
        403: "Not allowed",
        404: "Not found",
        405: "Method not allowed",
        409: "Conflict",
        413: "The body is too large",
        415: "Only application/json is accepted",
        422: "The input cannot be used",
        429: "Too many requests",
    }.items()
} | {
    (414, "text/html"): OpenApiResponse({"type": "string"}, "The address is longer than 4094 bytes")
}


def schema_of(model: type[BaseModel] | TypeAdapter[Any]) -> dict[str, Any]:
    """JSON Schema of a model with its definitions in place, for `extend_schema`."""
    if isinstance(model, TypeAdapter):
        raw = model.json_schema(mode="validation")
    else:
        raw = model.model_json_schema(mode="validation")
    return inlined(raw)


def inlined(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema with every local `$ref` replaced by its definition."""
    definitions = schema.pop("$defs", {})

    def walk(node: Any) -> Any:
        if isinstance(node, list):
            return [walk(item) for item in node]
        if not isinstance(node, dict):
            return node
        ref = node.get("$ref", "")
        if ref.startswith("#/$defs/"):
            return walk(
                {
                    **definitions[ref[8:]],
                    **{key: value for key, value in node.items() if key != "$ref"},
                }
            )
        return {
            key: walk(value)
            for key, value in node.items()
            if key != "discriminator" or "mapping" not in str(value)
        }

    found: dict[str, Any] = walk(schema)
    return found


def field_errors(problem: ValidationError, *, drop: set[str] = frozenset()) -> dict[str, list[str]]:  # type: ignore[assignment]  # an empty set
    """`{"field.path": ["message"]}`; union tags in `drop` are left out of the path."""
    found: dict[str, list[str]] = {}
    for error in problem.errors():
        tag = error.get("ctx", {}).get("discriminator")  # of a union: missing or unknown
        parts = (*error["loc"], *([tag.strip("'")] if tag else []))
        path = ".".join(str(part) for part in parts if str(part) not in drop)
        text = str(error["msg"]).removeprefix("Value error, ")
        found.setdefault(path, []).append(text[0].upper() + text[1:])
    return found
