"""Every error code of the platform: its HTTP status and whether a retry makes sense.

An error is raised once as a `ChimeraError` and rendered in one place (`chimera.core.problem`).
Sources: Skills API specification sections 1 to 10, docs/errors in the interface description.
"""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Code:
    """What a code means to a caller: HTTP status, retryable or not, one-line title."""

    http_status: int
    retryable: bool
    title: str


CODES: dict[str, Code] = {
    # input
    "INVALID_INPUT": Code(400, False, "The input does not match the schema"),
    "UNSUPPORTED_ACTION": Code(422, False, "This action is not carried out here"),
    "INVALID_PLATFORM": Code(400, False, "Unknown platform"),
    "INVALID_GOALS": Code(422, False, "Campaign goals must be non-empty strings"),
    "INVALID_PERSONA": Code(400, False, "The persona is not valid"),
    "INVALID_CONTENT": Code(400, False, "The content package is not valid"),
    "INVALID_ADDRESS": Code(400, False, "The wallet address is not valid"),
    "INVALID_PROFILE": Code(422, False, "The agent profile is not valid"),
    "MALFORMED_JSON": Code(400, False, "The body is not valid JSON"),
    "PAYLOAD_TOO_LARGE": Code(413, False, "The body is too large"),
    "UNSUPPORTED_MEDIA_TYPE": Code(415, False, "Only application/json is accepted"),
    "METHOD_NOT_ALLOWED": Code(405, False, "Method not allowed"),
    # identity and permission
    "UNAUTHENTICATED": Code(401, False, "A valid access token is required"),
    "FORBIDDEN": Code(403, False, "Not allowed"),
    "SECURITY_VIOLATION": Code(403, False, "Blocked by the security policy"),
    "INVALID_TOKEN": Code(401, False, "The approval token is not valid for this action"),
    "TOKEN_EXPIRED": Code(401, False, "The approval token has expired"),
    # existence
    "NOT_FOUND": Code(404, False, "Not found"),
    "SKILL_NOT_FOUND": Code(404, False, "No such skill"),
    "AGENT_NOT_FOUND": Code(404, False, "No such agent"),
    "VERSION_GONE": Code(410, False, "This version is no longer served"),
    "ARTIFACT_CHANGED": Code(410, False, "The file is no longer the one that was made"),
    # state
    "CONCURRENCY_ERROR": Code(409, False, "The object has changed in the meantime"),
    "INVALID_STATE_TRANSITION": Code(422, False, "This state change is not allowed"),
    "IDEMPOTENCY_CONFLICT": Code(409, False, "The key was used with another body"),
    "IN_PROGRESS": Code(409, False, "A call with this key is still running"),
    "NOT_CANCELLABLE": Code(409, False, "The execution can no longer be cancelled"),
    "NOT_VALIDATED": Code(409, False, "The content has not passed validation"),
    "DUPLICATE_CONTENT": Code(409, False, "Already published on this platform"),
    "LOW_CONFIDENCE": Code(422, False, "The confidence is too low for a review"),
    "VALIDATION_ERROR": Code(422, False, "A validation rule could not run"),
    "VALIDATION_FAILED": Code(422, False, "The source answered with malformed items"),
    "SAFETY_VIOLATION": Code(422, False, "The content violates the safety rules"),
    "CONTRACT_VIOLATION": Code(422, False, "The output breaks its contract"),
    "BUDGET_EXCEEDED": Code(402, False, "The budget is exceeded"),
    # load
    "RATE_LIMITED": Code(429, True, "Too many requests"),
    "RESOURCE_UNAVAILABLE": Code(503, False, "No worker can run this skill"),
    # upstream
    "TIMEOUT": Code(504, True, "No answer in time"),
    "NETWORK_ERROR": Code(503, True, "The network call failed"),
    "PLATFORM_UNAVAILABLE": Code(503, True, "The platform is unavailable"),
    "PLATFORM_ERROR": Code(503, True, "The platform reported an error"),
    "PUBLISH_FAILED": Code(502, True, "The post could not be published"),
    "LLM_ERROR": Code(503, True, "The language model failed"),
    "FILTER_TIMEOUT": Code(504, False, "The filter ran out of time"),
    "GENERATION_TIMEOUT": Code(504, False, "The generation ran out of time"),
    "SAFETY_CHECK_TIMEOUT": Code(504, False, "The safety checks ran out of time"),
    "MEDIA_GENERATION_FAILED": Code(502, True, "The media could not be generated"),
    "REGISTRATION_FAILED": Code(502, True, "The directory refused the registration"),
    "UNAVAILABLE": Code(503, False, "Temporarily unavailable"),
    # money
    "INSUFFICIENT_BALANCE": Code(402, False, "The wallet does not hold enough"),
    "TX_FAILED": Code(502, True, "The transaction failed"),
    "WALLET_ERROR": Code(500, True, "The wallet could not be read"),
    # ourselves
    "OUTCOME_UNKNOWN": Code(502, False, "The outcome of the effect is not known yet"),
    "INTERNAL_ERROR": Code(500, False, "Something went wrong on our side"),
}


class ChimeraError(Exception):
    """An expected failure with a code of the table.

    details: JSON-serialisable facts for the caller, never a secret.
    errors: field name -> list of messages, for input errors.
    backoff_sec: seconds to wait before a retry, where the source said so.
    output: a partial result that goes with the error.
    final: trying again is pointless even though the code is usually retryable.
    """

    def __init__(
        self,
        code: str,
        message: str = "",
        *,
        details: dict[str, Any] | None = None,
        errors: dict[str, list[str]] | None = None,
        backoff_sec: float | None = None,
        output: Any = None,
        final: bool = False,
    ) -> None:
        self.code = code
        self.spec = CODES[code]
        self.message = message or self.spec.title
        self.details = details or {}
        self.errors = errors
        self.backoff_sec = backoff_sec
        self.output = output
        self.final = final
        super().__init__(f"{code}: {self.message}")

    @property
    def http_status(self) -> int:
        return self.spec.http_status

    @property
    def retryable(self) -> bool:
        return self.spec.retryable and not self.final

    def as_dict(self) -> dict[str, Any]:
        """The `error` object of an execution."""
        return {
            "code": self.code,
            "message": self.message,
            "details": self.details | ({"errors": self.errors} if self.errors else {}),
            "retryable": self.retryable,
            "backoff_sec": self.backoff_sec,
            "http_status": self.http_status,
        }
