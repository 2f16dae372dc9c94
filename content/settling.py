"""A person settles a post whose outcome no machine can learn: it is live, or it was not posted.

One conditional update from `outcome_unknown` decides; whoever comes second, a person or a worker that
has found the post, changes nothing. The execution that waits ends at its next look-up.
"""

from datetime import timedelta
from enum import StrEnum
from typing import Any
from urllib.parse import parse_qs, urlsplit
from uuid import UUID

from django.conf import settings
from django.db import transaction

from chimera.core import audit
from chimera.core.clock import now
from chimera.core.errors import ChimeraError
from content.models import PlatformAccount, Publication

State = Publication.State
HANDS_OFF = timedelta(minutes=2)
"""A post may still arrive for so long after it was sent: until then its absence says nothing."""
_DUPLICATE = "duplicate"
_SITES = {
    "twitter": ("x.com", "twitter.com"),
    "instagram": ("instagram.com",),
    "tiktok": ("tiktok.com",),
    "youtube": ("youtube.com", "youtu.be"),
}
_PROFILES = {
    "twitter": "https://x.com/{}",
    "instagram": "https://www.instagram.com/{}/",
    "tiktok": "https://www.tiktok.com/@{}",
    "youtube": "https://www.youtube.com/@{}",
}


class Verdict(StrEnum):
    """What a person has found out."""

    LIVE = "live"
    NOT_POSTED = "not_posted"
    SEND_AGAIN = "send_again"


def account_page(account: PlatformAccount) -> str:
    """Where a person sees what the account has posted."""
    if account.mode == PlatformAccount.Mode.SANDBOX:
        return str(account.base_url or settings.CHIMERA.chimera_world_url)
    return _PROFILES[account.platform].format(account.handle)


def publication_settle(
    *,
    publication_id: UUID,
    verdict: Verdict,
    actor: str,
    note: str,
    post_url: str = "",
    post_id: str = "",
) -> Publication:
    """Keep what a person found: LIVE with its address (and id, else read from the address),
    NOT_POSTED for good, or SEND_AGAIN after making sure that it was not posted.

    INVALID_INPUT names what is missing; CONCURRENCY_ERROR when the outcome is no longer unknown;
    INVALID_STATE_TRANSITION where it was sent too lately to say that it is not there.
    """
    note = _required("note", note, "Say how you found out")
    publication = Publication.objects.select_related("account").get(id=publication_id)
    if verdict != Verdict.LIVE:
        _require_calm(publication)
    changes = _changes(publication, verdict, note, post_url, post_id)
    post = {name: changes.get(name, "") for name in ("post_id", "post_url")}
    with transaction.atomic():
        _require_own(publication, str(post["post_id"]))
        settled = Publication.objects.filter(
            id=publication_id, state=State.OUTCOME_UNKNOWN, attempts=publication.attempts
        ).update(**changes)
        if not settled:
            message = "The outcome is known by now; nothing was changed"
            raise ChimeraError("CONCURRENCY_ERROR", message)
        audit.record(
            actor=actor,
            action="publication.settled",
            object_type="publication",
            object_id=publication_id,
            data={"verdict": verdict.value, "note": note, "platform": publication.platform, **post},
        )
    publication.refresh_from_db()
    return publication


def _require_calm(publication: Publication) -> None:
    sent = publication.armed_at
    if sent and publication.state == State.OUTCOME_UNKNOWN and now() - sent < HANDS_OFF:
        message = "The post was sent a moment ago and may still appear; look again in two minutes"
        raise ChimeraError("INVALID_STATE_TRANSITION", f"{message}. Nothing was changed.")


def _changes(
    publication: Publication, verdict: Verdict, note: str, post_url: str, post_id: str
) -> dict[str, Any]:
    """What the verdict makes of the row."""
    if verdict == Verdict.LIVE:
        address = _post_address(publication.account, post_url)
        return {
            "state": State.PUBLISHED,
            "post_url": address,
            "post_id": _post_number(address, post_id),
            "published_at": publication.armed_at or now(),
            "error": "",
        }
    if verdict == Verdict.NOT_POSTED:
        why = f"A person found that it was not posted: {note}"[:500]
        return {"state": State.PUBLISH_FAILED, "failure_code": "PUBLISH_FAILED", "error": why}
    left = {name: value for name, value in publication.handles.items() if name != _DUPLICATE}
    return {"state": State.PUBLISHING, "armed_at": None, "handles": left, "error": note[:500]}


def _required(field: str, value: str, message: str) -> str:
    value = value.strip()
    if not value:
        raise ChimeraError(
            "INVALID_INPUT", f"{message}; nothing was changed", errors={field: [message]}
        )
    return value


def _post_address(account: PlatformAccount, post_url: str) -> str:
    """The address, if it is one of this account's network."""
    address = _required("post_url", post_url, "Give the address of the post")
    try:
        parts = urlsplit(address)
        host = (parts.hostname or "").removeprefix("www.").removeprefix("m.")
    except ValueError:
        parts, host = urlsplit(""), ""
    live = account.mode == PlatformAccount.Mode.LIVE
    known = not live or any(
        host == site or host.endswith(f".{site}") for site in _SITES[account.platform]
    )
    secure = parts.scheme == "https" or (not live and parts.scheme == "http")
    if not (host and secure and known) or len(address) > 500:
        message = f"Give the full address of the post on {account.get_platform_display()}"
        raise ChimeraError("INVALID_INPUT", message, errors={"post_url": [message]})
    return address


def _post_number(address: str, given: str) -> str:
    """The id that was given, else the last part of the address."""
    parts = urlsplit(address)
    watched = parse_qs(parts.query).get("v", [""])[0]
    last = [part for part in parts.path.split("/") if part][-1:]
    number = given.strip() or watched or "".join(last)
    return _required("post_id", number, "Give the id of the post")[:200]


def _require_own(publication: Publication, post_id: str) -> None:
    """One post stands for one publication of its account; two persons at once ask one by one."""
    if not post_id:
        return
    PlatformAccount.objects.select_for_update().get(id=publication.account_id)
    others = Publication.objects.filter(account_id=publication.account_id, post_id=post_id)
    if others.exclude(id=publication.id).exists():
        message = "That post belongs to another publication of this account"
        raise ChimeraError("INVALID_INPUT", message, errors={"post_id": [message]})
