"""Candidate assets: a text, an image or a video that an agent made for a task, kept with its trends.

An asset is a content package that nobody can publish as it is: it has no verdict of the rules. Its
reference is `txt-`, `img-` or `vid-` and the id of the package.
"""

import re
from dataclasses import dataclass
from typing import Any
from uuid import UUID, uuid5

from agents.models import Agent
from chimera.core.errors import ChimeraError
from content import services
from content.models import ContentPackage, Trend

MOST_OF_A_TASK = 50
PREFIX = {"text": "txt", "image": "img", "video": "vid"}
_TASKS = UUID("0d7f5c1e-6b1a-5a53-8f5e-2b9c4f1d7a60")
_REFERENCE = re.compile(
    rf"(?:{'|'.join(PREFIX.values())})-([0-9a-f]{{8}}(?:-[0-9a-f]{{4}}){{3}}-[0-9a-f]{{12}})"
)


@dataclass(frozen=True)
class Asset:
    """A stored asset. files: `[{url, type, sha256 ...}]`; trends: TrendData of those that are stored."""

    text: str
    files: list[dict[str, Any]]
    trend_refs: list[str]
    trends: list[dict[str, Any]]


def reference(kind: str, asset_id: UUID | str) -> str:
    """How an asset is named in mediaRefs. kind: text, image or video."""
    return f"{PREFIX[kind]}-{asset_id}"


def task_uuid(task_id: str) -> UUID:
    """The id under which packages of a caller's task are kept: its own, where it is a UUID."""
    return _as_uuid(task_id) or uuid5(_TASKS, task_id)


def asset_store(
    *,
    agent: Agent,
    asset_id: UUID,
    task_id: UUID,
    text: str,
    files: list[dict[str, Any]],
    trend_refs: list[str],
    confidence: float,
    facts: dict[str, Any],
) -> ContentPackage:
    """Keep an asset with the trends it was made from; a second time finds the first.

    facts: the caller's ids and who made it, shown with it.
    """
    package = {
        "content_id": str(asset_id),
        "task_id": str(task_id),
        "script": text,
        "captions": text,
        "hashtags": [],
        "media_urls": [item["url"] for item in files],
        "media_metadata": files,
        "confidence_score": confidence,
        "requires_review": True,
        "trend_refs": trend_refs,
        "asset": facts,
    }
    return services.content_store(
        agent=agent, package=package, trends=stored_trends(trend_refs), actor=agent.actor
    )


def stored_trends(refs: list[str]) -> list[dict[str, Any]]:
    """TrendData of those references that the platform has kept."""
    ids = [found for found in map(_as_uuid, refs) if found]
    return [trend.data for trend in Trend.objects.filter(id__in=ids).order_by("id")]


def resolved(content: str, refs: list[str], task_id: UUID) -> tuple[str, list[Asset]]:
    """(text, assets) of a payload: its content may be the reference of an asset instead of a text.

    A text that was made for the same task brings its trends along. INVALID_INPUT names the
    reference that is not there or has no file.
    """
    own, text = content.strip(), content
    assets = {ref: _asset(ref, "payload.mediaRefs") for ref in refs if ref != own}
    empty = [ref for ref, asset in assets.items() if not asset.files]
    if empty:
        raise _unknown("payload.mediaRefs", f"{empty[0]} has no image and no video")
    if _REFERENCE.fullmatch(own):
        named = _asset(own, "payload.content")
        text = "" if named.files else named.text
        return text, [named, *assets.values()]
    written = ContentPackage.objects.filter(task_id=task_id).order_by("id")[:MOST_OF_A_TASK]
    texts = [
        asset
        for asset in map(_as_asset, written)
        if asset and not asset.files and asset.text == text
    ]
    return text, [*texts[:1], *assets.values()]


def _asset(ref: str, field: str) -> Asset:
    found = _REFERENCE.fullmatch(ref)
    package = (
        ContentPackage.objects.filter(id=found.group(1)).first() if found is not None else None
    )
    asset = _as_asset(package) if package else None
    if asset is None:
        raise _unknown(field, f"{ref} is no asset; skill_generate_media_asset gives references")
    return asset


def _as_asset(package: ContentPackage) -> Asset | None:
    data = package.current.data
    if "asset" not in data:
        return None
    return Asset(
        text=data["captions"],
        files=data["media_metadata"],
        trend_refs=data["trend_refs"],
        trends=[trend.data for trend in package.trends.order_by("id")],
    )


def _unknown(field: str, message: str) -> ChimeraError:
    return ChimeraError("INVALID_INPUT", message, errors={f"intent.{field}": [message]})


def _as_uuid(text: str) -> UUID | None:
    try:
        return UUID(text)
    except ValueError:
        return None
