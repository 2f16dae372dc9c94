"""Scores that language models gave: kept for 30 minutes per trend, goals and model, for all workers."""

import logging
from collections.abc import Mapping, Sequence

from asgiref.sync import sync_to_async
from django.core.cache import cache
from redis.exceptions import RedisError

from chimera.core.digest import digest
from content.llm.models import LanguageModel
from content.relevance import Scored

log = logging.getLogger("chimera.llm")
SECONDS = 1800
_VERSION = 1  # of the instructions; raise it when they change


def _keys(model: LanguageModel, goals: Sequence[str], texts: Sequence[str]) -> dict[str, str]:
    """Key -> text."""
    return {f"score:{digest([_VERSION, model.key, list(goals), text])}": text for text in texts}


async def lookup(
    model: LanguageModel, goals: Sequence[str], texts: Sequence[str]
) -> dict[str, Scored]:
    """The scores that are known, by text."""
    keys = _keys(model, goals, texts)
    try:
        found = await sync_to_async(cache.get_many)(list(keys))
    except (OSError, RedisError) as problem:
        log.warning("the score cache cannot be read: %s", type(problem).__name__)
        return {}
    return {keys[key]: Scored(*value) for key, value in found.items()}


async def keep(model: LanguageModel, goals: Sequence[str], scores: Mapping[str, Scored]) -> None:
    """Remember the scores of a batch."""
    keys = _keys(model, goals, list(scores))
    values = {key: (scores[text].score, scores[text].reasoning) for key, text in keys.items()}
    try:
        await sync_to_async(cache.set_many)(values, timeout=SECONDS)
    except (OSError, RedisError) as problem:
        log.warning("the score cache cannot be written: %s", type(problem).__name__)
