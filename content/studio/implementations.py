"""Which implementation writes: CHIMERA_SKILL_IMPL_<NAME> is offline, llm or a dotted path.

An implementation is a coroutine function that takes an Order and gives the fields of the output. It need
not be trusted: whatever it gives is checked against the contract.
"""

from collections.abc import Awaitable, Callable
from importlib import import_module
from typing import Any

from django.conf import settings

from chimera.core.errors import ChimeraError
from content.llm.models import configured
from content.studio import llm, offline
from content.studio.order import Order

Implementation = Callable[[Order], Awaitable[Any]]


def implementation(skill: str) -> Implementation:
    """The implementation of the settings; without one a language model's if there is any.

    INTERNAL_ERROR names the setting that cannot be used.
    """
    chosen = settings.CHIMERA.skill_impls.get(skill, "")
    return named(skill, chosen or ("llm" if configured() else "offline"))


def named(skill: str, choice: str) -> Implementation:
    """The implementation offline, llm, or at a dotted path such as package.module.function."""
    if choice == "llm":
        return llm.write
    if choice == "offline":
        return offline.write
    path, _, name = choice.rpartition(".")
    try:
        found = getattr(import_module(path), name)
    except (ImportError, AttributeError, ValueError):
        found = None
    if not callable(found):
        setting = f"CHIMERA_SKILL_IMPL_{skill.upper()}"
        message = f"{setting} is {choice!r}; write offline, llm or package.module.function"
        raise ChimeraError("INTERNAL_ERROR", message)
    made: Implementation = found
    return made
