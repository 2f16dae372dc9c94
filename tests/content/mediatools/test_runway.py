"""Videos: whatever goes wrong on the way, one order buys one video; the provider counts."""

from hashlib import sha256
from time import monotonic
from typing import Any

import pytest

from content.mediatools import runway as maker
from content.mediatools import store, wire
from content.mediatools.failures import MediaFailure
from content.mediatools.models import MediaOrder
from content.mediatools.shapes import ClipOrder
from tests.fakes.fixtures import FakeServer

pytestmark = pytest.mark.django_db
CLIP = ClipOrder(prompt="Addis street style", duration_sec=6, ratio="9:16")


def film(caller: str = "execution-1", seconds: float = 10.0, **changes: Any) -> dict[str, Any]:
    wanted = CLIP.model_copy(update=changes)
    return maker.film(wanted, caller=caller, wait_seconds=seconds)


def failure(caller: str = "execution-1", seconds: float = 2.0, **changes: Any) -> MediaFailure:
    with pytest.raises(MediaFailure) as failed:
        film(caller, seconds, **changes)
    return failed.value


def bought(server: FakeServer) -> int:
    return len(server.effects())


@pytest.mark.req("A3.3")
def test_a_video_is_ordered_waited_for_and_kept(runway: FakeServer) -> None:
    result = film()

    video = result["video"]
    data = store.own_bytes(video["url"])
    assert data and sha256(data).hexdigest() == video["sha256"]
    assert (video["size_bytes"], video["duration_sec"]) == (len(data), 6)
    assert result["task_id"] == runway.effects()[0]["id"]


@pytest.mark.req("A3.7")
def test_a_second_call_for_the_same_order_gives_the_same_video_without_a_word_to_runway(
    runway: FakeServer,
) -> None:
    first = film()
    calls = len(runway.calls())

    assert film() == first and len(runway.calls()) == calls


def test_another_caller_or_another_prompt_is_another_order(runway: FakeServer) -> None:
    film()
    film("execution-2")
    film(prompt="Merkato at dawn")

    assert bought(runway) == 3


