"""What every skill that reads trends does with the items of a source."""

from typing import Any

from content.schemas import TrendData
from content.sources.trends import parse_trends
from skills.contract import SkillContext

SOURCE_TIMEOUT = 10.0
"""Seconds that one source may take to answer."""


def valid_trends(ctx: SkillContext[Any], items: list[Any], source: str) -> list[TrendData]:
    """The items that are trends; one that is dropped is a warning, one that is mended is logged."""
    trends, notes = parse_trends(items)
    if len(trends) < len(items):
        ctx.warn("VALIDATION_FAILED")
    if notes:
        ctx.log.warning("dropped or mended trends of %s: %s", source, "; ".join(notes[:20]))
    return trends
