"""Pictures: one call, downloaded at once; the provider counts what was generated."""

from hashlib import sha256
from typing import Any

import pytest

from content.mediatools import ideogram as maker
from content.mediatools import store
from content.mediatools.failures import MediaFailure
from content.mediatools.shapes import PictureOrder
from tests.fakes.fixtures import FakeServer

pytestmark = pytest.mark.django_db
PICTURE = PictureOrder(prompt="Addis street style", aspect_ratio="4:5")


def draw(caller: str = "execution-1", **changes: Any) -> dict[str, Any]:
    return maker.draw(PICTURE.model_copy(update=changes), caller=caller)


def failure(caller: str = "execution-1", **changes: Any) -> MediaFailure:
    with pytest.raises(MediaFailure) as failed:
        draw(caller, **changes)
    return failed.value


def bought(server: FakeServer) -> int:
    return len(server.effects())


@pytest.mark.req("A3.3")
def test_a_picture_is_downloaded_at_once_hashed_and_kept(ideogram: FakeServer) -> None:
    result = draw(count=2)

    assert len(result["images"]) == 2 and bought(ideogram) == 1
    for image in result["images"]:
        data = store.own_bytes(image["url"])
        assert data and sha256(data).hexdigest() == image["sha256"]
        assert image["size_bytes"] == len(data) and image["is_image_safe"]
        assert (image["width"], image["height"]) == (896, 1120)


@pytest.mark.parametrize("ratio", maker.SIZES)
def test_every_shape_is_a_size_that_ideogram_takes(ideogram: FakeServer, ratio: str) -> None:
    assert draw(aspect_ratio=ratio)["images"][0]["is_image_safe"]


@pytest.mark.req("A3.7")
def test_a_second_call_for_the_same_order_generates_nothing(ideogram: FakeServer) -> None:
    assert draw() == draw() and bought(ideogram) == 1
    draw("execution-2")
    assert bought(ideogram) == 2


@pytest.mark.req("A3.7", "A3.4")
def test_an_unsafe_picture_comes_without_an_address_and_is_not_generated_again(
    ideogram: FakeServer,
) -> None:
    ideogram.arm("unsafe")

    first, second = draw(), draw()

    assert first == second and bought(ideogram) == 1
    assert first["images"] == [
        {"url": None, "sha256": None, "size_bytes": 0, "is_image_safe": False}
    ]


@pytest.mark.req("A3.7", "A3.4")
def test_an_unsafe_prompt_is_refused_for_good(ideogram: FakeServer) -> None:
    ideogram.arm("unsafe_prompt")

    first, second = failure(), failure()

    assert (first.code, first.final) == (second.code, second.final) == ("SAFETY_VIOLATION", True)
    assert bought(ideogram) == 0 and len(ideogram.calls()) == 1


@pytest.mark.req("A3.7")
@pytest.mark.parametrize(("kind", "wait"), [("429", None), ("429_seconds", 2), ("429_date", 3)])
def test_a_busy_account_is_a_rate_limit_that_may_be_tried_again(
    ideogram: FakeServer, kind: str, wait: float | None
) -> None:
    ideogram.arm(kind)

    refused = failure()

    assert refused.code == "RATE_LIMITED" and not refused.final
    assert refused.retry_after == (pytest.approx(wait, abs=1.5) if wait else None)
    assert draw()["images"] and bought(ideogram) == 1


@pytest.mark.req("A3.7")
@pytest.mark.parametrize(
    ("kind", "pictures"),
    [
        ("500_before_effect", 1),
        ("cut_before_effect", 1),
        ("html_error", 1),
        ("500_after_effect", 2),
        ("cut_after_effect", 2),
        ("html_after_effect", 2),
        ("slow_drip", 2),
    ],
)
def test_a_lost_reply_may_be_asked_for_again(
    ideogram: FakeServer, monkeypatch: pytest.MonkeyPatch, kind: str, pictures: int
) -> None:
    monkeypatch.setattr(maker, "SECONDS", 1.0)
    ideogram.arm(kind)

    assert not failure().final
    assert draw()["images"] and bought(ideogram) == pictures


@pytest.mark.parametrize(("kind", "named"), [("no_credit", "insufficient_funds")])
def test_what_the_account_cannot_have_is_final_and_says_why(
    ideogram: FakeServer, kind: str, named: str
) -> None:
    ideogram.arm(kind)

    refused = failure()

    assert refused.final and named in refused.message and bought(ideogram) == 0


@pytest.mark.parametrize("kind", ["expired_url", "html_picture"])
def test_an_address_that_gives_no_picture_is_a_failure_and_nothing_is_kept(
    ideogram: FakeServer, kind: str, tmp_path: Any
) -> None:
    ideogram.arm(kind)

    assert not failure().final
    assert not (tmp_path / "generated").exists()


def test_a_wrong_key_is_final_and_does_not_appear_in_the_message(
    ideogram: FakeServer, settings: Any
) -> None:
    changes = {"chimera_ideogram_api_key": "secret-key"}
    settings.CHIMERA = settings.CHIMERA.model_copy(update=changes)

    refused = failure()

    assert refused.final and "401" in refused.message and "secret-key" not in refused.message
    assert "secret-key" not in repr(settings.CHIMERA)
