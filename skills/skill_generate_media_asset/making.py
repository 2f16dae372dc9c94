"""The asset itself: a text by a model or the offline writer, an image or a video by an MCP tool."""

from asyncio import sleep
from collections.abc import Iterable
from dataclasses import dataclass
from time import monotonic
from typing import Any

from asgiref.sync import sync_to_async

from chimera.core.errors import ChimeraError
from content.llm.briefs import Brief, fitted, less_sure
from content.llm.budget import budget_of, price
from content.llm.composer import OFFLINE_MODEL, Draft, write
from content.llm.drafting import Drafter, Offensive
from content.llm.guard import allowed_of, cleaned
from content.llm.models import LanguageModel, configured, connected
from content.schemas import ContentPackage, MediaMetadata
from content.validation import running
from content.validation.offensive import offensive_words
from content.validation.rules import Case, rules_of
from skills.contract import SkillContext
from skills.mcp.media import IN_VAIN, Order, ask
from skills.skill_generate_media_asset.contract import Input, SafetyCheck
from skills.skill_generate_media_asset.purse import Purse

TRIES = 3
REQUEST_SECONDS = 30.0
LONGEST_CLIP = 10
SLACK = 5.0
"""Seconds by which a tool may outlast the limit of the whole, so that the whole ends first."""
SUSPICIOUS = 0.7
MEDIA_CONFIDENCE = 0.7
"""Nobody has looked at a picture that a tool made."""
_LOOK = "; no lettering, no logos, no recognisable faces"
ORDERS_KEPT = ("runwayml",)
"""Tools that never make the same order twice; another may have to be paid again after a lost reply."""


@dataclass(frozen=True)
class Made:
    """An asset before it is kept. maker: model or tool."""

    maker: str
    confidence: float
    checks: list[SafetyCheck]
    text: str = ""
    file: MediaMetadata | None = None


async def make(ctx: SkillContext[Input], brief: Brief, purse: Purse) -> Made:
    """The asset. SAFETY_VIOLATION, BUDGET_EXCEEDED, LLM_ERROR, MEDIA_GENERATION_FAILED ..."""
    if offensive_words(ctx.params.brief.prompt):
        raise ChimeraError("SAFETY_VIOLATION", "The prompt is offensive; nothing was made of it")
    if ctx.params.type == "text":
        return await _text(ctx, brief, purse)
    return await _file(ctx, purse)


async def _text(ctx: SkillContext[Input], brief: Brief, purse: Purse) -> Made:
    draft, maker = await _worded(ctx, brief, purse)
    text = fitted(draft, brief.voice, ctx.params.constraints.length.maxChars)
    checks = await sync_to_async(_checked)(text, brief)
    if any(check.rule == "offensive_language" and not check.passed for check in checks):
        raise ChimeraError("SAFETY_VIOLATION", "The text came out offensive; change the brief")
    return Made(maker, draft.confidence, checks, text=text)


async def _worded(ctx: SkillContext[Input], brief: Brief, purse: Purse) -> tuple[Draft, str]:
    """The draft by the first model that gives one; without a model by the offline writer."""
    allowed = allowed_of(brief.subject(), brief.voice)
    subject, removed = cleaned(brief.subject(), allowed)
    models = configured()
    if not models:
        return _offline(brief, subject), OFFLINE_MODEL
    problem = ChimeraError("LLM_ERROR")
    async with connected(models) as connection:
        for model in models:
            for safety in (False, True):
                await purse.pay(model.name, _dearest(ctx, model))
                frame = brief.frame(subject, safety=safety)
                budget = budget_of(ctx.token_budget)
                drafter = Drafter(
                    connection, model, frame, allowed, budget, REQUEST_SECONDS, removed
                )
                try:
                    draft = await drafter.draft()
                except Offensive:
                    problem = ChimeraError("SAFETY_VIOLATION", "The text came out offensive twice")
                    continue
                except TimeoutError:
                    problem = ChimeraError("LLM_ERROR", f"{model.name} did not answer in time")
                    break
                except ChimeraError as failed:
                    problem = failed
                    break
                return less_sure(draft, SUSPICIOUS if removed else 1), model.name
    raise problem


