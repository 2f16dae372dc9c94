"""The `video` resource that an upload session is opened with."""

from typing import Any

from content.platforms.base import PublishIntent
from content.platforms.youtube.texts import title_and_description

PEOPLE_AND_BLOGS = "22"


def video_resource(intent: PublishIntent) -> dict[str, Any]:
    """snippet and status. Google makes every upload of an unverified project private, whatever this says."""
    title, description = title_and_description(intent.text)
    choices = intent.credentials.extra
    return {
        "snippet": {
            "title": title,
            "description": description,
            "categoryId": choices.get("category_id") or PEOPLE_AND_BLOGS,
        },
        "status": {
            "privacyStatus": choices.get("privacy_status") or "public",
            "selfDeclaredMadeForKids": choices.get("made_for_kids") == "yes",
            "containsSyntheticMedia": intent.made_by_ai,
        },
    }
