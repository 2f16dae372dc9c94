"""Counts of posts: taken right after publishing and at their ages, by one reading each, never in the way."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.cache import cache

from agents.models import Agent
from chimera.celery import app
from chimera.core.clock import moment_of, now
from chimera.core.ids import new_id
from content import engagement
from content.connections import credentials_open, credentials_seal
from content.engagement import engagement_refresh_due, engagement_take
from content.models import PlatformAccount, Publication
from content.platforms.base import (
    Credentials,
    Media,
    PlatformFailure,
    Processing,
    PublishIntent,
)
from content.platforms.registry import adapter_for
from content.tasks import refresh_engagement
from skills.models import Status
from tests.fakes.fixtures import FakeServer
from tests.helpers.calls import asked, call, sign, stored
from tests.helpers.world import open_account

pytestmark = [pytest.mark.django_db, pytest.mark.req("A5.9")]
BODY = b"\x00\x00\x00\x18ftypisom" + b"v" * 99
COUNTS = {"likes": 3, "comments": 1, "shares": 0}
Published = Callable[..., Publication]


@pytest.fixture
def server(fake: Callable[[str], FakeServer], settings: Any) -> FakeServer:
    settings.CHIMERA = settings.CHIMERA.model_copy(update={"chimera_platform": "local"})
    return fake("youtube")


@pytest.fixture
def account(server: FakeServer, orchestrator: Agent) -> PlatformAccount:
    return connected(server, orchestrator, "aurora_style")


def connected(server: FakeServer, agent: Agent, handle: str) -> PlatformAccount:
    made = server.account(handle)
    credentials = Credentials(made["access_token"], made["refresh_token"], made["extra"])
    return PlatformAccount.objects.create(
        platform="youtube",
        handle=handle,
        mode="local",
        agent=agent,
        base_url=server.url,
        sealed_credentials=credentials_seal(credentials),
    )


def uploaded(server: FakeServer, account: PlatformAccount) -> str:
    """The id of a video that the account has uploaded."""
    handles: dict[str, str] = {}
    intent = PublishIntent(
        intent_id=new_id(),
        platform="youtube",
        account=account.handle,
        text="Merkato knew first",
        media=(Media("https://media.example/a.mp4", "a" * 64, "video", BODY),),
        base_url=server.url,
        credentials=credentials_open(account),
        handles=handles,
    )
    adapter = adapter_for("youtube", "local")
    adapter.prepare(intent, handles.__setitem__)
    with pytest.raises(Processing):
        adapter.send(intent, handles.__setitem__)
    return handles["video"]


@pytest.fixture
def published(server: FakeServer, account: PlatformAccount, orchestrator: Agent) -> Published:
    """`published(age)`: a post of this age that the server has."""
    videos: dict[str, str] = {}

    def make(age: timedelta = timedelta(0), **fields: Any) -> Publication:
        owner = fields.pop("account", account)
        if owner.handle not in videos:
            videos[owner.handle] = uploaded(server, owner)
        made = {
            "content": stored(orchestrator),
            "revision": 1,
            "platform": "youtube",
            "account": owner,
            "text": "Merkato knew first",
            "action_digest": "d" * 64,
            "approval_id": new_id(),
            "execution_id": new_id(),
            "agent": orchestrator,
            "reviewer_id": "1",
            "state": Publication.State.PUBLISHED,
            "post_id": videos[owner.handle],
            "published_at": now() - age,
        }
        return Publication.objects.create(**(made | fields))

    return make


def reads(server: FakeServer) -> int:
    """How often the server was asked for a video."""
    return len(server.calls("/youtube/v3/videos", "GET"))


def counts(publication: Publication) -> dict[str, Any]:
    publication.refresh_from_db()
    return {name: publication.engagement.get(name) for name in COUNTS}


def test_counts_are_kept_with_their_moment_and_the_next_one(published: Published) -> None:
    publication = published()
    assert engagement_take(publication)

    assert counts(publication) == COUNTS
    assert set(publication.engagement) == {*COUNTS, "at", "due"}
    assert now() - moment_of(publication.engagement["at"]) < timedelta(minutes=1)
    wait = publication.engagement["due"] - publication.published_at.timestamp()
    assert wait == pytest.approx(300, abs=1)


@pytest.mark.parametrize("age", engagement.AGES)
def test_each_age_asks_once_and_the_next_one_asks_again(
    published: Published, server: FakeServer, age: timedelta
) -> None:
    publication = published(age + timedelta(seconds=1))
    assert [engagement_refresh_due() for _ in range(3)] == [1, 0, 0]
    assert reads(server) == 1 and counts(publication) == COUNTS

    later = [other for other in engagement.AGES if other > age]
    if later:
        Publication.objects.update(published_at=now() - later[0] - timedelta(seconds=1))
        _pass_time(later[0] - age)
        assert engagement_refresh_due() == 1 and reads(server) == 2
    else:
        assert "due" not in publication.engagement, "nothing follows the last age"


def _pass_time(span: timedelta) -> None:
    for publication in Publication.objects.all():
        publication.engagement["due"] -= int(span.total_seconds()) + 1
        publication.save(update_fields=["engagement"])


def test_only_published_posts_of_this_mode_and_of_enabled_accounts_are_asked_for(
    published: Published, server: FakeServer, orchestrator: Agent
) -> None:
    published(engagement.LONGEST)
    published(state=Publication.State.OUTCOME_UNKNOWN)
    other = connected(server, orchestrator, "elsewhere")
    published(account=other)
    PlatformAccount.objects.filter(id=other.id).update(mode="sandbox")
    closed = connected(server, orchestrator, "closed")
    published(account=closed)
    PlatformAccount.objects.filter(id=closed.id).update(enabled=False)

    assert engagement_refresh_due() == 0 and reads(server) == 0


@pytest.mark.parametrize("kind", ["500_before_effect", "html_error"])
def test_a_reading_that_fails_is_left_to_the_next_age_and_keeps_the_counts_before_it(
    published: Published, server: FakeServer, kind: str
) -> None:
    kept = {"likes": 2, "comments": 0, "shares": 0, "at": "2026-11-21T08:30:00Z", "due": 1}
    publication = published(timedelta(hours=2), engagement=kept)
    server.arm(kind)

    assert [engagement_refresh_due() for _ in range(3)] == [0, 0, 0]
    assert reads(server) == 1
    assert counts(publication) == {"likes": 2, "comments": 0, "shares": 0}
    assert publication.engagement["at"] == kept["at"]
    assert publication.engagement["due"] > now().timestamp() + 3600


def test_a_rate_limit_stops_the_account_until_it_may_be_asked_again_and_no_other(
    published: Published, server: FakeServer, orchestrator: Agent
) -> None:
    mine = [published() for _ in range(3)]
    server.arm("429_seconds")
    assert engagement_refresh_due() == 0 and reads(server) == 1
    theirs = published(account=connected(server, orchestrator, "other"))
    assert engagement_refresh_due() == 1 and counts(theirs) == COUNTS

    cache.clear()
    for publication in mine:
        publication.refresh_from_db()
    (limited,) = [each for each in mine if each.engagement]
    assert limited.engagement["due"] - now().timestamp() < 3, "the server said 2 s"
    _pass_time_of(limited)
    assert engagement_refresh_due() == 3


def _pass_time_of(publication: Publication) -> None:
    Publication.objects.filter(id=publication.id).update(engagement={"due": 1})


def test_an_exhausted_quota_stops_the_account(published: Published, server: FakeServer) -> None:
    for _ in range(3):
        published()
    server.arm("quotaExceeded", 9)

    assert [engagement_refresh_due() for _ in range(3)] == [0, 0, 0] and reads(server) == 1


def test_an_expired_token_is_renewed_and_kept(
    published: Published, server: FakeServer, account: PlatformAccount
) -> None:
    publication = published()
    before = bytes(account.sealed_credentials)
    server.arm("token_expired", path="/youtube/v3/videos")

    assert engagement_refresh_due() == 1 and counts(publication) == COUNTS
    account.refresh_from_db()
    assert bytes(account.sealed_credentials) != before


def test_a_batch_is_bounded_and_fair_to_every_account(
    published: Published,
    server: FakeServer,
    orchestrator: Agent,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(engagement, "PER_ACCOUNT", 2)
    monkeypatch.setattr(engagement, "BATCH", 3)
    for _ in range(5):
        published()
    other = published(account=connected(server, orchestrator, "other"))

    assert engagement_refresh_due() == 3 and reads(server) == 3
    assert counts(other) == COUNTS


def test_two_workers_ask_once_and_the_later_one_stores_nothing(
    published: Published, server: FakeServer
) -> None:
    publication = published()
    same = Publication.objects.get(id=publication.id)

    assert engagement_take(publication) and not engagement_take(same)
    assert reads(server) == 1


def test_a_post_that_was_withdrawn_meanwhile_is_not_asked_for(
    published: Published, server: FakeServer
) -> None:
    publication = published()
    Publication.objects.update(state=Publication.State.WITHDRAWN)

    assert not engagement_take(publication) and reads(server) == 0


def test_a_fault_in_an_adapter_does_not_stop_the_others(
    published: Published, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: Any) -> None:
        raise RuntimeError("a defect")

    publication = published()
    monkeypatch.setattr("content.engagement._ask", broken)
    refresh_engagement()

    publication.refresh_from_db()
    assert publication.state == Publication.State.PUBLISHED and "at" not in publication.engagement


def test_every_scheduled_task_is_known_to_the_workers(settings: Any) -> None:
    app.loader.import_default_modules()
    scheduled = {entry["task"] for entry in settings.CELERY_BEAT_SCHEDULE.values()}

    assert "content.refresh_engagement" in scheduled and scheduled <= set(app.tasks)


# --- right after publishing ---------------------------------------------------------------------


@pytest.fixture
def ready(world: str, settings: Any, orchestrator: Agent, reviewer: User, approval_key: Any) -> Any:
    """The input of publish_content for a post on the sandbox's X that a person has approved."""
    settings.CHIMERA = settings.CHIMERA.model_copy(update={"chimera_world_url": world})
    handle = f"aurora_{new_id().hex[-10:]}"
    token = open_account(world, "twitter", handle)
    PlatformAccount.objects.create(
        platform="twitter",
        handle=handle,
        agent=orchestrator,
        sealed_credentials=credentials_seal(Credentials(token)),
    )
    content = stored(orchestrator)
    token = sign(asked(orchestrator, content, "twitter"), reviewer)
    return {"content": content.current.data, "platform": "twitter", "approval_token": token}


def test_a_new_post_has_its_counts_at_once(orchestrator: Agent, ready: Any) -> None:
    execution = call(orchestrator, "publish_content", **ready)

    assert execution.status == Status.COMPLETED, execution.error
    kept = Publication.objects.get().engagement
    assert {"at", "due"} < set(kept)
    assert execution.output["engagement_snapshot"] == {name: kept[name] for name in COUNTS}


@pytest.mark.parametrize("problem", [PlatformFailure("rate_limited", "wait"), RuntimeError("bug")])
def test_counts_that_cannot_be_had_do_not_fail_the_publication(
    orchestrator: Agent, ready: Any, monkeypatch: pytest.MonkeyPatch, problem: Exception
) -> None:
    def refuse(*_: Any) -> None:
        raise problem

    monkeypatch.setattr("content.platforms.sandbox.adapter.SandboxAdapter.engagement", refuse)
    execution = call(orchestrator, "publish_content", **ready)

    assert execution.status == Status.COMPLETED and execution.retry_count == 0
    assert execution.output["engagement_snapshot"] == {"likes": 0, "comments": 0, "shares": 0}
    assert Publication.objects.get().state == Publication.State.PUBLISHED
