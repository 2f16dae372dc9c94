"""Trends, personas and packages for the tests of content: the wire examples and variations."""

import copy
from datetime import UTC, datetime
from typing import Any

from agents.schemas import Persona
from chimera.provisioning import AURORA
from content.schemas import ContentPackage, TrendData

TREND: dict[str, Any] = {
    "trend_id": "0192f0c4-1d2e-7a10-9c55-2f6f1c9d0a01",
    "topic": "Addis street style is back",
    "platform": "news",
    "sentiment": "positive",
    "timestamp": "2026-11-21T08:30:00Z",
    "engagement": {
        "likes": 5000,
        "comments": 1200,
        "shares": 800,
        "impressions": 90000,
        "engagement_score": 9800,
    },
    "trend_velocity": 2.4,
    "decay_score": 0.91,
    "geographic_origin": "AFRICA",
    "metadata": {
        "hashtags": ["#AddisStyle"],
        "mentions": [],
        "source_urls": ["https://news.example/addis-style"],
        "category": "fashion",
        "engagement_known": True,
    },
}
PACKAGE: dict[str, Any] = {
    "content_id": "0192f0c5-77aa-7c31-8a1e-5d0f4b7e2b10",
    "task_id": "0192f0c5-70aa-7c31-8a1e-5d0f4b7e2b11",
    "trend_ref": "0192f0c4-1d2e-7a10-9c55-2f6f1c9d0a01",
    "script": "Three looks from Merkato that cost less than lunch, and why they work together.",
    "media_urls": ["https://media.example/looks.jpg"],
    "captions": "Merkato knew first. Three looks, one market, zero waste.",
    "hashtags": ["#AddisStyle", "#Merkato", "#SlowFashion"],
    "confidence_score": 0.86,
    "requires_review": False,
    "media_metadata": [
        {
            "url": "https://media.example/looks.jpg",
            "type": "image",
            "size_bytes": 182044,
            "generated_by": "ideogram",
            "sha256": "9f2c6b1e0d4a7f3358c1e2a9b6d40c7715e8a3f2b1c09d8e7f6a5b4c3d2e1f00",
        }
    ],
    "generation_metadata": {
        "generator_agent": "Aurora",
        "model": "offline-composer",
        "persona_applied": "strict",
        "safety_checks_passed": True,
        "generation_time_ms": 412,
    },
    "platform_variants": {
        "twitter": {
            "text": "Merkato knew first. Three looks, one market, zero waste. "
            "#AddisStyle #Merkato #SlowFashion",
            "media_ids": [],
        }
    },
}
PERSONA: dict[str, Any] = AURORA | {
    "agent_id": "0192f0c0-0001-7000-8000-000000000001",
    "created_at": "2026-11-01T00:00:00Z",
    "updated_at": "2026-11-01T00:00:00Z",
    "version": 1,
}


def merged(base: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    """A deep copy of the base with changes; "a__b" changes key b inside a."""
    data = copy.deepcopy(base)
    for path, value in changes.items():
        *outer, last = path.split("__")
        inner = data
        for key in outer:
            inner = inner.setdefault(key, {})
        inner[last] = value
    return data


SEEN = "2024-11-21T08:30:00Z"
NOW = datetime(2024, 11, 21, 9, 0, tzinfo=UTC)
"""A past that no clock of a test machine lies before."""


def trend(topic: str = "Addis street style is back", **changes: Any) -> TrendData:
    return TrendData.model_validate(merged(TREND, {"topic": topic, "timestamp": SEEN, **changes}))


def persona(**changes: Any) -> Persona:
    return Persona.model_validate(merged(PERSONA, changes))


def package(**changes: Any) -> ContentPackage:
    return ContentPackage.model_validate(merged(PACKAGE, changes))
