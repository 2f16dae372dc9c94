"""Every adapter under every fault at every step: at most one post per intent, and the right end.

The server counts the posts; the publication goes through the real publishing code and real HTTP.
"""

from collections.abc import Callable
from contextlib import suppress

import pytest

from chimera.core.errors import ChimeraError
from content import publishing
from content.models import Publication
from tests.content.platforms.cases import Call, Case, all_cases
from tests.content.platforms.stage import (
    Killed,
    Stage,
    attempt,
    drive,
    grow_old,
    killed_at_call,
)

pytestmark = pytest.mark.req("X2", "X3", "A5.8")
CASES = all_cases()
State = Publication.State
EARLY = ("429", "429_seconds", "429_date", "429_bare", "500_before_effect", "html_error")
LATE = ("cut_after_effect", "500_after_effect", "slow_drip", "html_after_effect")
FAULTS = (*EARLY, "cut_before_effect", "token_expired", *LATE)
AMBIGUOUS = ("500_before_effect", "cut_before_effect", "html_error")
"""Faults of the send after which nobody knows, and nothing was posted."""


@pytest.fixture(params=CASES, ids=lambda case: case.platform)
def case(request: pytest.FixtureRequest) -> Case:
    return request.param


@pytest.fixture
def stage(case: Case, stage_of: Callable[[Case], Stage]) -> Stage:
    return stage_of(case)


def _skip(case: Case, kind: str, step: str) -> None:
    if (kind, step) in case.skips:
        pytest.skip(f"{case.platform} has no {kind} at its {step}")


def test_a_post_with_media_is_made_once_with_the_approved_bytes(stage: Stage) -> None:
    publication = stage.begin()

    codes = drive(publication)

    assert publication.state == State.PUBLISHED, (codes, publication.error)
    (post,) = stage.posted(publication)
    assert post["id"] == publication.post_id and publication.published_at
    assert post["media"] == [item["sha256"] for item in publication.media]


def test_a_post_without_media_goes_out_only_where_the_platform_takes_it(stage: Stage) -> None:
    content = stage.content(files=())
    if not stage.case.text_only:
        with pytest.raises(ChimeraError) as refusal:
            stage.begin(content)
        assert refusal.value.code == "INVALID_CONTENT" and refusal.value.errors
        assert stage.server.effects() == [] and not Publication.objects.exists()
        return
    publication = stage.begin(content)
    drive(publication)
    assert publication.state == State.PUBLISHED and len(stage.posted(publication)) == 1


@pytest.mark.parametrize("kind", FAULTS)
def test_a_fault_before_the_post_is_safe_at_every_call(stage: Stage, kind: str) -> None:
    _skip(stage.case, kind, "prepare")
    for call in stage.case.prepare:
        _expect_one_post(stage, kind, call)


@pytest.mark.parametrize("kind", FAULTS)
def test_a_fault_of_the_call_that_posts_leaves_one_post(stage: Stage, kind: str) -> None:
    _skip(stage.case, kind, "send")
    if kind in AMBIGUOUS and stage.case.absence == "person":
        _expect_a_person(stage, kind)
    else:
        _expect_one_post(stage, kind, stage.case.send)


def _expect_one_post(stage: Stage, kind: str, call: Call) -> None:
    publication = stage.begin()
    method, path = call
    stage.server.arm(kind, path=path, method=method)
    codes = drive(publication)
    stage.server.disarm()
    posts = stage.posted(publication)
    assert (publication.state, len(posts)) == (State.PUBLISHED, 1), (call, codes, publication.error)
    assert publication.post_id == posts[0]["id"]


def _expect_a_person(stage: Stage, kind: str) -> None:
    publication = stage.begin()
    method, path = stage.case.send
    stage.server.arm(kind, path=path, method=method)
    codes = drive(publication)
    assert codes and set(codes) == {"OUTCOME_UNKNOWN"}, codes
    assert publication.state == State.OUTCOME_UNKNOWN and stage.posted(publication) == []


