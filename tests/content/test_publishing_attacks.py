"""What an attacker, a mistake or a lying network tries between the signature and the post."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import httpx
import pytest
from django.db.models import F

from agents.models import Agent
from chimera.core.clock import now
from chimera.core.errors import ChimeraError
from chimera.core.models import AuditEntry
from content import publishing
from content.connections import account_connect, credentials_open
from content.intents import intent_of
from content.models import PlatformAccount, Publication
from content.platforms.base import Credentials, OutcomeUnknown, RemotePost
from content.platforms.http import Reply, during
from content.platforms.registry import adapter_for
from content.platforms.twitter.adapter import TwitterAdapter
from content.services import content_revise
from content.verdicts import published
from tests.content.platforms.cases import Case, all_cases
from tests.content.platforms.cases.instagram import CASE as INSTAGRAM
from tests.content.platforms.cases.tiktok import CASE as TIKTOK
from tests.content.platforms.cases.twitter import CASE as TWITTER
from tests.content.platforms.stage import Stage, attempt, drive, grow_old
from tests.helpers.calls import package

pytestmark = pytest.mark.req("X2", "A5.8")
State = Publication.State
StageOf = Callable[[Case], Stage]


def reconnect(stage: Stage, handle: str = "somebody_else") -> None:
    """A person connects the account with the token of another one, by mistake or not."""
    given = stage.server.account(handle, **stage.case.wanted)
    account_connect(
        account=stage.account,
        credentials=Credentials(given["access_token"], given["refresh_token"], given["extra"]),
        actor="person:1",
    )


# --- whose account --------------------------------------------------------------------------------


@pytest.mark.parametrize("case", all_cases(), ids=lambda case: case.platform)
def test_a_token_of_another_account_posts_nothing(case: Case, stage_of: StageOf) -> None:
    stage = stage_of(case)
    publication = stage.begin()
    reconnect(stage)

    drive(publication)

    assert stage.server.effects() == [], publication.error
    assert publication.state == State.PUBLISH_FAILED and "connect" in publication.error


@pytest.mark.parametrize("case", all_cases(), ids=lambda case: case.platform)
def test_a_token_of_another_account_given_after_the_uploads_posts_nothing_there(
    case: Case, stage_of: StageOf
) -> None:
    stage = stage_of(case)
    publication = stage.begin()
    stage.server.arm("429", path=case.send[1], method=case.send[0])
    assert attempt(publication)
    reconnect(stage)

    drive(publication)

    assert [post for post in stage.server.effects() if post["account"] != "aurora_style"] == []


def test_a_text_is_not_posted_with_the_token_of_another_account_given_between_two_tries(
    stage_of: StageOf,
) -> None:
    stage = stage_of(TWITTER)
    publication = stage.begin(stage.content(files=()))
    stage.server.arm("429", path="/2/tweets", method="POST")
    assert attempt(publication)
    reconnect(stage)

    assert drive(publication) == ["PLATFORM_ERROR"]
    assert stage.server.effects() == [] and "@somebody_else" in publication.error


def test_an_account_connected_anew_just_before_the_post_is_checked_before_it_posts(
    stage_of: StageOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage = stage_of(TWITTER)
    publication = stage.begin(stage.content(files=()))

    def other_owner() -> None:
        stage.server.revoke("aurora_style")
        if stage.account.handle == "aurora_style" and not Publication.objects.get().error:
            reconnect(stage)

    monkeypatch.setattr(
        publishing, "reach", lambda point: other_owner() if point == "publish.armed" else None
    )

    drive(publication)

    assert stage.server.effects() == [] and publication.state == State.PUBLISH_FAILED


def test_an_account_that_was_given_another_name_posts_nothing(stage_of: StageOf) -> None:
    stage = stage_of(TWITTER)
    publication = stage.begin(stage.content(files=()))
    PlatformAccount.objects.update(handle="somebody_else")
    reconnect(stage)

    assert drive(publication, rounds=2)[-1:] == ["INVALID_TOKEN"]
    assert stage.server.effects() == [] and publication.state == State.PUBLISH_FAILED


# --- what was changed on the way ------------------------------------------------------------------


@pytest.mark.parametrize("model", [Agent, PlatformAccount], ids=["agent", "account"])
def test_who_is_disabled_during_the_uploads_posts_nothing(
    model: Any, stage_of: StageOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage = stage_of(TWITTER)
    publication = stage.begin()
    monkeypatch.setattr(
        publishing,
        "reach",
        lambda point: model.objects.update(enabled=False) if point == "publish.prepared" else None,
    )

    assert drive(publication) == ["FORBIDDEN"]
    assert stage.server.calls("/2/tweets", "POST") == [] and publication.armed_at is None


@pytest.mark.req("A5.7")
def test_a_content_edited_before_its_post_is_due_is_not_posted_as_it_was(stage_of: StageOf) -> None:
    stage = stage_of(TWITTER)
    content = stage.content(files=())
    publication = stage.begin(content)
    Publication.objects.update(state=State.SCHEDULED)
    edited = package(content_id=str(content.id), captions="Corrected: the market is on Sunday.")
    content_revise(content_id=content.id, package=edited, actor="person:1")

    assert drive(publication) == ["INVALID_TOKEN"]
    assert stage.server.effects() == [] and "edited" in publication.error


# --- what the platform says -----------------------------------------------------------------------


@pytest.mark.parametrize("case", all_cases(), ids=lambda case: case.platform)
def test_a_refusal_that_is_not_the_platforms_own_is_no_proof_that_nothing_was_posted(
    case: Case, stage_of: StageOf
) -> None:
    stage = stage_of(case)
    publication = stage.begin()
    stage.server.arm("html_400_after_effect", path=case.send[1], method=case.send[0])

    codes = drive(publication)

    assert len(stage.posted(publication)) == 1
    assert publication.state == State.PUBLISHED or "OUTCOME_UNKNOWN" in codes, codes
    assert publication.state != State.PUBLISH_FAILED, publication.error


def test_a_lost_post_of_the_same_text_is_left_to_the_publication_that_sent_first(
    stage_of: StageOf,
) -> None:
    stage = stage_of(TWITTER)
    words = "The same words on the same day."
    first = stage.begin(stage.content(files=(), captions=words))
    stage.server.arm("cut_after_effect", path="/2/tweets", method="POST")
    assert attempt(first)
    second = stage.begin(stage.content(files=(), captions=words))
    assert attempt(second)
    grow_old(second)

    problem = attempt(second)
    assert problem and problem.code == "OUTCOME_UNKNOWN"
    drive(first)
    drive(second)

    assert (first.state, second.state) == (State.PUBLISHED, State.PUBLISH_FAILED), second.error
    assert len(stage.server.effects()) == 1


def test_a_lost_post_on_instagram_is_not_taken_for_another_of_the_same_caption(
    stage_of: StageOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage = stage_of(INSTAGRAM)
    words = "The same words on the same day. Made with AI."
    first = stage.begin(stage.content(captions=words))
    drive(first)
    second = stage.begin(stage.content(captions=words))
    stage.server.arm("cut_after_effect", path="/media_publish")
    stage.server.arm("unlisted", count=1)
    attempt(second)
    Publication.objects.filter(id=second.id).update(begun_at=F("begun_at") - timedelta(seconds=30))

    drive(second)

    assert first.state == second.state == State.PUBLISHED, second.error
    assert second.post_id != first.post_id and len(stage.server.effects()) == 2


def test_a_platform_at_work_for_hours_becomes_a_question_for_a_person(
    stage_of: StageOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage = stage_of(TIKTOK)
    publication = stage.begin()
    stage.server.arm("processing", count=99)
    problem = attempt(publication)
    assert problem and problem.details.get("processing")
    Publication.objects.update(begun_at=now() - timedelta(hours=7))

    problem = attempt(publication)

    assert problem and problem.code == "OUTCOME_UNKNOWN" and "a person has to" in problem.message
    assert not problem.details.get("processing")
    publication.refresh_from_db()
    assert publication.state == State.OUTCOME_UNKNOWN


def test_a_post_of_which_the_platform_tells_nonsense_is_still_kept_as_posted(
    stage_of: StageOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage = stage_of(TWITTER)
    publication = stage.begin(stage.content(files=()))
    nonsense = RemotePost("17" * 150, f"https://x.com/{'a' * 900}", now())
    monkeypatch.setattr(TwitterAdapter, "send", lambda *_: nonsense)

    drive(publication)

    assert publication.state == State.PUBLISHED and publication.post_id == "17" * 100


def test_an_answer_is_read_without_what_no_database_takes() -> None:
    body = b'{"id": "1\\u0000", "list": [{"\\ud800a": "b\\udc00"}, 3], "ok": null}'

    assert Reply(200, httpx.Headers(), body).json() == {
        "id": "1",
        "list": [{"a": "b"}, 3],
        "ok": None,
    }


def test_an_answer_that_is_nested_without_end_is_no_answer() -> None:
    deep = Reply(200, httpx.Headers(), b'{"a":' * 100_000)

    with pytest.raises(OutcomeUnknown), during("send"):
        deep.json()


def test_a_script_in_place_of_a_posts_address_is_not_kept(
    stage_of: StageOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage = stage_of(TWITTER)
    publication = stage.begin(stage.content(files=()))
    post = RemotePost("17", "javascript:alert(1)", now())
    monkeypatch.setattr(TwitterAdapter, "send", lambda *_: post)

    drive(publication)

    assert (publication.post_id, publication.post_url) == ("17", "")


# --- a person and a look-up -----------------------------------------------------------------------


def test_a_post_found_after_its_place_was_given_away_is_told_and_never_lost(
    stage_of: StageOf,
) -> None:
    stage = stage_of(TWITTER)
    content = stage.content(files=())
    first = stage.begin(content)
    Publication.objects.filter(id=first.id).update(
        state=State.PUBLISH_FAILED, failure_code="PUBLISH_FAILED", error="A person saw no post"
    )
    second = stage.begin(content)

    with pytest.raises(ChimeraError) as told:
        published(first, RemotePost("17", "https://x.com/aurora_style/status/17", now()))

    first.refresh_from_db()
    second.refresh_from_db()
    assert told.value.code == "DUPLICATE_CONTENT" and told.value.details["post_id"] == "17"
    assert first.state == State.PUBLISH_FAILED and first.post_id == "17"
    assert second.state == State.PUBLISHING
    assert AuditEntry.objects.get(action="publication.found_late").data["post_id"] == "17"


# --- secrets --------------------------------------------------------------------------------------


@pytest.mark.parametrize(("platform", "name"), [("tiktok", "upload_url"), ("youtube", "session")])
def test_an_address_that_takes_bytes_without_a_token_is_kept_sealed(
    platform: str, name: str, stage_of: StageOf
) -> None:
    (case,) = (each for each in all_cases() if each.platform == platform)
    stage = stage_of(case)
    publication = stage.begin()
    stage.server.arm("429", path=case.send[1], method=case.send[0])
    attempt(publication)
    publication.refresh_from_db()

    intent = intent_of(publication, adapter_for(platform, "local"))

    assert intent.handles[name].startswith("http")
    assert "http" not in str(publication.handles) and name in publication.handles
    drive(publication)
    assert publication.state == State.PUBLISHED and len(stage.posted(publication)) == 1


def test_credentials_of_a_person_are_told_apart_from_renewed_ones(stage_of: StageOf) -> None:
    stage = stage_of(TWITTER)
    reconnect(stage)
    first = credentials_open(stage.account).connection
    reconnect(stage, "a_third_one")

    assert first and credentials_open(stage.account).connection not in ("", first)
