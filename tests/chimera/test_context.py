"""What every page says about where posts go."""

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

pytestmark = [pytest.mark.django_db, pytest.mark.req("C5")]


@pytest.mark.parametrize(
    ("platform", "said", "link"),
    [
        ("sandbox", "no real post, no real money", "http://world.example/"),
        ("local", "no real post, no real money", "http://local.example/twitter/_effects"),
        ("live", "Sandbox, but posts are real", None),
    ],
)
def test_the_desk_says_truly_whether_posts_are_real_and_where_they_are_seen(
    client: Client, reviewer: User, settings: Any, platform: str, said: str, link: str | None
) -> None:
    settings.CHIMERA = settings.CHIMERA.model_copy(
        update={
            "chimera_platform": platform,
            "chimera_world_url": "http://world.example/",
            "chimera_local_url": "http://local.example",
        }
    )
    client.force_login(reviewer)
    page = client.get("/").content.decode()
    assert said in page
    assert ("no real post" in page) is (platform != "live")
    assert (f'href="{link}"' in page) if link else ("sandbox platforms" not in page)
