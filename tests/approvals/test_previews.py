"""What a reviewer is shown of a post."""

from typing import Any

import pytest

from approvals.actions import publish_sentence
from approvals.previews import post_preview

pytestmark = pytest.mark.req("C5")


def _is_video(url: str, described: str | None = None) -> bool:
    content: dict[str, Any] = {"media_urls": [url]}
    if described:
        content["media_metadata"] = [{"url": url, "type": described}]
    action = {"text": "Merkato knew first.", "account": "aurora", "media": ["9f" * 32]}
    shown = post_preview("tiktok", action=action, context={"content": content}, name="Aurora")
    return shown.media[0].is_video


def test_an_animated_image_of_a_video_post_is_shown_as_an_image() -> None:
    assert not _is_video("http://world.example/media/1.webp", "video")


@pytest.mark.parametrize("name", ["1.mp4", "1.mov", "1.webm", "1.MP4"])
def test_a_video_file_is_shown_as_a_video(name: str) -> None:
    assert _is_video(f"https://cdn.example/{name}")


def test_a_video_without_a_file_ending_is_known_by_its_description() -> None:
    assert _is_video("https://cdn.example/v/1", "video")
    assert not _is_video("https://cdn.example/v/1", "image")


def test_the_sentence_of_a_scheduled_post_names_the_time_in_words() -> None:
    action = {"platform": "tiktok", "account": "aurora", "schedule_time": "2026-12-04T18:05:00Z"}
    assert (
        publish_sentence(action) == "Publish to TikTok as @aurora on 4 December 2026 at 18:05 UTC"
    )
