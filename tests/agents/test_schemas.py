"""Agent profiles and personas on the wire."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from pydantic import ValidationError

from agents.schemas import AgentProfile, Availability, Persona
from chimera.core import clock, jsontext
from tests.content.samples import PERSONA, merged

PROFILE: dict[str, Any] = {
    "agent_id": "0192f0c0-0001-7000-8000-000000000001",
    "name": "Aurora",
    "type": "content_creator",
    "capabilities": ["content_writing"],
    "availability": "active",
    "pending_tasks": 0,
    "max_concurrent_tasks": 5,
    "reputation_score": 0.5,
    "uptime_24h": 99.5,
    "last_heartbeat": "2026-11-21T08:00:00Z",
    "rejection_count": 0,
    "status": "active",
    "version": 1,
}
NOW = datetime(2026, 11, 21, 9, 0, tzinfo=UTC)


@pytest.fixture(autouse=True)
def _at_nine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clock, "now", lambda: NOW)


def test_the_persona_of_the_specification_comes_back_as_it_went_in() -> None:
    assert jsontext.plain(Persona.model_validate(PERSONA).model_dump()) == jsontext.plain(PERSONA)


def test_defaults_of_a_persona_are_filled_in() -> None:
    data = merged(PERSONA, {})
    for outer, inner in (
        ("content_style", "emoji_usage"),
        ("content_style", "hashtag_strategy"),
        ("engagement_strategy", "controversy_level"),
        ("engagement_strategy", "authenticity_weight"),
    ):
        del data[outer][inner]
    persona = Persona.model_validate(data)
    assert persona.content_style.emoji_usage == "moderate"
    assert persona.content_style.hashtag_strategy == "mix_popular_niche"
    assert persona.engagement_strategy.controversy_level == "moderate"
    assert persona.engagement_strategy.authenticity_weight == 0.7


@pytest.mark.req("A3.9")
@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("name", "Al"),
        ("bio", "short"),
        ("voice_tone", "sarcastic"),
        ("target_audience__regions", []),
        ("target_audience__age_range", "18-25"),
        ("platform_preferences__twitter", 1.1),
        ("platform_preferences__twitter", "0.9"),
        ("version", 0),
        ("version", True),
        ("values__core_values", ["a"] * 6),
        ("brand_guidelines__colors", ["red"]),
        ("created_at", "2026-11-01T00:00:00"),
        ("created_at", 1700000000),
        ("mood", "sunny"),
        ("content_style__mood", "sunny"),
    ],
)
def test_a_persona_out_of_its_limits_is_refused_by_the_name_of_the_field(
    path: str, value: Any
) -> None:
    with pytest.raises(ValidationError) as refusal:
        Persona.model_validate(merged(PERSONA, {path: value}))
    assert refusal.value.errors()[0]["loc"][: path.count("__") + 1] == tuple(path.split("__"))


def test_every_field_of_every_model_has_a_description() -> None:
    for model in (Persona, AgentProfile):
        schema = model.model_json_schema()
        for part in [schema, *schema.get("$defs", {}).values()]:
            for name, field in part.get("properties", {}).items():
                assert field.get("description"), f"{part['title']}.{name}"


def test_text_is_kept_in_normal_form_c() -> None:
    persona = Persona.model_validate(merged(PERSONA, {"name": "Cafe\u0301 Noir"}))
    assert persona.name == "Café Noir"


def test_text_with_a_nul_is_refused() -> None:
    with pytest.raises(ValidationError, match="NUL"):
        Persona.model_validate(merged(PERSONA, {"name": "Auro\0ra"}))


@pytest.mark.req("A6.1")
def test_a_profile_comes_back_as_it_went_in() -> None:
    wire = merged(
        PROFILE,
        {
            "wallet_balance": "12.500000",
            "wallet_address": "0x" + "ab" * 20,
            "pricing": {"currency": "USDC", "rate_per_task": "0.10"},
        },
    )
    dumped = jsontext.dumps(AgentProfile.model_validate(wire).model_dump())
    assert '"wallet_balance":12.500000' in dumped
    assert jsontext.plain(AgentProfile.model_validate(jsontext.loads(dumped)).model_dump()) == (
        jsontext.loads(dumped)
    )


def test_an_agent_silent_for_four_hours_is_unavailable() -> None:
    silent = NOW - timedelta(hours=4, seconds=1)
    profile = AgentProfile.model_validate(merged(PROFILE, {"last_heartbeat": silent}))
    assert profile.availability is Availability.UNAVAILABLE
    assert AgentProfile.model_validate(PROFILE).availability is Availability.ACTIVE


@pytest.mark.req("A10.1")
def test_the_public_profile_leaves_out_what_stays_inside() -> None:
    public = AgentProfile.model_validate(PROFILE).public().model_dump()
    inside = {
        "status", "wallet_address", "wallet_balance", "last_execution", "persona_version",
        "version", "rejection_count",
    }  # fmt: skip
    assert not inside & public.keys()
    assert public["name"] == "Aurora"


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("capabilities", []),
        ("type", "admin"),
        ("reputation_score", 1.01),
        ("uptime_24h", 101),
        ("pending_tasks", -1),
        ("pending_tasks", 1.5),
        ("wallet_address", "0x12"),
        ("wallet_balance", 1.5),
    ],
)
def test_a_profile_out_of_its_limits_is_refused(field: str, value: Any) -> None:
    with pytest.raises(ValidationError) as refusal:
        AgentProfile.model_validate(merged(PROFILE, {field: value}))
    assert refusal.value.errors()[0]["loc"][0] == field
