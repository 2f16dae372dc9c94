"""What a rule reports, and the texts of a package that rules read."""

from collections.abc import Iterator
from typing import Literal

from pydantic import Field

from agents.wire import WireModel, optional
from content.schemas import ContentPackage

Severity = Literal["error", "warning", "info"]
LONGEST = 6000
"""Characters of one text that rules read: more than any platform takes."""


class Issue(WireModel):
    """One finding: which rule, how bad, what to do, and where."""

    rule: str = Field(description="Name of the rule")
    severity: Severity = Field(description="error forbids publishing, warning lowers confidence")
    message: str = Field(description="What was found and what to do")
    field: str = Field(description="Field of the package")
    start: int | None = optional("First character of the finding in the field")
    end: int | None = optional("Character after the finding")


def texts(package: ContentPackage) -> Iterator[tuple[str, str]]:
    """Field and text of everything a reader would see, what is posted first, cut at LONGEST."""
    for field, text in _texts(package):
        yield field, text[:LONGEST]


def _texts(package: ContentPackage) -> Iterator[tuple[str, str]]:
    if package.platform_variants:
        for platform, variant in package.platform_variants.model_dump().items():
            for name in ("text", "title", "caption", "description"):
                if variant.get(name):
                    yield f"platform_variants.{platform}.{name}", variant[name]
            for at, item in enumerate(variant.get("carousel_items", [])):
                yield f"platform_variants.{platform}.carousel_items.{at}", item
    yield "captions", package.captions
    yield "hashtags", " ".join(package.hashtags)
    yield "script", package.script
