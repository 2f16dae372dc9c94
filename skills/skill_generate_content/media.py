"""The images and videos of a draft, made by the MCP tools, in a time of their own.

A tool is asked once and, where that may help, twice more. Whatever it does, the text goes on: without
media and with the warning MEDIA_GENERATION_FAILED.
"""

import asyncio
from dataclasses import dataclass
from time import monotonic
from typing import Any, Literal

from pydantic import BaseModel, ValidationError

from chimera.core.errors import ChimeraError
from content.llm.composer import Draft
from content.schemas import MediaMetadata
from skills.contract import SkillContext

MEDIA_SECONDS = 28.0
RETRIES = 2
VIDEO_TYPES = ("video_script",)
RATIO = {"twitter": "16:9", "tiktok": "9:16", "instagram": "1:1", "youtube": "16:9"}
IN_VAIN = ("SAFETY_VIOLATION", "INVALID_INPUT", "NOT_FOUND")


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


async def media_for(ctx: SkillContext[Any], draft: Draft) -> list[MediaMetadata]:
    """One image or video from the MCP tools; without one the package goes on with a warning."""
    seconds = ctx.seconds_left(MEDIA_SECONDS)
    try:
        async with asyncio.timeout(seconds):
            return await _insist(ctx, _order(ctx, draft), monotonic() + seconds)
    except ChimeraError as problem:
        ctx.log.warning("no media: %s", problem)
    except TimeoutError:
        ctx.log.warning("no media within %g s", seconds)
    ctx.warn("MEDIA_GENERATION_FAILED")
    return []


def _order(ctx: SkillContext[Any], draft: Draft) -> Order:
    wanted, ratio = ctx.params, RATIO[ctx.params.platform]
    if wanted.content_type in VIDEO_TYPES and wanted.platform in ("tiktok", "youtube"):
        arguments = {"prompt": draft.video_prompt, "duration_sec": 6, "ratio": ratio}
        return Order("runwayml", arguments)
    return Order("ideogram", {"prompt": draft.image_prompt, "aspect_ratio": ratio, "count": 1})


async def _insist(ctx: SkillContext[Any], order: Order, until: float) -> list[MediaMetadata]:
    """The tool's answer, asked for as often as it makes sense and the time allows."""
    for attempt in range(RETRIES + 1):
        try:
            return await _ask(ctx, order, until - monotonic())
        except ChimeraError as problem:
            wait = max(2.0**attempt, problem.backoff_sec or 0)
            in_vain = problem.final or problem.code in IN_VAIN
            if in_vain or attempt == RETRIES or monotonic() + wait >= until:
                raise
            ctx.log.warning("%s failed, once more in %g s: %s", order.tool, wait, problem)
            await asyncio.sleep(wait)
    raise AssertionError("the last attempt returns or raises")


async def _ask(ctx: SkillContext[Any], order: Order, seconds: float) -> list[MediaMetadata]:
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
