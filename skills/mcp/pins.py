"""A tool is what it was when it was accepted: name, description, arguments and annotations by digest.

The first description that a server gives is accepted as it comes. Another one later is refused until
an administrator has accepted it: a server must not turn a tool into a different one unseen.
"""

from typing import Any
from uuid import UUID

from django.db import transaction

from chimera.core import audit
from chimera.core.clock import now
from chimera.core.digest import digest
from chimera.core.errors import ChimeraError
from skills.mcp.models import ToolPin

_OBJECT = "mcp_tool"


def tool_check(*, server: str, listing: dict[str, Any]) -> None:
    """Accept a tool that was never seen; SECURITY_VIOLATION for one that is not as it was accepted."""
    name, found = listing["name"], digest(listing)
    pin, new = _pinned(server, name, listing, found)
    if new or pin.digest == found:
        return
    with transaction.atomic():
        changed = (
            ToolPin.objects.filter(id=pin.id, digest=pin.digest)
            .exclude(offered_digest=found)
            .update(offered_digest=found, offered=listing)
        )
        if changed:
            _audit(pin, "mcp_tool.changed", f"mcp:{server}", {"accepted": pin.digest, "now": found})
    raise ChimeraError(
        "SECURITY_VIOLATION",
        f"The tool {name} of {server} is not the one that was accepted; "
        "an administrator must accept the change first",
        details={"server": server, "tool": name, "accepted": pin.digest, "offered": found},
    )


def _pinned(server: str, name: str, listing: dict[str, Any], found: str) -> tuple[ToolPin, bool]:
    kept = ToolPin.objects.filter(server=server, tool=name).first()
    if kept:
        return kept, False
    with transaction.atomic():
        by = "system:first_use"
        new = {"digest": found, "listing": listing, "accepted_by": by}
        pin, made = ToolPin.objects.get_or_create(server=server, tool=name, defaults=new)
        if made:
            _audit(pin, "mcp_tool.first_seen", by, {"accepted": found})
    return pin, made


def tool_accept(*, pin_id: UUID, offered_digest: str, actor: str) -> None:
    """Accept the changed description of exactly this digest. CONCURRENCY_ERROR if it is another now."""
    with transaction.atomic():
        pin = ToolPin.objects.get(id=pin_id)
        changed = ToolPin.objects.filter(id=pin_id, offered_digest=offered_digest).update(
            digest=offered_digest,
            listing=pin.offered,
            offered_digest="",
            offered=None,
            accepted_by=actor,
            accepted_at=now(),
        )
        if not offered_digest or not changed or digest(pin.offered) != offered_digest:
            raise ChimeraError("CONCURRENCY_ERROR", f"{pin}: the change is no longer this one")
        _audit(pin, "mcp_tool.accepted", actor, {"before": pin.digest, "accepted": offered_digest})


def _audit(pin: ToolPin, action: str, actor: str, data: dict[str, Any]) -> None:
    audit.record(actor=actor, action=action, object_type=_OBJECT, object_id=str(pin), data=data)
