"""A publication on a local platform server, driven as the framework drives it, without its waits."""

import io
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from functools import cache
from typing import Any
from uuid import uuid4

import httpx
import pytest
from django.db import transaction
from django.db.models import F
from PIL import Image
from pytest_httpserver import HTTPServer

from agents.models import Agent
from chimera.core.clock import now
from chimera.core.digest import digest
from chimera.core.errors import ChimeraError
from chimera.core.grants import Grant
from content.connections import credentials_seal
from content.models import ContentPackage, PlatformAccount, Publication
from content.platforms import http
from content.platforms.base import Credentials
from content.publishing import publication_carry_out
from content.services import content_store, publish_action
from content.starting import publication_begin
from tests.content.platforms.cases import Case
from tests.fakes.fixtures import FakeServer
from tests.helpers.calls import package

ROUNDS = 14


class Killed(BaseException):
    """Ends a run without any clean-up of the code under test, as kill -9 does."""


@cache
def file_bytes(ending: str, number: int = 0) -> bytes:
    """A small file of the format; each number has bytes of its own."""
    if ending == "mp4":
        return b"\x00\x00\x00\x18ftypmp42" + bytes([number]) + b"\x00\x01\x02\x03" * 512
    made = io.BytesIO()
    Image.new("RGB", (640, 640), (number * 40, 90, 120)).save(
        made, {"jpg": "JPEG", "png": "PNG", "gif": "GIF"}[ending]
    )
    return made.getvalue()


@dataclass
class Stage:
    """One platform server, one connected account, one agent; `media_url` serves the files."""

    case: Case
    server: FakeServer
    agent: Agent
    account: PlatformAccount
    media_url: str

    def content(self, files: tuple[str, ...] | None = None, **changes: Any) -> ContentPackage:
        """A stored package with the files of the case, or the given ones."""
        endings = self.case.files if files is None else files
        urls = [f"{self.media_url}/{index}.{ending}" for index, ending in enumerate(endings)]
        described = [
            {"url": url, "type": "video" if url.endswith("mp4") else "image"}
            | ({"duration_sec": 12} if url.endswith("mp4") else {})
            for url in urls
        ]
        given = {
            "captions": f"{self.case.caption} {uuid4().hex[:8]}",
            "media_urls": urls,
            "media_metadata": described or None,
            "platform_variants": self.case.variants or None,
        }
        made = package(**(given | changes))
        return content_store(agent=self.agent, package=made, trends=[], actor=self.agent.actor)

    def begin(self, content: ContentPackage | None = None, **more: Any) -> Publication:
        """The publication of a content, as a redeemed approval begins it."""
        content = content or self.content()
        action = publish_action(
            revision=content.current, platform=self.case.platform, account=self.account, **more
        )
        grant = Grant(
            approval_id=uuid4(),
            action=action,
            action_digest=digest(action),
            agent_id=self.agent.id,
            execution_id=uuid4(),
            reviewer_id="7",
            signed_at=now(),
        )
        with transaction.atomic():
            return publication_begin(grant=grant, schedule_time=None)

    def posted(self, publication: Publication) -> list[dict[str, Any]]:
        """What the server itself has of this publication."""
        return [each for each in self.server.effects() if publication.text in each["text"]]


def attempt(publication: Publication) -> ChimeraError | None:
    """One attempt; the error it ends with."""
    try:
        publication_carry_out(publication.approval_id)
    except ChimeraError as problem:
        return problem
    return None


def drive(publication: Publication, rounds: int = ROUNDS) -> list[str]:
    """Attempts until it is published, failed for good, or a person has to decide; codes on the way.

    Every wait is skipped: an armed row is made ten minutes older.
    """
    codes = []
    for _ in range(rounds):
        problem = attempt(publication)
        if problem is None:
            break
        codes.append(problem.code)
        if problem.final or "a person has to" in problem.message:
            break
        grow_old(publication)
    publication.refresh_from_db()
    return codes


def grow_old(publication: Publication) -> None:
    """Ten minutes pass for what was armed."""
    Publication.objects.filter(id=publication.id).update(
        armed_at=F("armed_at") - timedelta(minutes=10)
    )


@contextmanager
def killed_at_call(
    monkeypatch: pytest.MonkeyPatch, number: int, *, before: bool
) -> Iterator[list[str]]:
    """The process dies at its n-th call to a platform (from 0), before or after the call has been
    made; yields the calls that were made. Nothing dies when there are fewer."""
    made: list[str] = []
    stream = httpx.Client.stream

    @contextmanager
    def deadly(self: httpx.Client, method: str, url: str, **options: Any) -> Iterator[Any]:
        if "/media/" in url and "/2/media" not in url:
            with stream(self, method, url, **options) as reply:  # a file of the package
                yield reply
            return
        made.append(f"{method} {url}")
        dies = len(made) - 1 == number
        if dies and before:
            raise Killed
        with stream(self, method, url, **options) as reply:
            yield reply
        if dies:
            raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(httpx.Client, "stream", deadly)
        yield made


@pytest.fixture
def stage_of(
    fake: Callable[[str], FakeServer],
    httpserver: HTTPServer,
    orchestrator: Agent,
    settings: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> Callable[[Case], Stage]:
    """`stage_of(case)`: a server with a connected account, in a deployment that posts to local servers."""
    world = httpserver.url_for("").rstrip("/")
    settings.CHIMERA = settings.CHIMERA.model_copy(
        update={"chimera_platform": "local", "chimera_world_url": world}
    )
    for number in range(4):
        for ending in ("jpg", "png", "gif", "mp4"):
            httpserver.expect_request(f"/media/{number}.{ending}").respond_with_data(
                file_bytes(ending, number), content_type="application/octet-stream"
            )
    monkeypatch.setattr(http, "DEADLINE_SEC", 1.0)

    def make(case: Case) -> Stage:
        server = fake(case.platform)
        account = connected(case, server, orchestrator)
        return Stage(case, server, orchestrator, account, f"{world}/media")

    return make


def connected(
    case: Case, server: FakeServer, agent: Agent, handle: str = "aurora_style"
) -> PlatformAccount:
    """An account of mode local with the credentials that the server gave."""
    given = server.account(handle, **case.wanted)
    credentials = Credentials(given["access_token"], given["refresh_token"], given["extra"])
    return PlatformAccount.objects.create(
        platform=case.platform,
        handle=handle,
        mode="local",
        agent=agent,
        base_url=server.url,
        sealed_credentials=credentials_seal(credentials),
    )
