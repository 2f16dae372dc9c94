"""Writes on content packages: store, revise, record a verdict; and the action that a publish is."""

from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import Q

from agents.models import Agent
from chimera.core import audit
from chimera.core.clock import iso
from chimera.core.digest import digest, nfc
from chimera.core.errors import ChimeraError
from chimera.core.jsontext import plain
from content.connections import account_check
from content.media import media_load
from content.models import (
    ContentPackage,
    ContentRevision,
    PlatformAccount,
    Publication,
    Trend,
    Validation,
)
from content.platforms.base import Media
from content.platforms.registry import adapter_for
from content.render import post_text


def content_sha256(package: dict[str, Any], media_hashes: list[str]) -> str:
    """Hash of what a person approves: script, captions, hashtags, media bytes and variants."""
    return digest(
        {
            "script": nfc(package["script"]),
            "captions": nfc(package["captions"]),
            "hashtags": [nfc(tag) for tag in package["hashtags"]],
            "media": media_hashes,
            "platform_variants": package.get("platform_variants"),
        }
    )


def stated_hashes(package: dict[str, Any]) -> list[str]:
    """The media hashes that the package itself states, in the order of its URLs ('' where none)."""
    stated = {item["url"]: item.get("sha256") or "" for item in package.get("media_metadata") or []}
    return [stated.get(url, "") for url in package["media_urls"]]


def content_store(
    *, agent: Agent, package: dict[str, Any], trends: list[dict[str, Any]], actor: str
) -> ContentPackage:
    """Keep a new package as a draft, with the trends it was made from; a second time finds the first."""
    package = plain(package)
    existing = ContentPackage.objects.filter(id=package["content_id"]).first()
    if existing:
        return existing
    with transaction.atomic():
        content = ContentPackage.objects.create(
            id=package["content_id"],
            task_id=package["task_id"],
            agent=agent,
            trend_ref=package.get("trend_ref"),
        )
        content.trends.set([_trend_keep(trend) for trend in trends])
        _revision_add(content, 1, package, actor)
        audit.record(
            actor=actor,
            action="content.stored",
            object_type="content",
            object_id=content.id,
            data={"revision": 1, "sha256": content_sha256(package, stated_hashes(package))},
        )
    return content


def _trend_keep(trend: dict[str, Any]) -> Trend:
    data = plain(trend)
    kept, _ = Trend.objects.get_or_create(
        id=data["trend_id"],
        defaults={"topic": data["topic"], "platform": data["platform"], "data": data},
    )
    return kept


def _revision_add(
    content: ContentPackage, number: int, package: dict[str, Any], actor: str
) -> ContentRevision:
    return ContentRevision.objects.create(
        content=content,
        number=number,
        data=package,
        sha256=content_sha256(package, stated_hashes(package)),
        created_by=actor,
    )


def content_revise(*, content_id: UUID, package: dict[str, Any], actor: str) -> ContentRevision:
    """A new revision; whatever was approved of an older one no longer fits."""
    with transaction.atomic():
        content = ContentPackage.objects.select_for_update().get(id=content_id)
        content.revision += 1
        content.save(update_fields=["revision"])
        revision = _revision_add(content, content.revision, plain(package), actor)
        audit.record(
            actor=actor,
            action="content.revised",
            object_type="content",
            object_id=content.id,
            data={"revision": revision.number, "sha256": revision.sha256},
        )
    return revision


def content_get(content_id: UUID | str) -> ContentPackage:
    """The package, or NOT_FOUND naming content_id."""
    found = ContentPackage.objects.select_related("agent").filter(id=content_id).first()
    if found is None:
        message = f"No content {content_id}; generate_content or POST /api/v1/content/ makes one"
        raise ChimeraError("NOT_FOUND", message, errors={"content_id": [message]})
    return found


def revision_matching(package: dict[str, Any]) -> ContentRevision | None:
    """The stored revision that holds exactly this package's publishable part, the newest first."""
    wanted = content_sha256(package, stated_hashes(package))
    return (
        ContentRevision.objects.filter(content_id=package["content_id"], sha256=wanted)
        .select_related("content")
        .order_by("-number")
        .first()
    )


