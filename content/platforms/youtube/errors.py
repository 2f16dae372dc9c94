"""What YouTube's refusals mean.

A refusal is `{"error": {"code", "message", "errors": [{"domain", "reason", "message"}], "status"}}`
(developers.google.com/youtube/v3/docs/errors and .../docs/videos/insert#errors, read July 2026).
"""

from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from chimera.core.clock import now
from content.platforms.base import FailureKind, PlatformFailure
from content.platforms.http import Reply, retry_after

_PACIFIC = "America/Los_Angeles"
_DAY_SEC = 86_400.0
_KINDS: dict[str, FailureKind] = {
    "authError": "auth_refresh",
    "authorizationRequired": "auth_refresh",
    "required": "auth_refresh",
    "youtubeSignupRequired": "auth_dead",
    "insufficientPermissions": "auth_dead",
    "accessNotConfigured": "auth_dead",
    "accountDelegationForbidden": "auth_dead",
    "authenticatedUserAccountClosed": "auth_dead",
    "authenticatedUserAccountSuspended": "auth_dead",
    "authenticatedUserNotChannel": "auth_dead",
    "channelClosed": "auth_dead",
    "channelSuspended": "auth_dead",
    "quotaExceeded": "quota_exhausted",
    "dailyLimitExceeded": "quota_exhausted",
    "uploadLimitExceeded": "quota_exhausted",
    "rateLimitExceeded": "rate_limited",
    "userRateLimitExceeded": "rate_limited",
    "invalidTitle": "content_rejected",
    "invalidDescription": "content_rejected",
    "invalidTags": "content_rejected",
    "invalidVideoMetadata": "content_rejected",
    "invalidVideoGameRating": "content_rejected",
    "mediaBodyRequired": "content_rejected",
}
_BY_STATUS: dict[int, FailureKind] = {
    308: "transient_before_mutation",  # bytes are missing still, so there is no video yet
    401: "auth_refresh",
    403: "auth_dead",
    413: "content_rejected",
    415: "content_rejected",
    429: "rate_limited",
}


def of_reply(reply: Reply) -> PlatformFailure:
    """The failure behind a reply without success."""
    reason, message = _reason_and_message(reply)
    kind = _KINDS.get(reason) or _BY_STATUS.get(reply.status, "permanent")
    said = ": ".join(part for part in (f"HTTP {reply.status}", reason, message[:300]) if part)
    return PlatformFailure(kind, said, retry_after=retry_after(reply) or _wait(reason, kind))


def _reason_and_message(reply: Reply) -> tuple[str, str]:
    error = reply.fields().get("error")
    if not isinstance(error, dict):
        return "", ""
    causes = error.get("errors")
    first = causes[0] if isinstance(causes, list) and causes else {}
    reason = first.get("reason", "") if isinstance(first, dict) else ""
    return str(reason), str(error.get("message") or "")


def _wait(reason: str, kind: FailureKind) -> float | None:
    """A channel's limit lasts for a day; a project's quota until midnight in California."""
    if reason == "uploadLimitExceeded":
        return _DAY_SEC
    return seconds_to_new_quota(now()) if kind == "quota_exhausted" else None


def seconds_to_new_quota(moment: datetime) -> float:
    """From the moment to the next midnight, Pacific Time."""
    local = moment.astimezone(ZoneInfo(_PACIFIC))
    tomorrow = (local + timedelta(days=1)).replace(hour=0, minute=0, second=0, microsecond=0)
    return (tomorrow.astimezone(moment.tzinfo) - moment).total_seconds()


def of_video(name: str, reason: str) -> PlatformFailure:
    """A video that YouTube took and then gave up: uploadStatus failed, rejected or deleted."""
    why = f"YouTube says that the video is {name}" + (f": {reason}" if reason else "")
    return PlatformFailure("permanent" if name == "deleted" else "content_rejected", why)
