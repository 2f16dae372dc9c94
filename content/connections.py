"""What an account is connected with: sealed at rest, opened for one call, renewed by one worker.

Sealed is the JSON `{access_token, refresh_token, extra{}, connection}`; rows of old hold the bare access token.
"""

import json
import socket
from dataclasses import replace
from datetime import timedelta
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.db import transaction
from django.db.models import Q

from chimera.core import audit
from chimera.core.clock import now
from chimera.core.errors import ChimeraError
from chimera.core.http import is_public
from chimera.core.ids import new_id
from chimera.core.secrets import decrypt, encrypt
from content.models import PlatformAccount
from content.platforms.base import Credentials, PlatformAdapter, PlatformFailure, PublishIntent
from content.platforms.registry import SANDBOX

REFRESH_SEC = 30


def credentials_seal(credentials: Credentials) -> bytes:
    """The encrypted form that an account keeps."""
    return encrypt(
        json.dumps(
            {
                "access_token": credentials.access_token,
                "refresh_token": credentials.refresh_token,
                "extra": dict(credentials.extra),
                "connection": credentials.connection,
            }
        ).encode()
    )


def credentials_open(account: PlatformAccount) -> Credentials:
    """The plain credentials; empty ones where nothing is connected."""
    if not account.sealed_credentials:
        return Credentials()
    plain = decrypt(account.sealed_credentials).decode()
    if not plain.startswith("{"):
        return Credentials(access_token=plain)
    kept: dict[str, Any] = json.loads(plain)
    return Credentials(
        access_token=kept.get("access_token", ""),
        refresh_token=kept.get("refresh_token", ""),
        extra=kept.get("extra") or {},
        connection=kept.get("connection", ""),
    )


def account_refusal(account: PlatformAccount) -> str:
    """Why nothing can be posted with this account, as a sentence with the remedy; empty when it can."""
    if not account.enabled:
        return f"The account {account} has been disabled"
    if account.mode == SANDBOX:
        return ""
    if not account.sealed_credentials:
        return f"The account {account} is not connected; an administrator connects it in the admin"
    return base_url_refusal(account.base_url, resolve=False)


def base_url_refusal(url: str, *, resolve: bool = True) -> str:
    """Why a production may not send tokens to this address; empty where it may, and outside one.

    resolve: ask for the addresses behind the name as well.
    """
    if not url or settings.CHIMERA.environment != "production":
        return ""
    parts = urlsplit(url)
    if parts.scheme != "https" or not parts.hostname:
        return "The base URL must be an https address in production"
    if resolve and not _is_public(parts.hostname):
        return f"The base URL must be public in production; {parts.hostname} is not"
    return ""


def _is_public(host: str) -> bool:
    try:
        found = socket.getaddrinfo(host, 443, type=socket.SOCK_STREAM)
    except OSError:
        return False
    return all(is_public(str(info[4][0])) for info in found)


def account_connect(*, account: PlatformAccount, credentials: Credentials, actor: str) -> None:
    """Put credentials that a person has given in the place of the old ones, all of them.

    Neither the history nor the audit log sees more than that it happened.
    """
    anew = replace(credentials, connection=new_id().hex)
    with transaction.atomic():
        PlatformAccount.objects.filter(id=account.id).update(
            sealed_credentials=credentials_seal(anew), refresh_until=None
        )
        audit.record(
            actor=actor,
            action="account.connected",
            object_type="platform_account",
            object_id=account.id,
            data={
                "platform": account.platform,
                "handle": account.handle,
                "mode": account.mode,
                "renewable": bool(credentials.refresh_token),
            },
        )
    account.refresh_from_db(fields=["sealed_credentials", "refresh_until"])


def credentials_refresh(
    account: PlatformAccount, adapter: PlatformAdapter, intent: PublishIntent
) -> PublishIntent:
    """The intent with fresh credentials, which are committed before they are used.

    A refresh token may be good for one use, so one worker alone renews; whoever finds that another
    has done so takes what it finds. Raises PlatformFailure; credentials that a person has given
    meanwhile may be another account's, so they are for the next attempt, which looks.
    """
    used = bytes(account.sealed_credentials)
    account.refresh_from_db(fields=["sealed_credentials"])
    if bytes(account.sealed_credentials) != used:
        return _with_renewed(intent, account)
    mine = PlatformAccount.objects.filter(id=account.id, sealed_credentials=used)
    moment = now()
    free = Q(refresh_until__isnull=True) | Q(refresh_until__lt=moment)
    if not mine.filter(free).update(refresh_until=moment + timedelta(seconds=REFRESH_SEC)):
        raise PlatformFailure(
            "transient_before_mutation", "The access token is being renewed", retry_after=2
        )
    try:
        fresh = adapter.refresh(intent)
    except PlatformFailure:
        mine.update(refresh_until=None)
        raise
    sealed = credentials_seal(replace(fresh, connection=intent.credentials.connection))
    # A person may have connected the account anew meanwhile: then theirs stay.
    mine.update(sealed_credentials=sealed, refresh_until=None)
    account.refresh_from_db(fields=["sealed_credentials"])
    return _with_renewed(intent, account)


def _with_renewed(intent: PublishIntent, account: PlatformAccount) -> PublishIntent:
    found = credentials_open(account)
    if found.connection != intent.credentials.connection:
        raise PlatformFailure("transient_before_mutation", "The account has been connected anew")
    return replace(intent, credentials=found)


def account_check(account: PlatformAccount, field: str) -> None:
    """INVALID_INPUT naming the field, when nothing can be posted with the account."""
    refusal = account_refusal(account)
    if refusal:
        raise ChimeraError("INVALID_INPUT", refusal, errors={field: [refusal]})