@pytest.mark.req("A3.7", "X2")
@pytest.mark.parametrize(
    "kind", ["500_after_effect", "cut_after_effect", "html_after_effect", "slow_drip"]
)
def test_an_order_whose_reply_is_lost_is_never_sent_again(
    runway: FakeServer, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    monkeypatch.setattr(maker, "CALL_SECONDS", 0.5)
    runway.arm(kind)

    first, second, third = failure(), failure(), failure()

    assert bought(runway) == len(runway.calls("/v1/text_to_video")) == 1
    assert first.final and second.final and third.final
    assert "not ordered again" in third.message


@pytest.mark.req("A3.7")
@pytest.mark.parametrize("kind", ["cut_before_effect", "500_before_effect", "html_error"])
def test_an_order_that_may_have_arrived_is_not_sent_again_either(
    runway: FakeServer, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    monkeypatch.setattr(maker, "CALL_SECONDS", 0.5)
    runway.arm(kind)

    assert failure().final and failure().final
    assert len(runway.calls("/v1/text_to_video")) == 1


@pytest.mark.req("A3.7")
@pytest.mark.parametrize(
    ("kind", "wait"), [("429", None), ("429_seconds", 2), ("429_bare", None), ("429_date", 3)]
)
def test_a_limit_is_passed_on_with_its_wait_and_the_order_may_be_sent_later(
    runway: FakeServer, kind: str, wait: float | None
) -> None:
    runway.arm(kind)

    refused = failure()
    result = film()

    assert refused.code == "RATE_LIMITED" and not refused.final
    assert refused.retry_after == (pytest.approx(wait, abs=1.5) if wait else None)
    assert bought(runway) == 1 and result["video"]


def test_a_provider_that_cannot_be_reached_leaves_the_order_open(
    runway: FakeServer, settings: Any
) -> None:
    there = settings.CHIMERA
    settings.CHIMERA = there.model_copy(update={"chimera_runway_url": "http://127.0.0.1:9"})
    refused = failure()
    settings.CHIMERA = there

    assert not refused.final and film()["video"] and bought(runway) == 1


@pytest.mark.req("A3.7")
def test_a_throttled_task_is_waited_for(runway: FakeServer) -> None:
    runway.arm("throttled", 5)

    assert film()["video"] and bought(runway) == 1


@pytest.mark.req("A3.7", "X3")
def test_a_call_that_ran_out_of_time_is_gone_on_with_by_the_next(runway: FakeServer) -> None:
    runway.arm("throttled", 12)

    begun = monotonic()
    early = failure(seconds=0.1)
    took = monotonic() - begun
    result = film()

    assert not early.final and took < 0.5
    assert bought(runway) == 1 and result["task_id"] == runway.effects()[0]["id"]


@pytest.mark.req("X3")
def test_a_process_that_died_while_it_sent_leaves_an_order_nobody_repeats(
    runway: FakeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    def die(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(maker, "CALL_SECONDS", 0.2)
    with monkeypatch.context() as patch:
        patch.setattr(wire.Provider, "call", die)
        with pytest.raises(KeyboardInterrupt):
            film()

    assert failure().final and bought(runway) == 0
    assert MediaOrder.objects.get().state == MediaOrder.State.SENT


@pytest.mark.req("A3.7")
def test_a_look_that_fails_is_repeated_and_buys_nothing(runway: FakeServer) -> None:
    for kind in ("cut_before_effect", "500_before_effect", "html_error", "429"):
        runway.arm(kind, path="/v1/tasks")

    assert film()["video"] and bought(runway) == 1


@pytest.mark.req("A3.7", "A3.4")
def test_what_runways_safety_rules_refuse_is_never_tried_again_and_its_code_not_shown(
    runway: FakeServer,
) -> None:
    runway.arm("unsafe")

    first, second = failure(), failure()

    assert (first.code, first.final) == (second.code, second.final) == ("SAFETY_VIOLATION", True)
    assert "SAFETY.INPUT" not in first.message + second.message and bought(runway) == 1


@pytest.mark.req("A3.7")
def test_a_bad_output_is_ordered_once_more_and_no_oftener(runway: FakeServer) -> None:
    runway.arm("bad_output")
    assert film()["video"] and bought(runway) == 2

    runway.arm("bad_output", 5)
    assert failure("execution-2").final and failure("execution-2").final
    assert bought(runway) == 4


def test_a_cancelled_task_is_the_end_of_its_order(runway: FakeServer) -> None:
    runway.arm("cancelled")

    assert failure().final and failure().final and bought(runway) == 1


@pytest.mark.req("A3.7")
@pytest.mark.parametrize("kind", ["expired_url", "html_video"])
def test_a_video_that_cannot_be_read_is_fetched_from_a_fresh_address(
    runway: FakeServer, kind: str
) -> None:
    runway.arm(kind)

    assert film()["video"] and bought(runway) == 1
    assert len(runway.calls("/output/")) == 2


@pytest.mark.parametrize(("asked", "made"), [(1, 2), (10, 10), (60, 10)])
def test_the_length_is_what_the_model_can_make(runway: FakeServer, asked: int, made: int) -> None:
    assert film(duration_sec=asked)["video"]["duration_sec"] == made


def test_a_long_prompt_is_cut_to_what_runway_takes(runway: FakeServer) -> None:
    film(prompt="🙂" * 700)

    assert runway.effects()[0]["text"] == "🙂" * 500


def test_a_square_video_is_refused_before_anything_is_ordered(runway: FakeServer) -> None:
    assert failure(ratio="1:1").final and runway.calls() == []


def test_without_a_key_nothing_is_ordered_and_the_setting_named(
    runway: FakeServer, settings: Any
) -> None:
    settings.CHIMERA = settings.CHIMERA.model_copy(update={"chimera_runway_api_key": ""})

    assert "CHIMERA_RUNWAY_API_KEY" in failure().message and runway.calls() == []
