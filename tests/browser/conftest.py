"""Browser tests: the system's Chromium, a person who is signed in, pages at both sizes."""

import os
import shutil
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.test import Client
from playwright.sync_api import Browser, Page
from pytest_django.live_server_helper import LiveServer

from approvals.keys import key_ensure
from tests.helpers.desk_samples import person
from tests.plugins.skips import need

# Playwright's event loop runs in this thread; the ORM calls of a test are made between its steps.
os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "1"

DESKTOP = {"width": 1440, "height": 900}
PHONE = {"width": 390, "height": 844}
Open = Callable[..., Page]


@pytest.fixture(scope="session")
def browser_type_launch_args() -> dict[str, Any]:
    """Chromium of the system; nothing is downloaded."""
    path = (
        shutil.which("chromium")
        or shutil.which("chromium-browser")
        or shutil.which("google-chrome")
    )
    need("browser", path)
    return {"executable_path": path}


@pytest.fixture
def reviewer(transactional_db: None) -> User:
    """A person who may decide, and a key to sign with."""
    key_ensure(actor="system:tests")
    return person()


@pytest.fixture
def open_page(browser: Browser, live_server: LiveServer, reviewer: User) -> Iterator[Open]:
    """Opens a path as the reviewer, with options of a browser context such as `viewport`."""
    client = Client()
    client.force_login(reviewer)
    session = client.cookies[settings.SESSION_COOKIE_NAME].value
    contexts = []

    def go(path: str, *, signed_in: bool = True, **options: Any) -> Page:
        context = browser.new_context(base_url=live_server.url, **({"viewport": DESKTOP} | options))
        contexts.append(context)
        if signed_in:
            context.add_cookies(
                [{"name": settings.SESSION_COOKIE_NAME, "value": session, "url": live_server.url}]
            )
        page = context.new_page()
        page.goto(path)
        return page

    yield go
    for context in contexts:
        context.close()
