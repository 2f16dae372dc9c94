"""Client of the agent directory: one attempt each, bounded in time, looks up what it cannot know.

The directory takes `PUT <base>/agents/<agent_id>` with `{profile, signature}` and shows the entry
under the same address. NETWORK_ERROR: no answer. REGISTRATION_FAILED: an answer that is no
registration; `final` where the directory refused it for good.
"""

import asyncio
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, TypeVar
from uuid import UUID

import httpx
from django.conf import settings
from pydantic import BaseModel, Field

from agents.signing import statement_read
from agents.wire import Uri
from chimera.core import capabilities, tracing
from chimera.core.clock import Moment
from chimera.core.errors import ChimeraError
from chimera.core.jsontext import loads

PUT_SEC = 5.0
GET_SEC = 2.0
MAX_BYTES = 256 * 1024
NEWEST_SEQUENCE = 2**53


class Entry(BaseModel):
    """What the directory says of an agent; registered_at is the first time."""

    directory_id: str = Field(min_length=1, max_length=200)
    profile_url: Uri
    registered_at: Moment


class Standing(Entry):
    """An entry with the statement that stands behind it."""

    signature: Any
    sequence: int = Field(0, ge=0, le=NEWEST_SEQUENCE)


@dataclass(frozen=True)
class Statement:
    """A signed profile: what is sent, as often as needed, always the same."""

    agent_id: UUID
    sequence: int
    profile: dict[str, Any]
    signature: str


@dataclass(frozen=True)
class Reply:
    """An answer of the directory, read to its end. retry_after: seconds, where it says so."""

    status: int
    body: bytes
    retry_after: float | None


EntryT = TypeVar("EntryT", bound=Entry)


def base_url() -> str:
    """Where the directory is. RESOURCE_UNAVAILABLE where the deployment names none."""
    url: str = settings.CHIMERA.openclaw_url
    if not url:
        message = "No agent directory is configured; set CHIMERA_OPENCLAW_URL to its address"
        raise ChimeraError("RESOURCE_UNAVAILABLE", message)
    return url


async def register(statement: Statement, *, sent_before: bool) -> tuple[Entry, int]:
    """The directory's entry and its sequence: that of the statement, or of a newer one.

    sent_before: an earlier attempt may have sent it, so the directory is asked first.
    """
    if sent_before and (standing := await _standing(statement)):
        return standing
    try:
        return await _put(statement), statement.sequence
    except ChimeraError as problem:
        with suppress(ChimeraError):
            if standing := await _standing(statement):
                return standing
        raise problem


async def _put(statement: Statement) -> Entry:
    body = {"profile": statement.profile, "signature": statement.signature}
    reply = await _call("PUT", statement.agent_id, PUT_SEC, body)
    return _parse(Entry, _accept(reply))


async def _standing(statement: Statement) -> tuple[Entry, int] | None:
    """The entry, if it is of this statement or a newer one that the agent has signed as well."""
    reply = await _call("GET", statement.agent_id, GET_SEC)
    if reply.status == 404:
        return None
    found = _parse(Standing, _accept(reply))
    if found.signature == statement.signature:
        return found, statement.sequence
    if found.sequence <= statement.sequence:
        return None
    said = statement_read(found.signature, own=statement.signature)
    return (found, found.sequence) if said and said.get("sequence") == found.sequence else None


async def _call(
    method: str, agent_id: UUID, limit: float, body: dict[str, Any] | None = None
) -> Reply:
    """One request; the limit in seconds holds for all of it, however slowly the answer drips."""
    capabilities.require("NET")
    url = f"{base_url()}/agents/{agent_id}"
    try:
        async with (
            asyncio.timeout(limit),
            httpx.AsyncClient(
                trust_env=False, timeout=limit, auth=tracing.outgoing(httpx)
            ) as client,
            client.stream(method, url, json=body) as answer,
        ):
            return await _read(answer)
    except (TimeoutError, httpx.TimeoutException):
        message = f"The agent directory did not answer within {limit:g} s"
    except httpx.HTTPError as problem:
        message = f"The agent directory cannot be reached ({type(problem).__name__})"
    raise ChimeraError("NETWORK_ERROR", message)


async def _read(answer: httpx.Response) -> Reply:
    body = bytearray()
    async for chunk in answer.aiter_bytes():
        body += chunk
        if len(body) > MAX_BYTES:
            raise ChimeraError("REGISTRATION_FAILED", "The agent directory's answer is too long")
    wait = answer.headers.get("retry-after", "")
    return Reply(answer.status_code, bytes(body), float(wait) if wait.isdigit() else None)


def _accept(reply: Reply) -> bytes:
    if reply.status == 200:
        return reply.body
    raise ChimeraError(
        "REGISTRATION_FAILED",
        f"The agent directory answered {reply.status}{_detail(reply)}",
        details={"status": reply.status},
        backoff_sec=reply.retry_after,
        final=400 <= reply.status < 500 and reply.status != 429,
    )


def _detail(reply: Reply) -> str:
    with suppress(ValueError, TypeError, KeyError):
        return f": {str(loads(reply.body)['detail'])[:200]}"
    return ""


def _parse(model: type[EntryT], body: bytes) -> EntryT:
    try:
        return model.model_validate(loads(body))
    except ValueError:  # pydantic's is one too
        message = "The agent directory's answer cannot be read"
        raise ChimeraError("REGISTRATION_FAILED", message) from None
