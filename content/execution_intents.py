"""An ExecutionIntent of the planners: what it asks for, what it costs, and the post that it means.

The post is stored as a content package of its own, so that the one publisher sends it. The id of the
package follows from everything that is asked for: asked again it is the same package.
"""

from decimal import Decimal
from typing import Any, Literal
from uuid import UUID, uuid5

from django.conf import settings
from django.db import IntegrityError
from pydantic import Field

from agents.models import Agent
from agents.wire import WireModel, optional
from chimera.core.digest import digest
from chimera.core.errors import ChimeraError
from chimera.core.money import Money, amount_text
from content import services
from content.assets import resolved, task_uuid
from content.ingest import Ident
from content.models import ContentPackage, ContentRevision, PlatformAccount
from content.platforms.prices import post_price
from content.platforms.registry import SANDBOX
from content.schemas import Platform

KIND = "execute_publish_intent"
LIVE = "live"
CARRIED_OUT = ("post", "upload_video")
INSTEAD = {
    "reply": "no adapter can answer a post; send a post instead",
    "transfer_funds": "an intent names no payee; a cfo_judge pays with debit_wallet",
}
_NAMESPACE = UUID("6f1d3a52-8a0e-5a0c-9b57-3d1f0c2b7e11")


class Target(WireModel):
    """Where the effect happens."""

    platform: Platform = Field(description="The network")
    channelId: Ident = Field(description="Handle of the account there, with or without @")


class Payload(WireModel):
    """What is posted."""

    content: str = Field(max_length=5000, description="The text, or the reference of one medium")
    mediaRefs: list[Ident] = Field(
        default=[], max_length=10, description="mediaRefs of skill_generate_media_asset, in order"
    )


class Trace(WireModel):
    """Where the intent comes from and who has allowed it."""

    planId: Ident = Field(description="Plan")
    reviewId: Ident | None = optional("Approval request that a person has signed")


class ExecutionIntent(WireModel):
    """One effect that a planner has decided on."""

    intentId: Ident = Field(description="The caller's id of the intent, given back")
    taskId: Ident = Field(description="Task it belongs to")
    action: Literal["post", "reply", "upload_video", "transfer_funds"] = Field(
        description="post and upload_video are carried out; the others fail with UNSUPPORTED_ACTION"
    )
    target: Target = Field(description="Where")
    payload: Payload = Field(description="What")
    budgetUsd: Money = Field(ge=0, description="US dollars that it may cost")
    approvedBy: Literal["judge", "human"] = Field(
        description="human: trace.reviewId names the signed request; judge: in a sandbox only"
    )
    idempotencyKey: Ident = Field(description="The effect happens once per key")
    trace: Trace = Field(description="Plan and review")


def invalid(code: str, field: str, message: str) -> ChimeraError:
    """The error that names a field of the intent."""
    return ChimeraError(code, message, errors={f"intent.{field}": [message]})


def intent_mode() -> str:
    """The sandbox everywhere but in production, whatever the settings say of other posts."""
    return LIVE if settings.CHIMERA.environment == "production" else SANDBOX


