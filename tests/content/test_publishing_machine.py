"""The steps of a publication on a local server of X: what is sent, what stops it, who decides."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from pytest_httpserver import HTTPServer

from agents.models import Agent
from chimera.core.clock import now
from chimera.core.errors import ChimeraError
from chimera.core.models import AuditEntry
from content import publishing
from content.intents import Overtaken, intent_of, keeper, with_media
from content.models import PlatformAccount, Publication
from content.platforms.base import PlatformFailure, Processing
from content.platforms.registry import adapter_for
from content.platforms.twitter.adapter import TwitterAdapter
from content.settling import Verdict, publication_settle
from tests.content.platforms.cases.twitter import CASE
from tests.content.platforms.stage import Stage, attempt, drive, file_bytes, grow_old

State = Publication.State


@pytest.fixture
def stage(stage_of: Callable[..., Stage]) -> Stage:
    return stage_of(CASE)


@pytest.mark.req("A5.8")
def test_the_adapter_gets_the_approved_bytes_texts_and_the_declaration_of_ai(stage: Stage) -> None:
    variant = {"twitter": {"text": "Seen at Merkato", "media_ids": []}}
    publication = stage.begin(stage.content(platform_variants=variant))

    intent = with_media(intent_of(publication, adapter_for("twitter", "local")), publication)

    assert intent and intent.text == "Seen at Merkato" and intent.variant == {"text": intent.text}
    assert intent.made_by_ai and [item.type for item in intent.media] == ["image", "image"]
    assert [item.body for item in intent.media] == [file_bytes("jpg", 0), file_bytes("png", 1)]
    assert intent.begun_at is None
    drive(publication)
    assert stage.posted(publication)[0]["made_with_ai"] is True


@pytest.mark.req("A5.7")
def test_media_that_changed_after_the_approval_are_not_posted(
    stage: Stage, httpserver: HTTPServer
) -> None:
    publication = stage.begin()
    httpserver.clear()
    for number in range(2):
        httpserver.expect_request(f"/media/{number}.{CASE.files[number]}").respond_with_data(
            file_bytes("jpg", 3)
        )

    assert drive(publication) == ["INVALID_TOKEN"]
    assert publication.state == State.PUBLISH_FAILED and stage.server.effects() == []
    assert stage.server.calls("/media/upload") == [], "not even uploaded"


@pytest.mark.parametrize(
    ("model", "word"), [(Agent, "agent"), (PlatformAccount, "account")], ids=["agent", "account"]
)
@pytest.mark.req("A5.7")
def test_who_was_disabled_after_the_signature_posts_nothing(
    stage: Stage, model: Any, word: str
) -> None:
    publication = stage.begin()
    Publication.objects.update(state=State.SCHEDULED, scheduled_for=now() - timedelta(seconds=1))
    model.objects.update(enabled=False)

    assert drive(publication) == ["FORBIDDEN"]
    assert word in publication.error and "disabled" in publication.error
    assert stage.server.effects() == [] and stage.server.calls() == []


@pytest.mark.req("X2")
def test_a_post_on_its_way_is_followed_up_though_its_agent_was_disabled(stage: Stage) -> None:
    publication = stage.begin()
    stage.server.arm("cut_after_effect", path="/2/tweets", method="POST")
    assert attempt(publication)
    Agent.objects.update(enabled=False)

    drive(publication)

    assert publication.state == State.PUBLISHED and len(stage.posted(publication)) == 1


@pytest.mark.req("X2")
def test_a_platform_at_work_is_waited_for_as_long_as_it_says(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    def busy(*_: Any) -> Any:
        raise Processing("a moderator looks at it", retry_after=42)

    publication = stage.begin()
    with monkeypatch.context() as patch:
        patch.setattr(TwitterAdapter, "send", busy)
        patch.setattr(TwitterAdapter, "lookup", busy)
        problems = [attempt(publication), attempt(publication)]

    for problem in problems:
        assert problem and problem.code == "OUTCOME_UNKNOWN" and problem.backoff_sec == 42
        assert problem.details["processing"] is True and "processing" in problem.message
    publication.refresh_from_db()
    assert publication.state == State.PUBLISHING and publication.attempts == 1


@pytest.mark.req("X2")
def test_a_refused_post_is_known_from_the_look_up_and_frees_its_place(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: Any) -> Any:
        raise PlatformFailure("content_rejected", "against the rules")

    publication = stage.begin()
    stage.server.arm("cut_before_effect", path="/2/tweets", method="POST")
    assert attempt(publication)
    monkeypatch.setattr(TwitterAdapter, "lookup", refused)

    assert drive(publication) == ["SAFETY_VIOLATION"]
    assert publication.state == State.PUBLISH_FAILED


@pytest.mark.req("X2")
def test_a_duplicate_of_an_older_post_fails_and_is_not_taken_for_ours(stage: Stage) -> None:
    first = stage.begin(stage.content(files=(), captions="The same words on the same day."))
    drive(first)
    second = stage.begin(stage.content(files=(), captions="The same words on the same day."))

    codes = drive(second)

    assert codes[-1] == "PLATFORM_ERROR" and "duplicate" in second.error
    assert (first.state, second.state) == (State.PUBLISHED, State.PUBLISH_FAILED)
    assert len(stage.server.effects()) == 1 and second.attempts == 1


@pytest.mark.req("X2", "X3")
def test_a_duplicate_that_is_our_own_lost_post_is_found(stage: Stage) -> None:
    publication = stage.begin()
    stage.server.arm("cut_after_effect", path="/2/tweets", method="POST")
    stage.server.arm("lag")
    assert attempt(publication)
    grow_old(publication)

    codes = drive(publication)

    assert codes[:1] == ["OUTCOME_UNKNOWN"] and publication.state == State.PUBLISHED
    assert publication.attempts == 2 and len(stage.posted(publication)) == 1


@pytest.mark.req("X3")
def test_a_worker_that_was_held_up_after_arming_does_not_send(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    publication = stage.begin()

    def slept(point: str) -> None:
        if point == "publish.armed":
            monkeypatch.setattr(publishing, "FRESH", timedelta(0))

    monkeypatch.setattr(publishing, "reach", slept)

    problem = attempt(publication)

    assert problem and problem.code == "OUTCOME_UNKNOWN" and "held up" in problem.message
    assert stage.server.effects() == []


@pytest.mark.req("X3")
def test_a_worker_left_behind_cannot_overwrite_the_handles_of_the_one_that_posts(
    stage: Stage,
) -> None:
    publication = stage.begin()
    behind = Publication.objects.get(id=publication.id)
    drive(publication)
    kept = dict(publication.handles)

    with pytest.raises(Overtaken):
        keeper(behind, adapter_for("twitter", "local"))("user_id", "another")

    publication.refresh_from_db()
    assert publication.handles == kept


# --- what a person decides ------------------------------------------------------------------------


@pytest.fixture
def doubtful(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> Publication:
    """A lost send on a platform whose silence proves nothing."""
    monkeypatch.setattr(TwitterAdapter, "absence_is_proof", False)
    publication = stage.begin()
    stage.server.arm("cut_before_effect", path="/2/tweets", method="POST")
    drive(publication)
    return publication


@pytest.mark.req("X2")
def test_silence_that_proves_nothing_is_never_followed_by_a_second_send(
    stage: Stage, doubtful: Publication
) -> None:
    problem = attempt(doubtful)

    assert problem and problem.code == "OUTCOME_UNKNOWN" and "a person has to" in problem.message
    assert len(stage.server.calls("/2/tweets", "POST")) == 1


@pytest.mark.parametrize(
    ("verdict", "url", "state"),
    [
        (Verdict.LIVE, "https://x.com/aurora_style/status/17", State.PUBLISHED),
        (Verdict.NOT_POSTED, "", State.PUBLISH_FAILED),
    ],
)
@pytest.mark.req("X2", "A5.4")
def test_a_person_settles_what_the_platform_cannot_tell(
    doubtful: Publication, verdict: Verdict, url: str, state: str
) -> None:
    grow_old(doubtful)

    publication_settle(
        publication_id=doubtful.id, verdict=verdict, actor="person:1", note="Seen", post_url=url
    )

    problem = attempt(doubtful)
    doubtful.refresh_from_db()
    assert (doubtful.state, doubtful.post_url) == (state, url)
    assert (problem is None) is (verdict == Verdict.LIVE) and doubtful.attempts == 1
    assert AuditEntry.objects.get(action="publication.settled").actor == "person:1"


@pytest.mark.parametrize("verdict", [Verdict.NOT_POSTED, Verdict.SEND_AGAIN])
def test_what_was_sent_a_moment_ago_cannot_be_called_not_posted(
    doubtful: Publication, verdict: Verdict
) -> None:
    Publication.objects.filter(id=doubtful.id).update(armed_at=now())

    with pytest.raises(ChimeraError) as refusal:
        publication_settle(
            publication_id=doubtful.id, verdict=verdict, actor="person:1", note="Not there"
        )

    assert refusal.value.code == "INVALID_STATE_TRANSITION" and "minute" in refusal.value.message
    doubtful.refresh_from_db()
    assert doubtful.state == State.OUTCOME_UNKNOWN
    assert not AuditEntry.objects.filter(action="publication.settled").exists()


# --- what nobody should have to sign --------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({"captions": "Buy $AAPL and $TSLA at the market today"}, "cashtags"),
        ({"captions": "ሰ" * 141}, "280"),
        ({"files": ("jpg", "gif")}, "GIF"),
        ({"files": ("mp4", "jpg")}, "stands alone"),
    ],
)
@pytest.mark.req("A5.8")
def test_what_the_platform_would_refuse_is_refused_before_anyone_signs(
    stage: Stage, changes: dict[str, Any], word: str
) -> None:
    with pytest.raises(ChimeraError) as refusal:
        stage.begin(stage.content(**changes))

    assert refusal.value.code == "INVALID_CONTENT" and word in refusal.value.message
    assert refusal.value.errors and stage.server.calls() == []
