"""Refusals of everything but tool calls: an error of the protocol with the problem document as data."""

from collections.abc import Awaitable, Callable
from functools import wraps
from typing import Any, TypeVar

from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS

from chimera.core import problem
from chimera.core.errors import ChimeraError
from skills.mcp.server.answers import wire

Answer = TypeVar("Answer")
REFUSED = -32010
"""Of the range the protocol leaves to implementations: rate, permission, our own failures."""


def as_protocol_error(
    handler: Callable[[Any, Any], Awaitable[Answer]],
) -> Callable[[Any, Any], Awaitable[Answer]]:
    """Whatever goes wrong in the handler, as `MCPError`."""

    @wraps(handler)
    async def handled(ctx: Any, params: Any) -> Answer:
        try:
            return await handler(ctx, params)
        except Exception as wrong:  # noqa: BLE001  logged there, and answered as REST answers it
            raise protocol_error(problem.from_exception(wrong)) from None

    return handled


def protocol_error(error: ChimeraError) -> MCPError:
    """INVALID_PARAMS for what the caller named wrongly, else REFUSED."""
    named_wrongly = error.code in ("NOT_FOUND", "INVALID_INPUT")
    document: dict[str, Any] = wire(problem.document(error))
    code = INVALID_PARAMS if named_wrongly else REFUSED
    return MCPError(code, f"{error.code}: {error.message}", document)