def intent_revision(
    agent: Agent, intent: ExecutionIntent, *, approved_by: str
) -> tuple[ContentRevision, PlatformAccount]:
    """The stored post of the intent and its account.

    UNSUPPORTED_ACTION, BUDGET_EXCEEDED and INVALID_INPUT naming the field; DUPLICATE_CONTENT with
    the post that has been made for it.
    """
    if intent.action not in CARRIED_OUT:
        why = f"{intent.action} is not carried out here: {INSTEAD[intent.action]}"
        raise invalid("UNSUPPORTED_ACTION", "action", why)
    task_id = task_uuid(intent.taskId)
    text, made = resolved(intent.payload.content, intent.payload.mediaRefs, task_id)
    media = [item for asset in made for item in asset.files]
    if intent.action == "upload_video" and [item["type"] for item in media] != ["video"]:
        raise invalid("INVALID_INPUT", "payload.mediaRefs", "upload_video takes exactly one video")
    cost = _affordable(intent, text)
    facts = {
        "intent_id": intent.intentId,
        "task_id": intent.taskId,
        "action": intent.action,
        "budget_usd": amount_text(intent.budgetUsd),
        "cost_usd": amount_text(cost),
        "idempotency_key": intent.idempotencyKey,
        **_here(),
        "approved_by": approved_by,
    }
    package = _package(agent, intent, text, media, facts)
    trends = [trend for asset in made for trend in asset.trends]
    package["trend_refs"] = list(dict.fromkeys(ref for asset in made for ref in asset.trend_refs))
    content = _stored(agent, package, trends)
    if content.current.data.get("intent") != facts:
        why = "Another package has taken the id of this one; choose another idempotencyKey"
        raise invalid("INVALID_INPUT", "idempotencyKey", why)
    account = _account(content, agent, intent)
    standing = services.publication_of(content.id, account.platform)
    if standing:
        raise services.duplicate_error(standing)
    return content.current, account


def intent_action(revision: ContentRevision, account: PlatformAccount) -> dict[str, Any]:
    """The frozen action: the post that would be sent and what the intent says of it.

    INVALID_CONTENT for what the platform would refuse.
    """
    try:
        post = services.publish_action(
            revision=revision, platform=account.platform, account=account
        )
    except ChimeraError as problem:
        if problem.code != "INVALID_CONTENT":
            raise
        raise invalid("INVALID_CONTENT", "payload", problem.message) from None
    return as_intent(post, revision.data)


def as_intent(post: dict[str, Any], package: dict[str, Any]) -> dict[str, Any]:
    """The action of a post, as the intent's where the package was stored for one.

    Mode and environment are those of now: an approval of another deployment fits nothing here.
    """
    facts = package.get("intent")
    return {**post, **facts, **_here(), "type": KIND} if facts else post


def _here() -> dict[str, str]:
    return {"mode": intent_mode(), "environment": settings.CHIMERA.environment}


def _affordable(intent: ExecutionIntent, text: str) -> Decimal:
    cost = post_price(intent.target.platform, text)
    if cost > intent.budgetUsd:
        why = f"A post on {intent.target.platform} costs {cost} USD; the intent allows {intent.budgetUsd}"
        raise invalid("BUDGET_EXCEEDED", "budgetUsd", f"{why}. Nothing was sent.")
    return cost


def _package(
    agent: Agent,
    intent: ExecutionIntent,
    text: str,
    media: list[dict[str, Any]],
    facts: dict[str, str],
) -> dict[str, Any]:
    """What is stored: the parts that every package has, and the facts of the intent."""
    asked = {
        "agent": str(agent.id),
        "target": intent.target.model_dump(),
        "text": text,
        "media": media,
        "facts": facts,
    }
    return {
        "content_id": str(uuid5(_NAMESPACE, digest(asked))),
        "task_id": str(task_uuid(intent.taskId)),
        "script": text,
        "captions": text,
        "hashtags": [],
        "media_urls": [item["url"] for item in media],
        "media_metadata": media,
        "intent": facts,
    }


def _stored(agent: Agent, package: dict[str, Any], trends: list[dict[str, Any]]) -> ContentPackage:
    try:
        return services.content_store(
            agent=agent, package=package, trends=trends, actor=agent.actor
        )
    except IntegrityError:  # another process has stored the same at the same moment
        return services.content_get(package["content_id"])


def _account(content: ContentPackage, agent: Agent, intent: ExecutionIntent) -> PlatformAccount:
    try:
        return services.account_for(
            content=content,
            caller=agent,
            platform=intent.target.platform,
            handle=intent.target.channelId,
            mode=intent_mode(),
        )
    except ChimeraError as problem:
        why = f"{problem.message} ({intent_mode()} accounts count here)"
        raise invalid("INVALID_INPUT", "target.channelId", why) from None