def _offline(brief: Brief, subject: Any) -> Draft:
    frame = brief.frame(subject)
    return write(frame, frame.story, frame.tags)


def _dearest(ctx: SkillContext[Input], model: LanguageModel) -> Any:
    """What a draft can cost: two questions with every token that one may take. None: not known."""
    once = price(model.maker, model.name, *ctx.token_budget)
    return None if once is None else 2 * once


def _checked(text: str, brief: Brief) -> list[SafetyCheck]:
    """What each rule says of the text."""
    posted: dict[str, Any] = {"script": text, "captions": text, "hashtags": [], "media_urls": []}
    package = ContentPackage.model_construct(**posted, media_metadata=None, platform_variants=None)
    source = "\n".join([brief.prompt, *(trend.source_text() for trend in brief.trends)])
    case = Case(package, persona=brief.voice, source_text=source)
    rules = [rule for rule in rules_of(case) if rule[0] != "media_missing"]
    broken = {issue.rule for issue in running.run(rules).issues if issue.severity == "error"}
    return _as_checks((name for name, _ in rules), broken)


def _as_checks(names: Iterable[str], broken: set[str]) -> list[SafetyCheck]:
    return [SafetyCheck(rule=name, passed=name not in broken) for name in names]


async def _file(ctx: SkillContext[Input], purse: Purse) -> Made:
    """The tool's file, asked for as often as makes sense and time and money allow."""
    order, units = _order(ctx.params)
    until = monotonic() + purse.seconds_left(ctx.params.constraints.maxLatencySec)
    await _pay(ctx, purse, order, units)
    for attempt in range(TRIES):
        try:
            [made, *_] = await ask(ctx, order, until - monotonic() + SLACK)
            break
        except ChimeraError as problem:
            wait = max(2.0**attempt, problem.backoff_sec or 0)
            in_vain = problem.final or problem.code in IN_VAIN
            if in_vain or attempt + 1 == TRIES or monotonic() + wait >= until:
                raise _told(problem, order) from problem
            try:
                await _pay(ctx, purse, order, units)
            except ChimeraError:
                raise _told(problem, order) from problem
            await sleep(wait)
    _require_short(ctx.params, made)
    checks = _as_checks(["offensive_language", "provider_safety"], set())
    return Made(order.tool, MEDIA_CONFIDENCE, checks, file=made)


async def _pay(ctx: SkillContext[Input], purse: Purse, order: Order, units: int) -> None:
    each = ctx.mcp.price(order.tool) if ctx.mcp else None
    total = None if each is None else each * units
    once = order.tool if order.tool in ORDERS_KEPT else ""
    await purse.pay(order.tool, total, order=once)


def _told(problem: ChimeraError, order: Order) -> ChimeraError:
    """A tool's failure in this skill's codes: what it says of safety, limits and time stays."""
    if problem.code in ("SAFETY_VIOLATION", "RATE_LIMITED", "TIMEOUT", "NETWORK_ERROR"):
        return problem
    message = f"{order.tool}: {problem.message}"
    return ChimeraError("MEDIA_GENERATION_FAILED", message, final=problem.final)


def _order(wanted: Input) -> tuple[Order, int]:
    """The order and how many units it has: one image, or the seconds of a video."""
    prompt = f"{wanted.brief.prompt[:1500]}; mood: {wanted.brief.persona or 'neutral'}{_LOOK}"
    if wanted.type == "image":
        arguments = {"prompt": prompt, "aspect_ratio": "1:1", "count": 1}
        return Order("ideogram", arguments), 1
    seconds = min(wanted.constraints.length.maxDurationSec, LONGEST_CLIP)
    return Order("runwayml", {"prompt": prompt, "duration_sec": seconds, "ratio": "9:16"}), seconds


def _require_short(wanted: Input, made: MediaMetadata) -> None:
    most = wanted.constraints.length.maxDurationSec
    if made.duration_sec is not None and made.duration_sec > most:
        message = f"The video has {made.duration_sec:g} s; {most} are allowed. It was thrown away."
        raise ChimeraError("MEDIA_GENERATION_FAILED", message, final=True)
