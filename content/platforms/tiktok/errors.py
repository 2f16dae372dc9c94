"""What TikTok's error codes and reasons of failure mean here.

Sources: developers.tiktok.com, "API v2 error handling", "Direct Post", "Get Post Status" (July 2026).
A reply has succeeded only when `error.code` is "ok", whatever its HTTP status.
"""

from content.platforms.base import FailureKind, PlatformFailure

_WAIT: dict[FailureKind, float] = {"quota_exhausted": 86_400.0, "rate_limited": 60.0}

_CODES: dict[str, FailureKind] = {
    "access_token_invalid": "auth_refresh",
    "scope_not_authorized": "auth_dead",
    "scope_permission_missed": "auth_dead",
    "token_not_authorized_for_specified_publish_id": "auth_dead",
    "rate_limit_exceeded": "rate_limited",
    "spam_risk_too_many_posts": "quota_exhausted",
    "spam_risk_too_many_pending_share": "quota_exhausted",
    "reached_active_user_cap": "quota_exhausted",
    "spam_risk_user_banned_from_posting": "auth_dead",
    "spam_risk_text": "content_rejected",
    "spam_risk": "content_rejected",
    "invalid_file_upload": "content_rejected",
    "unaudited_client_can_only_post_to_private_accounts": "permanent",
    "url_ownership_unverified": "permanent",
    "privacy_level_option_mismatch": "permanent",
    "app_version_check_failed": "permanent",
    "invalid_params": "permanent",
    "invalid_param": "permanent",  # both spellings are in use
    "invalid_publish_id": "permanent",
}

_ADVICE = {
    "unaudited_client_can_only_post_to_private_accounts": (
        "TikTok has not audited this application yet: it may post for SELF_ONLY, on private accounts"
    ),
    "url_ownership_unverified": (
        "The address of the photos is not verified for this application in TikTok's developer portal"
    ),
    "spam_risk_user_banned_from_posting": "TikTok has barred this account from posting",
    "spam_risk_too_many_posts": "TikTok takes no more posts of this account within 24 hours",
    "reached_active_user_cap": "TikTok lets this application post for no more accounts today",
}

_REASONS: dict[str, FailureKind] = {
    "file_format_check_failed": "content_rejected",
    "duration_check_failed": "content_rejected",
    "frame_rate_check_failed": "content_rejected",
    "picture_size_check_failed": "content_rejected",
    "spam_risk_text": "content_rejected",
    "spam_risk": "content_rejected",
    "spam_risk_too_many_posts": "quota_exhausted",
    "spam_risk_user_banned_from_posting": "auth_dead",
    "auth_removed": "auth_dead",
    "publish_cancelled": "permanent",
    "internal": "transient_before_mutation",
    "video_pull_failed": "transient_before_mutation",
    "photo_pull_failed": "transient_before_mutation",
}


def of_code(code: str, message: str, log_id: str, retry_after: float | None) -> PlatformFailure:
    """The failure that an `error.code` of a reply below HTTP 500 stands for."""
    kind = _CODES.get(code, "permanent")
    text = f"{_ADVICE.get(code, message or 'TikTok refused the call')} ({code}, log {log_id})"
    retry_after = retry_after or _WAIT.get(kind)
    return PlatformFailure(kind, text, retry_after=retry_after)


def of_reason(reason: str) -> PlatformFailure:
    """The failure of a post that TikTok has taken and then given up, for `fail_reason`."""
    kind = _REASONS.get(reason, "permanent")
    text = _ADVICE.get(reason, "TikTok did not publish the post")
    return PlatformFailure(kind, f"{text} ({reason})", retry_after=_WAIT.get(kind))
