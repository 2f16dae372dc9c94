"""One counted call for what a source of trends holds."""

from typing import Any, Protocol

from asgiref.sync import sync_to_async

from chimera.core.errors import ChimeraError
from content.sources.quota import count_call


class Reader(Protocol):
    """Reads resources of MCP servers."""

    async def read_resource(self, uri: str, *, timeout_sec: float) -> Any: ...


async def resource_read(
    reader: Reader | None,
    platform: str,
    uri: str,
    seconds: float,
    missing: str = "PLATFORM_UNAVAILABLE",
) -> Any:
    """What the resource holds. A resource that no server has is as good as one that is down.

    missing: the code for one that no server has.

    RATE_LIMITED when the platform's calls of this hour are used up; PLATFORM_UNAVAILABLE, TIMEOUT,
    NETWORK_ERROR and VALIDATION_FAILED as the reader finds them.
    """
    if reader is None:
        raise RuntimeError("MCP Client not configured")
    await sync_to_async(count_call)(platform)
    try:
        return await reader.read_resource(uri, timeout_sec=seconds)
    except ChimeraError as problem:
        if problem.code != "NOT_FOUND":
            raise
        raise ChimeraError(missing, f"No MCP server has {uri}") from problem
