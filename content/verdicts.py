"""How a step of a publication ends: published, failed for good, unknown, or to be tried again."""

from datetime import timedelta
from typing import Any, NoReturn

from django.db import IntegrityError, transaction

from chimera.core import audit
from chimera.core.clock import now
from chimera.core.errors import ChimeraError
from content.models import Publication
from content.platforms.base import PlatformFailure, Processing, RemotePost

State = Publication.State
LONGEST_WORK = timedelta(hours=6)
"""A platform that has been at work for longer will hardly come to an end by itself."""
_WEB = ("https://", "http://")
_ERROR_OF = {
    "auth_refresh": "PLATFORM_ERROR",
    "auth_dead": "PLATFORM_ERROR",
    "rate_limited": "RATE_LIMITED",
    "quota_exhausted": "RATE_LIMITED",
    "transient_before_mutation": "PUBLISH_FAILED",
    "duplicate_rejected": "OUTCOME_UNKNOWN",
    "content_rejected": "SAFETY_VIOLATION",
    "permanent": "PLATFORM_ERROR",
}


def published(publication: Publication, post: RemotePost) -> Publication:
    """Keep the post that is known to exist. DUPLICATE_CONTENT when another publication has got its
    place, because a person had seen no post: then it is kept as found late."""
    found = {
        "post_id": post.post_id[:200],
        "post_url": post.post_url[:500] if post.post_url.startswith(_WEB) else "",
        "published_at": post.published_at,
    }
    try:
        with transaction.atomic():
            _keep(publication, "publication.published", state=State.PUBLISHED, error="", **found)
    except IntegrityError:
        with transaction.atomic():
            _keep(publication, "publication.found_late", **found)
        raise ChimeraError(
            "DUPLICATE_CONTENT",
            f"The post {post.post_id} is live, but its place was given to another publication",
            details=_details(publication) | {"post_id": post.post_id, "post_url": post.post_url},
            final=True,
        ) from None
    publication.refresh_from_db()
    return publication


def _keep(publication: Publication, action: str, **changes: Any) -> None:
    """The changes and their audit entry, unless it was published before."""
    standing = Publication.objects.filter(id=publication.id).exclude(state=State.PUBLISHED)
    if not standing.update(**changes):
        return
    audit.record(
        actor=f"agent:{publication.agent_id}",
        action=action,
        object_type="publication",
        object_id=publication.id,
        data={
            "content_id": str(publication.content_id),
            "platform": publication.platform,
            "post_id": changes["post_id"],
            "reviewer_id": publication.reviewer_id,
        },
    )


def unknown(
    publication: Publication, why: str, *, person: bool = False, wait: float | None = None
) -> ChimeraError:
    """Nobody can say yet whether the post was made. person: asking again will hardly tell; wait:
    seconds before it is asked again."""
    _note(publication, why, state=State.OUTCOME_UNKNOWN)
    then = (
        "The platform cannot tell for certain; a person has to look and decide."
        if person
        else "The platform is asked again; nothing is sent twice."
    )
    details = _details(publication)
    return ChimeraError("OUTCOME_UNKNOWN", f"{why}. {then}", details=details, backoff_sec=wait)


def processing(publication: Publication, step: Processing) -> ChimeraError:
    """The platform has taken the post, or a file of it, and is at work: no doubt, only a wait, unless
    it has lasted for too long."""
    begun = max(filter(None, (publication.created_at, publication.scheduled_for)))
    if now() - (publication.begun_at or begun) > LONGEST_WORK:
        why = f"The platform has been at work for hours: {step.message}"
        if publication.armed_at is None:
            failed(publication, "PUBLISH_FAILED", why)
        return unknown(publication, why, person=True, wait=step.retry_after)
    _note(publication, step.message, state=State.PUBLISHING)
    return ChimeraError(
        "OUTCOME_UNKNOWN",
        f"The platform is processing the post: {step.message}",
        details=_details(publication) | {"processing": True},
        backoff_sec=step.retry_after,
    )


def refused(publication: Publication, problem: PlatformFailure) -> NoReturn:
    """The platform said no: nothing was posted, except that a duplicate hints at an earlier post."""
    code = _ERROR_OF.get(problem.kind, "PLATFORM_ERROR")
    if code == "OUTCOME_UNKNOWN":
        raise unknown(publication, "The platform calls the post a duplicate")
    if code in ("RATE_LIMITED", "PUBLISH_FAILED"):
        _note(publication, str(problem), armed_at=None)
        raise ChimeraError(code, str(problem), backoff_sec=problem.retry_after)
    failed(publication, code, str(problem))


def failed(publication: Publication, code: str, why: str) -> NoReturn:
    """The end: certain that nothing was posted. A worker left behind ends nothing."""
    if not close(publication, code, why, attempts=publication.attempts):
        publication.refresh_from_db(fields=["state"])
        if publication.state != State.PUBLISH_FAILED:
            raise unknown(publication, "Another worker has gone on with this post")
    raise ChimeraError(code, why, details=_details(publication), final=True)


def close(publication: Publication, code: str, why: str, **still: Any) -> bool:
    """Mark it failed, as long as `still` holds, and give its place free; whether it was done."""
    with transaction.atomic():
        open_ones = Publication.objects.filter(id=publication.id, **still)
        closed = open_ones.exclude(state__in=[State.PUBLISHED, State.PUBLISH_FAILED]).update(
            state=State.PUBLISH_FAILED, error=why[:500], failure_code=code
        )
        if not closed:
            return False
        audit.record(
            actor=f"agent:{publication.agent_id}",
            action="publication.failed",
            object_type="publication",
            object_id=publication.id,
            data={"code": code, "why": why[:500], "platform": publication.platform},
        )
        return True


def _note(publication: Publication, why: str, **changes: Any) -> None:
    """What is known so far; a worker left behind does not overwrite the one that went on."""
    Publication.objects.filter(id=publication.id, attempts=publication.attempts).exclude(
        state__in=[State.PUBLISHED, State.PUBLISH_FAILED]
    ).update(error=why[:500], **changes)


def _details(publication: Publication) -> dict[str, Any]:
    return {"publication_id": str(publication.id), "platform": publication.platform}