@pytest.mark.parametrize("kind", FAULTS)
def test_a_look_up_that_fails_is_no_verdict(stage: Stage, kind: str) -> None:
    _skip(stage.case, kind, "lookup")
    publication = stage.begin()
    (send_method, send_path), (method, path) = stage.case.send, stage.case.lookup
    stage.server.arm("cut_after_effect", path=send_path, method=send_method)
    while attempt(publication) and not stage.posted(publication):
        pass
    stage.server.arm(kind, path=path, method=method)
    grow_old(publication)

    codes = drive(publication)

    assert set(codes) <= {"OUTCOME_UNKNOWN"}, codes
    assert publication.state == State.PUBLISHED and len(stage.posted(publication)) == 1


@pytest.mark.parametrize("before", [True, False], ids=["before", "after"])
def test_a_worker_killed_at_any_call_leaves_one_post(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, before: bool
) -> None:
    number = 0
    while True:
        publication, begun = stage.begin(), _begun(stage)
        with killed_at_call(monkeypatch, number, before=before) as made:
            survived = _runs_to_its_end(publication)
        if survived:
            break
        drive(publication)
        once = len(stage.case.files) * len(stage.case.once)
        assert _begun(stage) - begun <= once + 1, "only what died with its answer is begun again"
        found = (publication.state, len(stage.posted(publication)))
        if stage.case.absence == "person" and found[1] == 0:
            assert publication.state == State.OUTCOME_UNKNOWN, made
        else:
            assert found == (State.PUBLISHED, 1), (made, publication.error)
        number += 1
    assert number >= len(stage.case.prepare) + 1, "every call of the way was cut once"


def _runs_to_its_end(publication: Publication) -> bool:
    try:
        drive(publication)
    except Killed:
        return False
    assert publication.state == State.PUBLISHED
    return True


@pytest.mark.parametrize("point", ["publish.prepared", "publish.armed", "publish.sent"])
def test_a_worker_killed_between_two_steps_leaves_at_most_one_post(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, point: str
) -> None:
    reached = []

    def reach(here: str) -> None:
        if here == point:
            reached.append(here)
            raise Killed

    publication = stage.begin()
    with monkeypatch.context() as patch, suppress(Killed):
        patch.setattr(publishing, "reach", reach)
        drive(publication)
    assert reached or point == "publish.sent"  # where a send ends in processing it is not reached

    drive(publication)

    posts = len(stage.posted(publication))
    if point == "publish.armed" and stage.case.absence == "person":
        assert (publication.state, posts) == (State.OUTCOME_UNKNOWN, 0)
    else:
        assert (publication.state, posts) == (State.PUBLISHED, 1), publication.error


def test_a_token_that_expires_in_the_middle_is_renewed_and_the_same_upload_goes_on(
    stage: Stage,
) -> None:
    for number, (method, path) in enumerate((*stage.case.prepare, stage.case.send)):
        _skip(stage.case, "token_expired", path)
        publication = stage.begin()
        before = _begun(stage)
        stage.server.arm("token_expired", path=path, method=method)

        codes = drive(publication)

        assert publication.state == State.PUBLISHED, (path, codes, publication.error)
        assert len(stage.posted(publication)) == 1
        if number:  # what had begun before the expiry was not begun again
            once = len(stage.case.files) * len(stage.case.once)
            refused = int((method, path) in stage.case.once)
            assert _begun(stage) - before == once + refused, path
    stage.account.refresh_from_db()
    assert stage.account.refresh_until is None


def _begun(stage: Stage) -> int:
    calls = [stage.server.calls(path, method) for method, path in stage.case.once]
    return sum(map(len, calls))


def test_an_account_that_was_revoked_posts_nothing_and_says_what_to_do(stage: Stage) -> None:
    publication = stage.begin()
    stage.server.revoke(stage.account.handle)

    codes = drive(publication)

    assert codes == ["PLATFORM_ERROR"] and publication.state == State.PUBLISH_FAILED
    assert stage.posted(publication) == [] and "connect" in publication.error
