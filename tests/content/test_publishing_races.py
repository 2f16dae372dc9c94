"""Several workers with the same publication at the same moment."""

import threading
from collections.abc import Callable
from typing import Any

import pytest
from django.db import OperationalError, connection

from chimera.core.errors import ChimeraError
from content.models import PlatformAccount, Publication
from content.publishing import publication_carry_out
from tests.content.platforms.cases.twitter import CASE
from tests.content.platforms.stage import Stage, drive

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.req("X3")]
WORKERS = 4


def _at_once(publication: Publication) -> list[str]:
    """What each of the workers that start together ends with."""
    ends: list[str] = []
    gate = threading.Barrier(WORKERS)

    def work() -> None:
        gate.wait()
        try:
            publication_carry_out(publication.approval_id)
            ends.append("published")
        except ChimeraError as problem:
            ends.append(problem.code)
        except OperationalError as problem:  # a busy SQLite; the job would run again
            ends.append(str(problem))
        finally:
            connection.close()

    threads = [threading.Thread(target=work) for _ in range(WORKERS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return ends


@pytest.mark.parametrize("fault", ["", "cut_after_effect", "token_expired"])
def test_workers_that_start_together_make_one_post(
    transactional_db: None, stage_of: Callable[..., Stage], fault: str
) -> None:
    stage = stage_of(CASE)
    publication = stage.begin()
    if fault:
        stage.server.arm(fault, path="/2/tweets", method="POST")

    ends = _at_once(publication)

    assert len(ends) == WORKERS and len(stage.posted(publication)) <= 1, ends
    drive(publication)
    assert publication.state == Publication.State.PUBLISHED
    assert len(stage.posted(publication)) == 1, ends


def test_workers_that_find_an_expired_token_together_use_its_refresh_token_once(
    transactional_db: None, stage_of: Callable[..., Stage]
) -> None:
    stage = stage_of(CASE)
    publication = stage.begin()
    stage.server.arm("token_expired", path="/2/users/me")

    _at_once(publication)
    drive(publication)

    used: list[Any] = stage.server.calls("/oauth2/token")
    assert [call["status"] for call in used] == [200]
    assert PlatformAccount.objects.get().refresh_until is None
    assert len(stage.posted(publication)) == 1
