"""How a publication begins: its intent is stored, in the transaction of the grant or after a failure."""

from datetime import datetime

from django.conf import settings
from django.db import IntegrityError, connection, transaction

from chimera.core import audit
from chimera.core.errors import ChimeraError
from chimera.core.grants import Grant
from content.media import media_types
from content.models import ContentPackage, PlatformAccount, Publication
from content.services import duplicate_error, publication_of

State = Publication.State


def publication_begin(*, grant: Grant, schedule_time: datetime | None) -> Publication:
    """Record the intent, in the transaction that consumed the approval. Once per approval."""
    if not connection.in_atomic_block:
        raise RuntimeError("a publication begins in the transaction that redeems its approval")
    existing = Publication.objects.filter(approval_id=grant.approval_id).order_by("id").first()
    if existing:
        return existing
    publication = _insert(grant, schedule_time)
    _audit_start(publication)
    return publication


def _insert(grant: Grant, schedule_time: datetime | None) -> Publication:
    action = grant.action
    content = ContentPackage.objects.get(id=action["content_id"])
    package = content.revisions.get(number=action["revision"]).data
    files = zip(package["media_urls"], action["media"], media_types(package), strict=True)
    try:
        with transaction.atomic():
            return Publication.objects.create(
                content=content,
                revision=action["revision"],
                platform=action["platform"],
                account=_account(action["platform"], action["account"], action.get("mode")),
                text=action["text"],
                media=[{"url": url, "sha256": sha, "type": kind} for url, sha, kind in files],
                action_digest=grant.action_digest,
                approval_id=grant.approval_id,
                execution_id=grant.execution_id,
                agent_id=grant.agent_id,
                reviewer_id=grant.reviewer_id,
                scheduled_for=schedule_time,
                state=State.SCHEDULED if schedule_time else State.PUBLISHING,
                fallbacks=list(action.get("fallback_platforms") or []),
            )
    except IntegrityError:
        standing = publication_of(content.id, action["platform"])
        raise duplicate_error(standing) if standing else ChimeraError("DUPLICATE_CONTENT") from None


def _account(platform: str, handle: str, mode: str | None) -> PlatformAccount:
    """mode: what the action says of it; an action that does not goes where the settings say."""
    mode = mode or settings.CHIMERA.chimera_platform
    return PlatformAccount.objects.get(platform=platform, handle=handle, mode=mode)


def _audit_start(publication: Publication) -> None:
    audit.record(
        actor=f"agent:{publication.agent_id}",
        action="publication.started",
        object_type="publication",
        object_id=publication.id,
        data={
            "content_id": str(publication.content_id),
            "platform": publication.platform,
            "approval_id": str(publication.approval_id),
            "action_digest": publication.action_digest,
            "reviewer_id": publication.reviewer_id,
        },
    )


def fallback_begin(first: Publication, platform: str, left: list[str]) -> Publication | None:
    """Record the intent of the same post on another platform. left: the fallbacks after this one.

    None where the content stands there already or the account is gone.
    """
    copied = {
        name: getattr(first, name)
        for name in (
            *("content_id", "revision", "text", "media", "action_digest", "approval_id"),
            *("execution_id", "agent_id", "reviewer_id", "scheduled_for"),
        )
    }
    try:
        with transaction.atomic():
            account = _account(platform, first.account.handle, None)
            made = Publication.objects.create(
                **copied, platform=platform, account=account, fallbacks=left
            )
            _audit_start(made)
            return made
    except (IntegrityError, PlatformAccount.DoesNotExist):
        return None
