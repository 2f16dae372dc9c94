"""What the running skill may use: every client that reaches outside asks here before it does.

Outside a skill (web pages, the scheduler) everything is allowed. The working memory of a task and of
the threads it waits for is one context, so two skills in one process never see each other's limits.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from chimera.core.errors import ChimeraError

CAPABILITIES = frozenset({"NET", "IO", "GPU", "LLM", "CHAIN", "MCP", "DB"})


@dataclass
class _Limits:
    skill: str
    declared: frozenset[str]
    refused: ChimeraError | None = None


_running: ContextVar[_Limits | None] = ContextVar("capabilities", default=None)


def require(capability: str) -> None:
    """SECURITY_VIOLATION where the running skill did not declare the capability."""
    limits = _running.get()
    if limits is None or capability in limits.declared:
        return
    message = f"{limits.skill} did not declare the capability {capability}"
    limits.refused = ChimeraError("SECURITY_VIOLATION", message)
    raise limits.refused


@contextmanager
def aside() -> Iterator[None]:
    """What the framework itself does for a running skill, such as keeping its progress."""
    token = _running.set(None)
    try:
        yield
    finally:
        _running.reset(token)


@contextmanager
def limited(skill: str, declared: frozenset[str]) -> Iterator[None]:
    """Hold the code inside to what the skill declared.

    A refusal ends it with SECURITY_VIOLATION even where the skill has caught it and gone on.
    """
    limits = _Limits(skill, declared)
    token = _running.set(limits)
    try:
        yield
    except Exception as problem:
        if limits.refused is not None and problem is not limits.refused:
            raise limits.refused from problem
        raise
    else:
        if limits.refused is not None:
            raise limits.refused
    finally:
        _running.reset(token)
