"""One order to a media tool: images or a video, described as a content package keeps them."""

from dataclasses import dataclass
from typing import Any, Literal

from pydantic import BaseModel, ValidationError

from chimera.core.errors import ChimeraError
from content.schemas import MediaMetadata
from skills.contract import SkillContext

IN_VAIN = ("SAFETY_VIOLATION", "INVALID_INPUT", "NOT_FOUND")
"""Codes after which the same order is pointless."""


@dataclass(frozen=True)
class Order:
    """What one tool is asked for."""

    tool: Literal["ideogram", "runwayml"]
    arguments: dict[str, Any]


class _Made(BaseModel):
    """A file in a tool's answer; an unsafe image has no url."""

    url: str | None
    sha256: str | None = None
    size_bytes: int | None = None
    duration_sec: float | None = None
    is_image_safe: bool = True


class _Answer(BaseModel):
    """What a tool gives back: images, or one video with the state of its task."""

    images: list[_Made] = []
    video: _Made | None = None


async def ask(ctx: SkillContext[Any], order: Order, seconds: float) -> list[MediaMetadata]:
    """One call. The execution names the order, so that a tool that keeps orders buys it once."""
    if ctx.mcp is None:
        raise ChimeraError("NOT_FOUND", "No MCP server is configured")
    name = str(ctx.execution_id or "")
    answer = await ctx.mcp.call_tool(order.tool, order.arguments, timeout_sec=seconds, order=name)
    try:
        found = _Answer.model_validate(answer)
        made = [found.video] if found.video else found.images
        media = [_described(item, order.tool) for item in made if item.is_image_safe]
    except ValidationError as problem:
        raise ChimeraError("VALIDATION_FAILED", f"{order.tool} answered nonsense") from problem
    if not media:
        raise ChimeraError("SAFETY_VIOLATION", f"{order.tool} made nothing that it calls safe")
    return media


def _described(item: _Made, tool: Literal["ideogram", "runwayml"]) -> MediaMetadata:
    kind = "video" if tool == "runwayml" else "image"
    known = item.model_dump(exclude_none=True, exclude={"is_image_safe"})
    return MediaMetadata.model_validate({**known, "type": kind, "generated_by": tool})
