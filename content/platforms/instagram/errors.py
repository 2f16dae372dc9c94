"""What Meta's error codes mean here, decided by the step and never by `is_transient`.

Sources: developers.facebook.com, "Error Codes" of the Instagram Platform (2 June 2026), "Graph API rate
limiting" and "Handling errors". `is_transient` was seen false on failures that were transient.
"""

import json
import re
from typing import Any

from content.platforms.base import FailureKind, OutcomeUnknown, PlatformFailure
from content.platforms.http import Reply, retry_after

_WAIT: dict[FailureKind, float] = {"quota_exhausted": 3600.0, "rate_limited": 300.0}

_SUBCODES: dict[int, FailureKind] = {
    2207042: "quota_exhausted",
    2207050: "auth_dead",  # the account is restricted: a person has to clear it in the app
    2207051: "permanent",  # held for spam, under code 4, which elsewhere is a rate limit
    2207027: "transient_before_mutation",  # asked to publish before the container was ready
    # the container could not be made; nothing has been published, a new one may succeed
    2207001: "transient_before_mutation",
    2207003: "transient_before_mutation",
    2207008: "transient_before_mutation",
    2207020: "transient_before_mutation",
    2207032: "transient_before_mutation",
    2207052: "transient_before_mutation",
    2207053: "transient_before_mutation",
    # the content itself
    2207004: "content_rejected",
    2207005: "content_rejected",
    2207009: "content_rejected",
    2207010: "content_rejected",
    2207023: "content_rejected",
    2207026: "content_rejected",
    2207028: "content_rejected",
    2207040: "content_rejected",
    2207057: "content_rejected",
}
_EXPIRED = (0, 463)  # of code 190; 0: no subcode is given. Any other means revoked or blocked
_CODES: dict[int, FailureKind] = {
    1: "transient_before_mutation",
    2: "transient_before_mutation",
    -1: "transient_before_mutation",
    -2: "transient_before_mutation",
    4: "rate_limited",
    17: "rate_limited",
    32: "rate_limited",
    613: "rate_limited",
    9: "quota_exhausted",
    25: "auth_dead",
    102: "auth_dead",
    3: "auth_dead",
    10: "auth_dead",
    352: "content_rejected",
    9004: "transient_before_mutation",
    9007: "transient_before_mutation",
    36000: "content_rejected",
    36001: "content_rejected",
    36003: "content_rejected",
    36004: "content_rejected",
}
_BUSINESS_LIMITS = range(80000, 80015)  # arrive with HTTP 400
_PERMISSIONS = range(200, 300)
_SURE_WHEN_PUBLISHING = (2207027, 2207051)


def judge(reply: Reply) -> PlatformFailure:
    """What a refusal means while nothing can have been published."""
    error = _error(reply)
    kind = kind_of(_number(error, "code"), _number(error, "error_subcode"))
    wait = retry_after(reply) or _regain(reply) or _WAIT.get(kind)
    return PlatformFailure(kind, _text(reply, error), retry_after=wait)


def judge_publish(reply: Reply) -> PlatformFailure:
    """The same for media_publish: what may have taken effect is unknown, and the container knows."""
    failure = judge(reply)
    unclear = failure.kind in ("transient_before_mutation", "permanent")
    if unclear and _number(_error(reply), "error_subcode") not in _SURE_WHEN_PUBLISHING:
        raise OutcomeUnknown(failure.message)
    return failure


def of_container(status: str) -> PlatformFailure:
    """The failure of a container whose status_code is ERROR; its `status` names the subcode."""
    found = re.search(r"\b22\d{5}\b", status)
    kind = _SUBCODES.get(int(found[0]), "content_rejected") if found else "content_rejected"
    return PlatformFailure(kind, f"Instagram could not process the media: {status[:300]}")


def kind_of(code: int, subcode: int) -> FailureKind:
    """The kind of a failure: the subcode says more than the code."""
    if subcode in _SUBCODES:
        return _SUBCODES[subcode]
    if code == 190:
        return "auth_refresh" if subcode in _EXPIRED else "auth_dead"
    if code in _BUSINESS_LIMITS:
        return "rate_limited"
    if code in _PERMISSIONS:
        return "auth_dead"
    return _CODES.get(code, "permanent")


def _error(reply: Reply) -> dict[str, Any]:
    error = reply.fields().get("error")
    return error if isinstance(error, dict) else {}


def _number(error: dict[str, Any], name: str) -> int:
    value = error.get(name)
    return value if isinstance(value, int) else 0


def _text(reply: Reply, error: dict[str, Any]) -> str:
    why = error.get("error_user_msg") or error.get("message") or "Instagram refused the call"
    codes = f"{error.get('code', reply.status)}/{error.get('error_subcode', '-')}"
    return f"{str(why)[:300]} (code {codes}, trace {error.get('fbtrace_id', '-')})"


def _regain(reply: Reply) -> float | None:
    """Seconds until the business limit lifts; the header counts in minutes."""
    try:
        usage = json.loads(reply.headers.get("x-business-use-case-usage", ""))
        minutes = max(
            int(entry["estimated_time_to_regain_access"])
            for entries in usage.values()
            for entry in entries
        )
    except (ValueError, LookupError, TypeError, AttributeError):
        return None
    return minutes * 60.0 or None
