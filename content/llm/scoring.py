"""The relevance of trends to goals as a language model sees it: batches, typed and checked answers."""

import asyncio
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass, field
from typing import Any

from pydantic import BaseModel, Field

from chimera.core.errors import ChimeraError
from content.llm import score_cache
from content.llm.budget import Budget, estimated_tokens
from content.llm.failures import AnswerTooLong
from content.llm.guard import found_in, without
from content.llm.models import Connection, LanguageModel
from content.relevance import Scored
from content.schemas import TrendData
from content.sources.clean import plain_line

BATCH = 100
BATCH_SECONDS = 3.0
AT_ONCE = 4
"""Batches under way together: ten of them then fit into the ten seconds even at three seconds each."""
_FIXED_TOKENS = 900  # instructions, schema of the answer and delimiters
_INSTRUCTIONS = (
    "You judge how relevant trends are to the goals of a campaign. Give every trend of the document "
    "exactly one mark: its index, a score from 0 (unrelated) over 0.5 (loosely related) to 1 (made "
    "for a goal) with two decimals, judged by its best goal and by meaning, not by shared words; and "
    "a reasoning of at most six words, empty below 0.5. Judge each trend by itself."
)


class Mark(BaseModel):
    """What the model says of one trend."""

    index: int = Field(ge=0, description="Index of the trend in the document")
    score: float = Field(ge=0, le=1, description="Relevance to the best goal")
    reasoning: str = Field(max_length=500, description="Why, in a few words")


class Marks(BaseModel):
    """One mark per trend."""

    marks: list[Mark]


@dataclass
class Scorer:
    """Scores with the first model that answers; what was scored within 30 minutes is not asked again.

    asked: requests that were made.
    """

    connection: Connection
    models: Sequence[LanguageModel]
    goals: Sequence[str]
    budget: Budget
    asked: int = 0
    _gone: set[LanguageModel] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.goals = sorted(set(self.goals))
        self._room = asyncio.Semaphore(AT_ONCE)

    async def score(self, trends: Sequence[TrendData], seconds: float) -> list[Scored | None]:
        """A score per trend in order, None where the time was over before its batch was done.

        Raises LLM_ERROR where a batch failed with every model.
        """
        texts = [_told(trend) for trend in trends]
        known = await score_cache.lookup(self.models[0], self.goals, texts)
        rest = [text for text in dict.fromkeys(texts) if text not in known]
        groups = self._batches(rest)
        for scores in await self._together([self._batch(group) for group in groups], seconds):
            known |= scores
        return [known.get(text) for text in texts]

    async def _together(
        self, batches: Sequence[Coroutine[Any, Any, dict[str, Scored]]], seconds: float
    ) -> list[dict[str, Scored]]:
        """What the batches have brought within the time; a slow one brings nothing."""
        work = [asyncio.create_task(batch) for batch in batches]
        try:
            if work:
                await asyncio.wait(work, timeout=seconds)
        finally:
            for task in work:
                task.cancel()
            results = await asyncio.gather(*work, return_exceptions=True)
        late = (TimeoutError, asyncio.CancelledError)
        for result in results:
            if isinstance(result, BaseException) and not isinstance(result, late):
                raise result
        return [result for result in results if isinstance(result, dict)]

    def _batches(self, texts: Sequence[str]) -> list[list[str]]:
        """Groups of at most 100 that fit into the input tokens."""
        fixed = _FIXED_TOKENS + estimated_tokens(*self.goals)
        room = (self.budget.input_tokens or 10**9) - fixed
        if room < 300:
            message = "are too long for a language model; shorten them"
            raise ChimeraError(
                "INVALID_GOALS", f"campaign_goals {message}", errors={"campaign_goals": [message]}
            )
        groups: list[list[str]] = []
        used = 0
        for text in texts:
            size = estimated_tokens(text) + 6
            if not groups or len(groups[-1]) == BATCH or used + size > room:
                groups.append([])
                used = 0
            groups[-1].append(text)
            used += size
        return groups

    async def _batch(self, texts: list[str]) -> dict[str, Scored]:
        """The batch with the first model that can: 3 seconds each."""
        async with self._room:
            failure: Exception | None = None
            for model in [m for m in self.models if m not in self._gone] or self.models[-1:]:
                try:
                    return await self._with(model, texts)
                except TimeoutError as slow:
                    failure = slow
                except ChimeraError as problem:
                    failure = problem
                    if problem.final:
                        self._gone.add(model)
            assert failure is not None  # there is a model, and it did not answer
            raise failure

    async def _with(self, model: LanguageModel, texts: list[str]) -> dict[str, Scored]:
        """Scores of one model; a batch whose answer was cut off is asked in halves."""
        try:
            return await self._ask(model, texts)
        except AnswerTooLong:
            if len(texts) == 1:
                raise
            half = len(texts) // 2
            halves = (self._with(model, texts[:half]), self._with(model, texts[half:]))
            first, second = await asyncio.gather(*halves)
            return first | second

    async def _ask(self, model: LanguageModel, texts: list[str]) -> dict[str, Scored]:
        self.asked += 1
        answer = await self.connection.ask(
            model,
            instructions=_INSTRUCTIONS,
            document={"goals": list(self.goals), "trends": _numbered(texts)},
            answer=Marks,
            budget=self.budget,
            seconds=BATCH_SECONDS,
        )
        scores = dict(zip(texts, _checked(answer, len(texts), model), strict=True))
        await score_cache.keep(model, self.goals, scores)
        return scores


def _told(trend: TrendData) -> str:
    """What a model is told of a trend, as one line; equal lines are scored once."""
    meta = trend.metadata
    parts = [
        plain_line(trend.topic, 200),
        " ".join(plain_line(tag, 40) for tag in meta.hashtags[:5]),
        meta.category,
        trend.geographic_origin or "",
    ]
    return " | ".join(part for part in parts if part)


def _numbered(texts: Sequence[str]) -> list[dict[str, Any]]:
    return [{"index": at, "text": text} for at, text in enumerate(texts)]


def _checked(answer: Marks, count: int, model: LanguageModel) -> list[Scored]:
    """One score per trend in order; a missing, doubled or invented index is an error of the model."""
    marks = sorted(answer.marks, key=lambda mark: mark.index)
    if [mark.index for mark in marks] != list(range(count)):
        message = f"{model.name} marked {len(marks)} trends of {count}, or one of them twice"
        raise ChimeraError("LLM_ERROR", message, details={"model": model.name})
    return [Scored(round(mark.score, 4), _harmless(mark.reasoning)) for mark in marks]


def _harmless(reasoning: str) -> str:
    """The model's words without anything that a stranger could have smuggled in to be clicked."""
    text = plain_line(reasoning)
    return without(text, found_in(text))
