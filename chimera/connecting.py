"""Accounts that a sandbox opens for its agents: in the sandbox world, or on the local servers that
speak the networks' own languages (CHIMERA_PLATFORM=local). Elsewhere a person connects them."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import httpx
from django.conf import settings

from agents.models import Agent
from chimera.core.errors import ChimeraError
from content.connections import credentials_seal
from content.models import Platform, PlatformAccount
from content.platforms.base import Credentials

_LOOPBACK = "http://127.0.0.1:"


@dataclass(frozen=True)
class Opened:
    """An account that a platform has opened. base_url: empty where the mode has one address for all."""

    platform: str
    credentials: Credentials
    base_url: str = ""


def accounts_open(handle: str) -> list[Opened]:
    """The handle's accounts on all platforms; empty outside a sandbox and with the real networks.

    NETWORK_ERROR with the remedy where a platform does not answer.
    """
    env = settings.CHIMERA
    if not env.is_sandbox or env.chimera_platform == "live":
        return []
    if env.chimera_platform == "local":
        return [_open_local(platform, handle) for platform in Platform.values]
    with _asking(_world_remedy()), _client(env.chimera_world_url) as world:
        return [_open_in_world(world, platform, handle) for platform in Platform.values]


def accounts_keep(agent: Agent, handle: str, opened: list[Opened]) -> None:
    """Connect the agent with the accounts that were opened, in the mode of this deployment."""
    for account in opened:
        PlatformAccount.objects.update_or_create(
            platform=account.platform,
            handle=handle,
            mode=settings.CHIMERA.chimera_platform,
            defaults={
                "agent": agent,
                "base_url": account.base_url,
                "sealed_credentials": credentials_seal(account.credentials),
            },
        )


def accounts_ensure(agent: Agent, handle: str) -> None:
    """Open what the agent lacks in the mode of this deployment, which may have changed."""
    known = PlatformAccount.objects.filter(handle=handle, mode=settings.CHIMERA.chimera_platform)
    if known.count() < len(Platform.values):
        accounts_keep(agent, handle, accounts_open(handle))


def accounts_reconnect() -> None:
    """The local servers forget everything when they end: give every account of theirs new credentials."""
    if settings.CHIMERA.chimera_platform != "local":
        return
    for account in PlatformAccount.objects.filter(mode="local", base_url__startswith=_LOOPBACK):
        opened = _open_local(account.platform, account.handle)
        PlatformAccount.objects.filter(id=account.id).update(
            base_url=opened.base_url,
            sealed_credentials=credentials_seal(opened.credentials),
            refresh_until=None,
        )


def _open_in_world(world: httpx.Client, platform: str, handle: str) -> Opened:
    answer = world.post("/social/accounts", json={"platform": platform, "handle": handle})
    return Opened(platform, Credentials(str(answer.raise_for_status().json()["access_token"])))


def _open_local(platform: str, handle: str) -> Opened:
    base_url = f"{settings.CHIMERA.chimera_local_url}/{platform}"
    with _asking(_local_remedy()), _client(base_url) as server:
        given = server.post("/_accounts", json={"handle": handle}).raise_for_status().json()
        extra = {str(name): str(value) for name, value in given["extra"].items()}
        credentials = Credentials(given["access_token"], given["refresh_token"], extra)
        return Opened(platform, credentials, base_url)


def _client(base_url: str) -> httpx.Client:
    return httpx.Client(base_url=base_url, timeout=5, trust_env=False)


@contextmanager
def _asking(remedy: tuple[str, str]) -> Iterator[None]:
    """NETWORK_ERROR instead of anything that goes wrong with the question."""
    try:
        yield
    except (
        httpx.HTTPError,
        httpx.InvalidURL,
        ValueError,
        KeyError,
        TypeError,
        AttributeError,
    ) as problem:
        who, what_to_do = remedy
        reason = str(problem).partition("\n")[0] or type(problem).__name__
        message = f"{who} gave no account ({reason}): {what_to_do}"
        raise ChimeraError("NETWORK_ERROR", message) from None


def _world_remedy() -> tuple[str, str]:
    return (
        f"The sandbox world at {settings.CHIMERA.chimera_world_url}",
        "start it with manage.py runstack, or set CHIMERA_WORLD_URL, or PORT as the running stack "
        "has it (the world listens on PORT+2)",
    )


def _local_remedy() -> tuple[str, str]:
    return (
        f"The local platform servers at {settings.CHIMERA.chimera_local_url}",
        "start them with CHIMERA_PLATFORM=local manage.py runstack, or set CHIMERA_LOCAL_URL, or "
        "PORT as the running stack has it (they listen on PORT+4)",
    )