def validation_record(
    *,
    revision: ContentRevision | None,
    valid: bool,
    confidence: Any,
    issues: list[dict[str, Any]],
    ruleset: str,
    persona_version: int,
    key: str = "",
) -> Validation:
    """Keep the verdict on a revision. key: what it depends on, where it may be served again."""
    return Validation.objects.create(
        revision=revision,
        valid=valid,
        confidence=confidence,
        issues=plain(issues),
        ruleset=ruleset,
        persona_version=persona_version,
        key=key,
    )


def account_for(
    *, content: ContentPackage, caller: Agent, platform: str, handle: str | None, mode: str
) -> PlatformAccount:
    """The account a post goes to: the one named, else the one of the content's agent.

    Only accounts of the author, of the caller, or of no agent in particular.
    """
    accounts = PlatformAccount.objects.filter(platform=platform, mode=mode, enabled=True)
    usable = accounts.filter(Q(agent__in=[content.agent_id, caller.id]) | Q(agent__isnull=True))
    chosen = (
        usable.filter(handle=handle.lstrip("@")) if handle else accounts.filter(agent=content.agent)
    )
    found = chosen.order_by("created_at").first()
    if found is None:
        wanted = f"@{handle.lstrip('@')}" if handle else "of its author"
        message = (
            f"No account {wanted} on {platform} that this agent may use; connect one in the admin"
        )
        raise ChimeraError("INVALID_INPUT", message, errors={"account": [message]})
    account_check(found, "account")
    return found


def publication_of(content_id: UUID, platform: str) -> Publication | None:
    """The publication that stands for this content on this platform, if there is one."""
    return (
        Publication.objects.filter(content_id=content_id, platform=platform)
        .exclude(state="publish_failed")
        .first()
    )


def duplicate_error(publication: Publication) -> ChimeraError:
    """DUPLICATE_CONTENT with the post that exists."""
    state = publication.state.replace("_", " ")
    return ChimeraError(
        "DUPLICATE_CONTENT",
        f"On {publication.platform} this content is already {state}",
        details={
            "post_id": publication.post_id or None,
            "post_url": publication.post_url or None,
            "state": publication.state,
        },
    )


def publish_action(
    *,
    revision: ContentRevision,
    platform: str,
    account: PlatformAccount,
    schedule_time: datetime | None = None,
    fallback_platforms: list[str] | None = None,
) -> dict[str, Any]:
    """The frozen action of a publish: exactly what will be sent, media hashed from their bytes now.

    A fallback platform gets the same text and media, through the account of the same handle there.
    INVALID_CONTENT for what a platform would refuse, INVALID_INPUT for a fallback without an account,
    so that nobody signs what cannot be posted.
    """
    package = revision.data
    files = media_load(package)
    text = post_text(package, platform)
    fallbacks = fallback_platforms or []
    _check_post(account, text, tuple(files))
    for name in fallbacks:
        _check_post(_fallback_account(account, name), text, tuple(files))
    hashes = [item.sha256 for item in files]
    return {
        "type": "publish_content",
        "content_id": str(revision.content_id),
        "content_sha256": content_sha256(package, hashes),
        "revision": revision.number,
        "platform": platform,
        "account": account.handle,
        "text": text,
        "media": hashes,
        "schedule_time": iso(schedule_time),
        "fallback_platforms": fallbacks,
    }


def _check_post(account: PlatformAccount, text: str, files: tuple[Media, ...]) -> None:
    """INVALID_CONTENT with everything the account's platform would refuse."""
    found = adapter_for(account.platform, account.mode).check(text, files)
    if found:
        message = f"{account.get_platform_display()} would refuse this post: {'; '.join(found)}"
        raise ChimeraError("INVALID_CONTENT", message, errors={"content_id": found})


def _fallback_account(account: PlatformAccount, platform: str) -> PlatformAccount:
    """The account on another platform that a fallback uses: the same handle, owner and mode."""
    found = PlatformAccount.objects.filter(
        platform=platform,
        handle=account.handle,
        mode=account.mode,
        agent=account.agent,
        enabled=True,
    ).first()
    if found is None or platform == account.platform:
        message = (
            f"{platform} has no account @{account.handle}; connect one or leave {platform} out"
        )
        raise ChimeraError("INVALID_INPUT", message, errors={"fallback_platforms": [message]})
    account_check(found, "fallback_platforms")
    return found
