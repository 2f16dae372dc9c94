"""Failures of language models as errors of the table.

Providers: https://ai.google.dev/gemini-api/docs/troubleshooting (RESOURCE_EXHAUSTED is used for the
minute's limit and for the day's quota; details tell) and
https://developers.openai.com/api/docs/guides/error-codes (insufficient_quota comes as a 429 too).
The client sorts them into categories; nothing of a provider's prose is passed on, it may quote keys.
"""

import re
from typing import Any

from chimera.core.errors import ChimeraError

_CODE = re.compile(r"[A-Za-z0-9_]{1,64}")


class AnswerTooLong(ChimeraError):
    """The answer did not fit into the output tokens; half of the question may fit."""


def as_error(problem: Exception, model: str) -> Exception:
    """LLM_ERROR with what the caller can use, or TimeoutError where our own limit ran out.

    final where the same request cannot succeed later: wrong key, unknown model, quota used up,
    limits exceeded. backoff_sec is the provider's Retry-After or RetryInfo.
    """
    from pydantic_ai import exceptions as ai

    match problem:
        case ai.ModelRequestTimeout() | ai.ModelTimeoutError():
            return TimeoutError(f"{model} did not answer in time")
        case ai.ModelAPIError():
            return _of_provider(problem, model)
        case ai.OutputTokenLimitExceeded():
            return AnswerTooLong("LLM_ERROR", f"The answer of {model} was cut off")
        case ai.UsageLimitExceeded():
            return _error(f"{model} used more than its limits allow", model, final=True)
        case ai.ContentFilterError():
            return _error(f"{model} refused to answer for safety reasons", model, final=True)
    return _error(f"{model} gave an answer that cannot be read", model)


def _of_provider(problem: Any, model: str) -> ChimeraError:
    from pydantic_ai import exceptions as ai

    hopeless = isinstance(problem, ai.ModelQuotaExceededError | ai.ModelRequestRejectedError)
    told_not_to = getattr(problem, "provider_retry_hint", None) is False
    status = getattr(problem, "status_code", None)
    error = _error(
        f"{model} {_reason(problem)}", model, final=hopeless or told_not_to, status=status
    )
    code = problem.provider_error_code
    if isinstance(code, str) and _CODE.fullmatch(code):
        error.details["provider_code"] = code
    error.backoff_sec = problem.retry_after
    return error


def _reason(problem: Exception) -> str:
    from pydantic_ai import exceptions as ai

    reasons: tuple[tuple[type[Exception], str], ...] = (
        (ai.ModelQuotaExceededError, "has used its quota up; raise it with the provider"),
        (ai.ModelRateLimitError, "is asked too often"),
        (ai.ModelAuthenticationError, "refused the key; check the setting of the API key"),
        (ai.ModelNotFoundError, "is unknown to the provider; check the setting of the model"),
        (ai.ModelRequestRejectedError, "refused the request"),
        (ai.ModelConnectionError, "could not be reached"),
    )
    return next((text for kind, text in reasons if isinstance(problem, kind)), "is unavailable")


def _error(
    message: str, model: str, *, final: bool = False, status: int | None = None
) -> ChimeraError:
    details: dict[str, Any] = {"model": model}
    if status is not None:
        details["provider_status"] = status
    return ChimeraError("LLM_ERROR", message, details=details, final=final)
