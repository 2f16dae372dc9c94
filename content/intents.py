"""From a stored publication to the intent that an adapter gets: account, texts, media, handles."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.db import transaction

from chimera.core.errors import ChimeraError
from content.connections import credentials_open
from content.handles import handle_seal, handles_open
from content.media import media_load
from content.models import ContentRevision, PlatformAccount, Publication
from content.platforms.base import Keep, Media, PlatformAdapter, PublishIntent
from content.platforms.registry import SANDBOX


class Overtaken(Exception):
    """Another worker has gone on with the publication in the meantime."""


def base_url_of(account: PlatformAccount, adapter: PlatformAdapter) -> str:
    """Where the account's network is reached."""
    if account.mode == SANDBOX:
        return account.base_url or str(settings.CHIMERA.chimera_world_url)
    return account.base_url or adapter.base_url


def intent_of(publication: Publication, adapter: PlatformAdapter) -> PublishIntent:
    """The intent as far as it is stored; the media have no bytes yet."""
    revision = publication.content.revisions.get(number=publication.revision)
    return PublishIntent(
        intent_id=publication.id,
        platform=publication.platform,
        account=publication.account.handle,
        text=publication.text,
        media=tuple(
            Media(item["url"], item["sha256"], item.get("type", "image"))
            for item in publication.media
        ),
        base_url=base_url_of(publication.account, adapter),
        credentials=credentials_open(publication.account),
        variant=variant_of(revision.data, publication.platform),
        made_by_ai=made_by_ai(revision),
        handles=handles_open(publication.handles),
        begun_at=publication.begun_at,
        taken=_taken(publication),
    )


def _taken(publication: Publication) -> frozenset[str]:
    """Posts that already stand for other publications of the account, however alike their texts are."""
    if publication.begun_at is None:
        return frozenset()
    since = publication.begun_at - timedelta(hours=1)
    others = Publication.objects.filter(account_id=publication.account_id, published_at__gte=since)
    known = others.exclude(id=publication.id).exclude(post_id="")
    return frozenset(known.values_list("post_id", flat=True))


def variant_of(package: dict[str, Any], platform: str) -> dict[str, str]:
    """The texts that a package has for this platform alone."""
    variant = (package.get("platform_variants") or {}).get(platform) or {}
    return {name: value for name, value in variant.items() if isinstance(value, str)}


def made_by_ai(revision: ContentRevision) -> bool:
    """True unless a person alone has made it: then no agent stored it and no generator is named."""
    files = revision.data.get("media_metadata") or []
    return bool(
        revision.created_by.startswith("agent:")
        or revision.data.get("generation_metadata")
        or any(item.get("generated_by") for item in files)
    )


def with_media(intent: PublishIntent, publication: Publication) -> PublishIntent | None:
    """The intent with the bytes of its media; None when they are not the approved ones.

    NETWORK_ERROR or TIMEOUT when they cannot be fetched.
    """
    package = publication.content.revisions.get(number=publication.revision).data
    try:
        found = media_load(package)
    except ChimeraError as problem:
        if problem.code != "INVALID_CONTENT":
            raise
        return None
    if [item.sha256 for item in found] != [item["sha256"] for item in publication.media]:
        return None
    return replace(intent, media=tuple(found))


def lock(publication: Publication) -> Publication:
    """The row, locked until the transaction ends. Raises Overtaken when another worker has armed it or
    kept a handle since, so that one left behind neither mixes its uploads in nor sends."""
    row = Publication.objects.select_for_update().get(id=publication.id)
    if (row.attempts, row.handles) != (publication.attempts, publication.handles):
        raise Overtaken
    return row


def keeper(publication: Publication, adapter: PlatformAdapter) -> Keep:
    """Commits one remote handle at a time, secret ones sealed, as long as the row is this worker's;
    see `lock`."""

    def keep(name: str, value: str) -> None:
        with transaction.atomic():
            row = lock(publication)
            kept = handle_seal(value) if name in adapter.secret_handles else value
            row.handles = row.handles | {name: kept}
            row.save(update_fields=["handles"])
        publication.handles = row.handles

    return keep
