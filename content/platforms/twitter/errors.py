"""What a refusal of X means. Source: docs.x.com response codes and rate limits, read 2026-11."""

from datetime import UTC, datetime

from chimera.core.clock import now
from content.platforms.base import FailureKind, PlatformFailure
from content.platforms.http import Reply, detail, retry_after

_KINDS: dict[int, FailureKind] = {
    400: "content_rejected",
    401: "auth_refresh",
    402: "quota_exhausted",  # no credits are left on the pay-per-use account
    403: "permanent",
    413: "content_rejected",
    422: "content_rejected",
    429: "rate_limited",
}
_DEAD = ("not-authorized-for-resource", "client-forbidden", "client-not-enrolled", "suspended")
_DAYS = ("x-user-limit-24hour", "x-app-limit-24hour")


def judge(reply: Reply) -> PlatformFailure:
    """The failure behind a status below 500."""
    kind: FailureKind = _KINDS.get(reply.status, "permanent")
    problem = str(reply.fields().get("type", "")).rpartition("/")[2]
    message = detail(reply, "detail", "title")
    if reply.status == 403 and "duplicate content" in message.lower():
        kind = "duplicate_rejected"
    elif reply.status == 403 and (problem in _DEAD or "suspended" in message.lower()):
        kind = "auth_dead"
    elif reply.status == 429 and problem == "usage-capped":
        kind = "quota_exhausted"
    wait = _wait(reply) if reply.status == 429 else None
    return PlatformFailure(kind, message, retry_after=wait)


def _wait(reply: Reply) -> float | None:
    """Seconds until the window that is used up opens again."""
    told = retry_after(reply)
    for name in (*_DAYS, "x-rate-limit"):
        reset = reply.headers.get(f"{name}-reset", "")
        if reset.isdecimal() and reply.headers.get(f"{name}-remaining", "0") == "0":
            left = (datetime.fromtimestamp(int(reset), UTC) - now()).total_seconds()
            return max(1.0, left, told or 0.0)
    return told
