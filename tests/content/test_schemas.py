"""Trends and content packages on the wire."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from pydantic import ValidationError

from chimera.core import clock, jsontext
from chimera.core.jsontext import plain
from content import services
from content.schemas import ContentPackage, TrendData
from tests.content.samples import PACKAGE, TREND, merged, package, trend

SEEN = datetime(2024, 11, 21, 8, 30, tzinfo=UTC)


@pytest.fixture
def at(monkeypatch: pytest.MonkeyPatch) -> Any:
    def set_clock(moment: datetime) -> None:
        monkeypatch.setattr(clock, "now", lambda: moment)

    set_clock(SEEN)
    return set_clock


def content_sha256(package: ContentPackage) -> str:
    data = plain(package)
    return services.content_sha256(data, services.stated_hashes(data))


def test_the_trend_of_the_specification_comes_back_but_for_its_decay(at: Any) -> None:
    at(datetime(2026, 11, 21, 8, 30, tzinfo=UTC))
    dumped = jsontext.plain(TrendData.model_validate(TREND).model_dump())
    assert dumped == jsontext.plain({**TREND, "decay_score": 1})


def test_the_package_of_the_specification_comes_back_as_it_went_in() -> None:
    assert jsontext.plain(package().model_dump()) == jsontext.plain(PACKAGE)


def test_decay_halves_every_six_hours_and_never_rises(at: Any) -> None:
    seen = trend()
    values = []
    for hours in (0, 6, 12, 24 * 40):
        at(SEEN + timedelta(hours=hours))
        values.append(seen.decay_score)
    assert values[:3] == [1, 0.5, 0.25]
    assert values == sorted(values, reverse=True)


@pytest.mark.parametrize("given", [0.1, 17, "fresh", None])
def test_a_decay_that_is_given_is_ignored(at: Any, given: Any) -> None:
    assert trend(decay_score=given).decay_score == 1


def test_a_trend_that_was_read_can_be_given_back(at: Any) -> None:
    at(SEEN + timedelta(days=31))
    dumped = trend().model_dump(mode="json")
    assert dumped["historical"] is True
    assert TrendData.model_validate(dumped) == trend()


def test_a_recent_trend_carries_no_mark(at: Any) -> None:
    assert "historical" not in trend().model_dump()


def test_a_trend_from_the_future_is_refused(at: Any) -> None:
    at(SEEN - timedelta(minutes=4))
    assert trend()
    at(SEEN - timedelta(minutes=6))
    with pytest.raises(ValidationError, match="future"):
        trend()


@pytest.mark.parametrize("score", [9800.02, 9799, -1, "9800"])
def test_a_score_that_breaks_the_formula_is_refused(at: Any, score: Any) -> None:
    with pytest.raises(ValidationError) as refusal:
        trend(engagement__engagement_score=score)
    assert refusal.value.errors()[0]["loc"] == ("engagement", "engagement_score")


def test_a_score_within_a_hundredth_is_taken(at: Any) -> None:
    assert (
        trend(engagement__engagement_score=Decimal("9800.009")).engagement.engagement_score == 9800
    )


def test_a_negative_count_from_a_caller_is_refused(at: Any) -> None:
    with pytest.raises(ValidationError) as refusal:
        trend(engagement__likes=-1)
    assert refusal.value.errors()[0]["loc"] == ("engagement", "likes")


def test_fewer_views_than_reactions_is_a_warning(at: Any) -> None:
    assert trend().engagement.warnings() == []
    assert "impressions 10" in trend(engagement__impressions=10).engagement.warnings()[0]


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("topic", ""),
        ("topic", "x" * 501),
        ("platform", "myspace"),
        ("sentiment", "happy"),
        ("trend_velocity", -0.1),
        ("trend_velocity", float("nan")),
        ("geographic_origin", "MOON"),
        ("metadata__source_urls", ["javascript:alert(1)"]),
        ("metadata__hashtags", ["#a"] * 51),
        ("metadata__engagement_known", "yes"),
        ("surprise", 1),
    ],
)
def test_a_trend_out_of_its_limits_is_refused(at: Any, path: str, value: Any) -> None:
    with pytest.raises(ValidationError):
        trend(**{path: value})


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("script", "x" * 49),
        ("script", "x" * 5001),
        ("captions", "x" * 19),
        ("captions", "x" * 2001),
        ("hashtags", ["#a", "#b"]),
        ("hashtags", ["#a"] * 31),
        ("hashtags", ["#a", "#b", "c"]),
        ("hashtags", ["#a", "#b", "#c d"]),
        ("hashtags", ["#a", "#b", "#" + "c" * 31]),
        ("media_urls", ["https://m.example/1"] * 11),
        ("confidence_score", 1.01),
        ("confidence_score", 0.79),  # without requires_review
        ("media_metadata", [{"url": "https://m.example/1", "type": "sound"}]),
        ("platform_variants", {"twitter": {"text": "x" * 281}}),
        ("platform_variants", {"twitter": {"text": "語" * 141}}),
        ("platform_variants", {"youtube": {"title": "x" * 101, "description": ""}}),
        ("platform_variants", {"myspace": {"text": "x"}}),
    ],
)
@pytest.mark.req("A4.7")
def test_a_package_out_of_its_limits_is_refused(path: str, value: Any) -> None:
    with pytest.raises(ValidationError):
        package(**{path: value})


def test_letters_of_any_script_make_a_hashtag() -> None:
    assert package(hashtags=["#ሸማ", "#Größe_1", "#ファッション"]).hashtags[0] == "#ሸማ"


def test_an_address_counts_23_on_x() -> None:
    text = "a" * 250 + " https://example.com/" + "x" * 200
    assert package(platform_variants={"twitter": {"text": text}})


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("script", PACKAGE["script"] + " "),
        ("captions", PACKAGE["captions"] + "!"),
        ("hashtags", ["#AddisStyle", "#SlowFashion", "#Merkato"]),
        ("media_metadata", []),
        ("platform_variants", {"twitter": {"text": "Something else"}}),
    ],
)
@pytest.mark.req("A5.2")
def test_every_part_that_is_approved_changes_the_digest(path: str, value: Any) -> None:
    assert content_sha256(package(**{path: value})) != content_sha256(package())


def test_the_digest_leaves_out_what_is_not_shown() -> None:
    assert content_sha256(package(confidence_score=0.99)) == content_sha256(package())


def test_schemas_describe_every_field_and_close_every_object() -> None:
    for model in (TrendData, ContentPackage):
        for mode in ("validation", "serialization"):
            schema = model.model_json_schema(mode=mode)
            for part in [schema, *schema["$defs"].values()]:
                assert part["additionalProperties"] is False
                for name, field in part["properties"].items():
                    assert field.get("description"), f"{part['title']}.{name}"


def test_the_input_schema_names_what_is_ignored() -> None:
    assert "decay_score" in TrendData.model_json_schema()["properties"]


def test_the_stable_form_does_not_change_with_time(at: Any) -> None:
    before = trend().stable()
    at(SEEN + timedelta(days=60))
    assert trend().stable() == before


def test_text_of_a_package_is_in_normal_form_c() -> None:
    text = merged(PACKAGE, {"captions": "Cafe\u0301 and Merkato, one morning."})
    assert ContentPackage.model_validate(text).captions.startswith("Café")
