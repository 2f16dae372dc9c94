"""A person settles an unknown post: one conditional update, audited, and never against what is known."""

from typing import Any

import pytest

from chimera.core.errors import ChimeraError
from chimera.core.models import AuditEntry
from content.models import Publication
from content.settling import Verdict, account_page, publication_settle
from tests.helpers.trouble_samples import account_of, unknown_post

pytestmark = [pytest.mark.django_db, pytest.mark.req("X2")]
URL = "https://x.com/aurora_style/status/1455952740635586573"


def settle(post: Publication, verdict: Verdict = Verdict.LIVE, **given: Any) -> Publication:
    data = {"actor": "person:7", "note": "Seen on the profile.", "post_url": URL} | given
    return publication_settle(publication_id=post.id, verdict=verdict, **data)


def state_of(post: Publication) -> str:
    post.refresh_from_db()
    return post.state


def test_a_post_that_a_person_has_seen_is_published_with_its_address_and_id() -> None:
    post = settle(unknown_post())
    assert (post.state, post.post_url) == ("published", URL)
    assert post.post_id == "1455952740635586573" and post.published_at == post.armed_at


def test_a_settled_post_names_who_settled_it_and_how_they_knew() -> None:
    post = settle(unknown_post())
    entry = AuditEntry.objects.get(action="publication.settled")
    assert (entry.actor, entry.object_id) == ("person:7", str(post.id))
    assert (entry.data["verdict"], entry.data["note"]) == ("live", "Seen on the profile.")
    assert entry.data["post_url"] == URL


def test_a_post_that_was_not_made_fails_for_good_and_frees_its_place() -> None:
    post = settle(unknown_post(), Verdict.NOT_POSTED, post_url="", note="Not on the profile.")
    assert (post.state, post.failure_code) == ("publish_failed", "PUBLISH_FAILED")
    assert "Not on the profile." in post.error and post.post_id == ""
    unknown_post(content=post.content)


def test_a_post_that_is_to_be_sent_again_is_released_with_its_uploads() -> None:
    before = unknown_post(handles={"media_0": "1", "duplicate": "1"})
    post = settle(before, Verdict.SEND_AGAIN, post_url="")
    assert (post.state, post.armed_at, post.attempts) == ("publishing", None, 1)
    assert post.handles == {"media_0": "1"} and post.begun_at == before.begun_at


@pytest.mark.parametrize("verdict", list(Verdict))
@pytest.mark.parametrize("state", ["published", "publish_failed", "publishing", "withdrawn"])
def test_what_is_known_by_now_is_not_overwritten(verdict: Verdict, state: str) -> None:
    post = unknown_post(state=state, post_id="1", post_url="https://x.com/1")
    with pytest.raises(ChimeraError) as refusal:
        settle(post, verdict)
    assert refusal.value.code == "CONCURRENCY_ERROR"
    assert (state_of(post), post.post_url) == (state, "https://x.com/1")
    assert not AuditEntry.objects.filter(action="publication.settled").exists()


def test_a_worker_that_has_sent_anew_meanwhile_is_not_overruled(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    post = unknown_post()
    get = Publication.objects.select_related("account").get(id=post.id)
    Publication.objects.filter(id=post.id).update(attempts=2)
    monkeypatch.setattr("django.db.models.QuerySet.get", lambda *_, **__: get)
    with pytest.raises(ChimeraError, match="known by now"):
        settle(post, Verdict.NOT_POSTED)
    monkeypatch.undo()
    assert state_of(post) == "outcome_unknown"


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"note": "  "}, "note"),
        ({"post_url": ""}, "post_url"),
        ({"post_url": "1455952740635586573"}, "post_url"),
        ({"post_url": "javascript:alert(1)"}, "post_url"),
        ({"post_url": "http://x.com/aurora_style/status/1"}, "post_url"),
        ({"post_url": "https://x.com.evil.example/status/1"}, "post_url"),
        ({"post_url": "https://evil.example/x.com/status/1"}, "post_url"),
        ({"post_url": "https://[x.com/status/1"}, "post_url"),
        ({"post_url": "https://x.com/" + "1" * 500}, "post_url"),
        ({"post_url": "https://x.com/"}, "post_id"),
    ],
)
def test_a_wrong_address_or_a_missing_note_names_the_field_and_changes_nothing(
    given: dict[str, str], field: str
) -> None:
    post = unknown_post(account=account_of("live_one", mode="live"))
    with pytest.raises(ChimeraError) as refusal:
        settle(post, **given)
    assert (refusal.value.code, list(refusal.value.errors or {})) == ("INVALID_INPUT", [field])
    assert state_of(post) == "outcome_unknown" and not post.post_id


@pytest.mark.parametrize(
    ("address", "given", "expected"),
    [
        ("https://www.youtube.com/watch?v=dQw4w9WgXcQ", "", "dQw4w9WgXcQ"),
        ("https://youtu.be/dQw4w9WgXcQ", "", "dQw4w9WgXcQ"),
        ("https://www.youtube.com/shorts/dQw4w9WgXcQ/", "other", "other"),
    ],
)
def test_the_id_is_read_from_the_address_where_none_is_given(
    address: str, given: str, expected: str
) -> None:
    account = account_of()
    account.platform, account.mode = "youtube", "live"
    account.save()
    assert settle(unknown_post(), post_url=address, post_id=given).post_id == expected


def test_one_post_cannot_stand_for_two_publications() -> None:
    settle(unknown_post())
    second = unknown_post()
    with pytest.raises(ChimeraError, match="another publication"):
        settle(second)
    assert state_of(second) == "outcome_unknown"


def test_the_page_of_an_account_is_where_its_posts_are_seen(settings: Any) -> None:
    account = account_of()
    assert account_page(account) == settings.CHIMERA.chimera_world_url
    account.mode = "live"
    assert account_page(account) == "https://x.com/aurora_style"
