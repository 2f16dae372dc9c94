"""Problem documents (RFC 9457) of the REST doors."""

import json
from typing import Any

import jsonschema

from chimera.core.errors import CODES
from chimera.core.schema import PROBLEM


def problem_of(answer: Any, status: int, code: str) -> dict[str, Any]:
    """The body, which must be a complete problem document."""
    body: dict[str, Any] = json.loads(answer.content)
    assert (answer.status_code, body["code"]) == (status, code), body
    assert answer.headers["Content-Type"].startswith("application/problem+json")
    jsonschema.validate(body, PROBLEM)
    assert body["status"] == status == CODES[code].http_status
    assert body["retryable"] == CODES[code].retryable
    return body
