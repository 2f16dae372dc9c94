"""Who has said yes to an ExecutionIntent: the person's request it names, or the sandbox's judge."""

from typing import Any, cast
from uuid import UUID

from agents.models import Agent
from agents.roles import Role
from agents.schemas import Persona
from approvals.actions import publish_context, publish_sentence
from approvals.judging import judge_approve, judge_may_approve
from approvals.models import ApprovalRequest, Kind, Lane, Status
from approvals.services import request_open
from chimera.core.digest import digest
from chimera.core.errors import ChimeraError
from chimera.core.jsontext import plain
from content import schemas
from content.execution_intents import (
    ExecutionIntent,
    intent_action,
    intent_mode,
    intent_revision,
    invalid,
)
from content.models import ContentRevision, PlatformAccount
from content.validation import running
from content.validation.rules import Case, rules_of, sensitive_topics

HUMAN = "human"
ASK = "ask for one with POST /api/v1/approvals/ and the action execute_publish_intent"
_ENDED = {
    Status.REJECTED: "FORBIDDEN",
    Status.CHANGES_REQUESTED: "FORBIDDEN",
    Status.EXPIRED: "TOKEN_EXPIRED",
    Status.REVOKED: "INVALID_TOKEN",
    Status.CONSUMED: "INVALID_TOKEN",
}


def open_intent(agent: Agent, intent: ExecutionIntent) -> tuple[ApprovalRequest, bool]:
    """Ask a person for the intent, whoever it says has approved it; (request, whether it is new)."""
    if agent.type not in (Role.DISTRIBUTION_MANAGER, Role.ORCHESTRATOR):
        raise ChimeraError("FORBIDDEN", f"An agent of the role {agent.type} may not publish")
    revision, account = intent_revision(agent, intent, approved_by=HUMAN)
    action = intent_action(revision, account)
    context = intent_context(revision, account)
    return request_open(
        agent=agent,
        action=action,
        sentence=intent_sentence(action),
        lane=Lane.CAREFUL if context["sensitive"] else Lane.STANDARD,
        confidence=None,
        context=context,
    )


def prepared_action(
    agent: Agent, intent: ExecutionIntent
) -> tuple[dict[str, Any], ContentRevision]:
    """The action that would be carried out now, and the revision it posts; errors of both.

    FORBIDDEN where nobody who counts here is named as having approved it.
    """
    if intent.approvedBy != HUMAN and (why := judge_may_approve(intent_mode(), [])):
        raise invalid("FORBIDDEN", "approvedBy", why)
    if intent.approvedBy == HUMAN and not intent.trace.reviewId:
        why = f"approvedBy human needs the id of a signed request; {ASK}"
        raise invalid("FORBIDDEN", "trace.reviewId", why)
    revision, account = intent_revision(agent, intent, approved_by=intent.approvedBy)
    return intent_action(revision, account), revision


def intent_approval(
    *,
    agent: Agent,
    intent: ExecutionIntent,
    action: dict[str, Any],
    revision: ContentRevision,
    execution_id: UUID | None,
) -> ApprovalRequest:
    """The request that allows exactly this action: signed, or still waiting for its person.

    FORBIDDEN, NOT_FOUND, INVALID_TOKEN and TOKEN_EXPIRED name the field.
    """
    if intent.approvedBy == HUMAN:
        return _reviewed(agent, intent, action)
    context = intent_context(revision, _account_of(action))
    if why := judge_may_approve(action["mode"], context["issues"]):
        raise invalid("FORBIDDEN", "approvedBy", why)
    return judge_approve(
        agent=agent,
        action=action,
        sentence=intent_sentence(action),
        context=context,
        execution_id=execution_id,
    )


def _reviewed(agent: Agent, intent: ExecutionIntent, action: dict[str, Any]) -> ApprovalRequest:
    own = ApprovalRequest.objects.filter(agent=agent, kind=Kind.INTENT)
    review = _as_uuid(intent.trace.reviewId or "")
    request = own.filter(id=review).first() if review else None
    if request is None:
        why = f"No approval request of yours for an intent has this id; {ASK}"
        raise invalid("NOT_FOUND", "trace.reviewId", why)
    if request.action_digest != digest(action):
        raise invalid(
            "INVALID_TOKEN", "trace.reviewId", "That request is for another action than this one"
        )
    code = _ENDED.get(Status(request.status))
    if code:
        said = f": {request.reason}" if request.reason else ""
        why = f"That request is {request.get_status_display().lower()}{said}; {ASK}"
        raise invalid(code, "trace.reviewId", why)
    return request


def intent_sentence(action: dict[str, Any]) -> str:
    """What will happen, in one line."""
    said = publish_sentence(action | {"schedule_time": None})
    where = " in the sandbox" if action["mode"] == "sandbox" else ""
    return f"{said}{where}, for at most {action['budget_usd']} USD"


def intent_context(revision: ContentRevision, account: PlatformAccount) -> dict[str, Any]:
    """What the reviewer is shown beside the action: the post, its trends, what the rules say."""
    context = publish_context(revision, account)
    done = running.run(rules_of(_case(revision, account)))
    context["issues"] = [plain(issue) for issue in done.issues]
    context["sensitive"] = sorted(sensitive_topics(revision.data["script"]))
    context["trend_refs"] = revision.data["trend_refs"]
    return context


def _case(revision: ContentRevision, account: PlatformAccount) -> Case:
    data, agent = revision.data, revision.content.agent
    persona = getattr(agent, "persona", None)
    trends = [schemas.TrendData.model_validate(one.data) for one in revision.content.trends.all()]
    files = [schemas.MediaMetadata.model_validate(item) for item in data["media_metadata"]]
    posted: dict[str, Any] = {name: data[name] for name in ("script", "captions", "media_urls")}
    package = schemas.ContentPackage.model_construct(
        **posted, hashtags=[], media_metadata=files, platform_variants=None
    )
    return Case(
        package,
        persona=Persona.model_validate(plain(persona.as_dict())) if persona else None,
        platforms=[cast(schemas.Platform, account.platform)],
        source_text="\n".join(trend.source_text() for trend in trends) or None,
    )


def _account_of(action: dict[str, Any]) -> PlatformAccount:
    named = {name: action[name] for name in ("platform", "mode")}
    return PlatformAccount.objects.get(handle=action["account"], **named)


def _as_uuid(text: str) -> UUID | None:
    try:
        return UUID(text)
    except ValueError:
        return None
