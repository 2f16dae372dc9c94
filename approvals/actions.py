"""From what an agent asks for to what a person sees: the frozen action, its sentence and its context."""

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

from django.conf import settings

from agents.models import Agent
from approvals.models import Decision, Lane, LowConfidenceAttempt
from chimera.core.errors import ChimeraError
from chimera.core.jsontext import plain
from content import services as content
from content.models import ContentRevision, PlatformAccount
from content.validation.rules import sensitive_topics

_PLATFORM_NAME = {
    "twitter": "X",
    "tiktok": "TikTok",
    "instagram": "Instagram",
    "youtube": "YouTube",
}
LOW, HIGH = Decimal("0.70"), Decimal("0.90")
FREE_ATTEMPTS = 3


def publish_sentence(action: dict[str, Any]) -> str:
    """What will happen, in one line."""
    when = _when(action["schedule_time"]) if action["schedule_time"] else "now"
    return f"Publish to {_PLATFORM_NAME[action['platform']]} as @{action['account']} {when}"


def _when(moment: str) -> str:
    """2026-12-24T18:00:00Z as "on 24 December 2026 at 18:00 UTC"."""
    at = datetime.fromisoformat(moment).astimezone(UTC)
    return f"on {at.day} {at:%B %Y} at {at:%H:%M} UTC"


def publish_request(
    *,
    caller: Agent,
    content_id: UUID,
    platform: str,
    account: str | None,
    schedule_time: datetime | None,
    fallback_platforms: list[str] | None,
) -> tuple[dict[str, Any], ContentRevision, PlatformAccount]:
    """The action for a stored content. NOT_FOUND, DUPLICATE_CONTENT, NOT_VALIDATED, INVALID_INPUT."""
    package = content.content_get(content_id)
    standing = content.publication_of(content_id, platform)
    if standing:
        raise content.duplicate_error(standing)
    revision = package.current
    verdict = revision.validations.order_by("-id").first()
    if verdict is None or not verdict.valid:
        raise ChimeraError(
            "NOT_VALIDATED",
            "validate_content must answer valid=true before an approval is asked for",
        )
    target = content.account_for(
        content=package,
        caller=caller,
        platform=platform,
        handle=account,
        mode=settings.CHIMERA.chimera_platform,
    )
    action = content.publish_action(
        revision=revision,
        platform=platform,
        account=target,
        schedule_time=schedule_time,
        fallback_platforms=fallback_platforms,
    )
    return action, revision, target


def publish_lane(revision: ContentRevision, action: dict[str, Any]) -> tuple[Lane, Decimal]:
    """Lane and confidence of a publish request; LOW_CONFIDENCE with the attempts left below 0.70."""
    verdict = revision.validations.order_by("-id").first()
    confidence = Decimal(str(verdict.confidence)) if verdict else Decimal(0)
    careful = bool(sensitive_topics(f"{action['text']}\n{revision.data['script']}"))
    if confidence < LOW:
        _refuse_low(revision, confidence)
        return Lane.CAREFUL, confidence
    if careful:
        return Lane.CAREFUL, confidence
    return (Lane.FAST if confidence > HIGH else Lane.STANDARD), confidence


def _refuse_low(revision: ContentRevision, confidence: Decimal) -> None:
    task_id = revision.content.task_id
    refused = LowConfidenceAttempt.objects.filter(task_id=task_id).count()
    if refused >= FREE_ATTEMPTS:
        return
    LowConfidenceAttempt.objects.create(
        task_id=task_id, content_id=revision.content_id, confidence=confidence
    )
    left = FREE_ATTEMPTS - refused - 1
    message = f"The confidence is {confidence:.2f}, below {LOW}; generate the content again ({left} attempts left)"
    raise ChimeraError(
        "LOW_CONFIDENCE", message, details={"confidence": float(confidence), "attempts_left": left}
    )


def publish_context(revision: ContentRevision, account: PlatformAccount) -> dict[str, Any]:
    """What the reviewer is shown beside the action of a post."""
    package = revision.content
    verdict = revision.validations.order_by("-id").first()
    persona = getattr(package.agent, "persona", None)
    trends = [trend.data for trend in package.trends.all()]
    context = {
        "content": revision.data,
        "issues": verdict.issues if verdict else [],
        "trend": trends[0] if trends else None,
        "trends": trends,
        "persona": persona.as_dict() if persona else None,
        "account": {"handle": account.handle, "platform": account.platform, "mode": account.mode},
        "author": {"name": package.agent.name, "type": package.agent.type},
        "sensitive": sorted(sensitive_topics(revision.data["script"])),
    }
    kept: dict[str, Any] = plain(context)
    return kept


def record_of(agent: Agent) -> dict[str, int]:
    """What persons said to an agent's last 200 decided requests, for the reviewer."""
    said = Decision.objects.filter(request__agent=agent).exclude(verdict=Decision.Verdict.REVOKE)
    verdicts = said.order_by("-signed_at").values_list("verdict", flat=True)[:200]
    return {"decided": len(verdicts), "approved": list(verdicts).count(Decision.Verdict.APPROVE)}
