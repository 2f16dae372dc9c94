"""The images and videos of a draft, made by the MCP tools, in a time of their own.

A tool is asked once and, where that may help, twice more. Whatever it does, the text goes on: without
media and with the warning MEDIA_GENERATION_FAILED.
"""

import asyncio
from time import monotonic
from typing import Any

from chimera.core.errors import ChimeraError
from content.llm.composer import Draft
from content.schemas import MediaMetadata
from skills.contract import SkillContext
from skills.mcp.media import IN_VAIN, Order, ask

MEDIA_SECONDS = 28.0
RETRIES = 2
VIDEO_TYPES = ("video_script",)
RATIO = {"twitter": "16:9", "tiktok": "9:16", "instagram": "1:1", "youtube": "16:9"}


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
            return await ask(ctx, order, until - monotonic())
        except ChimeraError as problem:
            wait = max(2.0**attempt, problem.backoff_sec or 0)
            in_vain = problem.final or problem.code in IN_VAIN
            if in_vain or attempt == RETRIES or monotonic() + wait >= until:
                raise
            ctx.log.warning("%s failed, once more in %g s: %s", order.tool, wait, problem)
            await asyncio.sleep(wait)
    raise AssertionError("the last attempt returns or raises")
