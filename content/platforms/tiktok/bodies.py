"""What is said to TikTok about a post, and why some posts are not even begun."""

from typing import Any

from content.platforms.base import PlatformFailure, PublishIntent
from content.platforms.tiktok import rules
from content.platforms.tiktok.api import Creator
from content.platforms.tiktok.upload import Plan

PUBLIC = "PUBLIC_TO_EVERYONE"


def privacy_of(intent: PublishIntent) -> str:
    """Who may see the post, as the account is set up; never less than the reviewer expects."""
    return intent.credentials.extra.get("privacy_level") or PUBLIC


def refuse(intent: PublishIntent, creator: Creator) -> None:
    """Raise what is certain to fail, before anything has been sent."""
    if creator.username.lower() != intent.account.lower():
        raise PlatformFailure(
            "auth_dead",
            f"The token belongs to @{creator.username}, not to @{intent.account}: connect it again",
        )
    _refuse_privacy(privacy_of(intent), creator.privacy)
    for problem in rules.problems(intent.text, intent.media):
        raise PlatformFailure("content_rejected", problem)
    for item in intent.media:
        if item.seconds and 0 < creator.max_seconds < item.seconds:
            raise PlatformFailure(
                "content_rejected",
                f"The video lasts {item.seconds:g} s, TikTok allows this account {creator.max_seconds:g} s",
            )


def _refuse_privacy(wanted: str, options: tuple[str, ...]) -> None:
    if wanted in options:
        return
    why = f"TikTok lets this account post for {', '.join(options) or 'nobody'}, not for {wanted}"
    if options == ("SELF_ONLY",):
        why += (
            ". It offers SELF_ONLY alone until it has audited the application: "
            "wait for the audit, or set privacy_level of the account to SELF_ONLY to try it out"
        )
    raise PlatformFailure("permanent", why)


def of_video(intent: PublishIntent, creator: Creator, plan: Plan) -> dict[str, Any]:
    """The body of /v2/post/publish/video/init/ for an upload."""
    return {
        "post_info": {
            "title": intent.text,
            "privacy_level": privacy_of(intent),
            "disable_comment": creator.comment_disabled,
            "disable_duet": creator.duet_disabled,
            "disable_stitch": creator.stitch_disabled,
            "is_aigc": intent.made_by_ai,
        },
        "source_info": {
            "source": "FILE_UPLOAD",
            "video_size": plan.size,
            "chunk_size": plan.chunk,
            "total_chunk_count": plan.count,
        },
    }


def of_photos(intent: PublishIntent) -> dict[str, Any]:
    """The body of /v2/post/publish/content/init/; its post_info has no AI label."""
    return {
        "media_type": "PHOTO",
        "post_mode": "DIRECT_POST",
        "post_info": {
            "description": intent.text,
            "privacy_level": privacy_of(intent),
            "disable_comment": bool(intent.handles.get("comment_disabled")),
            "auto_add_music": False,
        },
        "source_info": {
            "source": "PULL_FROM_URL",
            "photo_cover_index": 0,
            "photo_images": [item.url for item in intent.media],
        },
    }
