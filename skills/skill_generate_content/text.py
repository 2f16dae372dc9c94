"""The words of a draft: a language model's inside the offline writer's frame, or the writer's own."""

import dataclasses
from typing import Any

from chimera.core.errors import ChimeraError
from content.llm.budget import InputTooLarge, budget_of
from content.llm.composer import OFFLINE_MODEL, Draft, Frame, plan, write
from content.llm.drafting import Drafter, Offensive
from content.llm.guard import Allowed, allowed_of, cleaned
from content.llm.models import LanguageModel, configured, connected
from content.schemas import TrendData
from content.validation.offensive import offensive_words
from skills.contract import SkillContext

REQUEST_SECONDS = 14.0
SUSPICIOUS = 0.7
"""The most confidence there is in a draft somebody tried to smuggle a link or an account into."""
WARNING = "UNLISTED_LINK_REMOVED"


@dataclasses.dataclass(frozen=True)
class Text:
    """A draft and the model that worded it."""

    draft: Draft
    model: str


async def text_for(ctx: SkillContext[Any]) -> Text:
    """The words by the model of this attempt; without a configured model by the offline writer.

    Raises SAFETY_VIOLATION where a second try with the safety rule is offensive as well.
    """
    trend, allowed, removed = _material(ctx)
    models = configured()
    if not models:
        draft = _composed(ctx, trend)
        return Text(_trusted(ctx, draft, removed), OFFLINE_MODEL)
    model = models[min(ctx.attempt, len(models)) - 1]
    try:
        draft, smuggled = await _worded(ctx, trend, allowed, model)
    except InputTooLarge as problem:
        raise _too_large(problem) from None
    except ChimeraError as problem:
        raise _for_next_attempt(ctx, problem, models) from None
    return Text(_trusted(ctx, draft, [*removed, *smuggled]), model.name)


def offline_text(ctx: SkillContext[Any]) -> Text:
    """The offline writer's words, for what a model did not finish."""
    trend, _, removed = _material(ctx)
    return Text(_trusted(ctx, _composed(ctx, trend), removed), OFFLINE_MODEL)


def _material(ctx: SkillContext[Any]) -> tuple[TrendData, Allowed, list[str]]:
    """The trend to write from, what may be named, and what was taken out of the trend."""
    allowed = allowed_of(ctx.params.trend, ctx.params.persona)
    trend, removed = cleaned(ctx.params.trend, allowed)
    return trend, allowed, removed


def _trusted(ctx: SkillContext[Any], draft: Draft, removed: list[str]) -> Draft:
    """The draft, with a warning and less confidence where something was kept out of it."""
    if not removed:
        return draft
    ctx.warn(WARNING)
    return dataclasses.replace(draft, confidence=min(draft.confidence, SUSPICIOUS))


def _composed(ctx: SkillContext[Any], trend: TrendData) -> Draft:
    """The offline writer's draft; an offensive one is written again with the safety rule."""
    for safety in (False, True):
        frame = _frame(ctx, trend, safety)
        draft = write(frame, frame.story, frame.tags)
        if not offensive_words(f"{draft.script}\n{draft.captions}"):
            return draft
    raise _violation()


async def _worded(
    ctx: SkillContext[Any], trend: TrendData, allowed: Allowed, model: LanguageModel
) -> tuple[Draft, list[str]]:
    """The model's draft and what it tried to smuggle in; an offensive one is asked for again."""
    smuggled: list[str] = []
    async with connected([model]) as connection:
        for safety in (False, True):
            frame = _frame(ctx, trend, safety)
            budget = budget_of(ctx.token_budget)
            drafter = Drafter(connection, model, frame, allowed, budget, REQUEST_SECONDS, smuggled)
            try:
                draft = await drafter.draft()
            except Offensive:
                continue
            if not offensive_words(f"{draft.script}\n{draft.captions}"):
                return draft, smuggled
    raise _violation()


def _frame(ctx: SkillContext[Any], trend: TrendData, safety: bool) -> Frame:
    wanted = ctx.params
    return plan(
        trend,
        wanted.persona,
        wanted.platform,
        wanted.content_type,
        now=ctx.now(),
        safety=safety,
    )


def _violation() -> ChimeraError:
    return ChimeraError(
        "SAFETY_VIOLATION",
        "The content stays offensive even with the safety rule; use another trend",
    )


def _too_large(problem: ChimeraError) -> ChimeraError:
    """All else in the question is short, so it is the persona."""
    message = f"is too long for a language model; shorten its word lists. {problem.message}"
    return ChimeraError("INVALID_PERSONA", f"persona {message}", errors={"persona": [message]})


def _for_next_attempt(
    ctx: SkillContext[Any], problem: ChimeraError, models: list[LanguageModel]
) -> ChimeraError:
    """The next attempt asks the other model: what the first one said of waiting is not for it."""
    if problem.code == "LLM_ERROR" and ctx.attempt < len(models):
        problem.final, problem.backoff_sec = False, None
    return problem
