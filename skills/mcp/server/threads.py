"""Work with the database outside the event loop."""

import asyncio
from collections.abc import Callable
from typing import TypeVar

from django.db import close_old_connections

Found = TypeVar("Found")


async def in_thread(work: Callable[[], Found]) -> Found:
    """What `work` gives, done in a thread that keeps its connection while that is sound."""
    return await asyncio.to_thread(_with_sound_connections, work)


def _with_sound_connections(work: Callable[[], Found]) -> Found:
    close_old_connections()
    try:
        return work()
    finally:
        close_old_connections()
