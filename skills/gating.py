"""The gate: an approval of exactly what is about to be sent, used up in the commit that starts it."""

import asyncio
from collections.abc import Awaitable
from typing import Any

from asgiref.sync import async_to_sync
from django.db import connection, transaction

from approvals import redeeming
from approvals import services as approvals
from approvals.models import ApprovalRequest
from chimera.core import capabilities
from chimera.core.errors import ChimeraError
from chimera.core.grants import Grant
from chimera.core.killpoints import reach
from chimera.core.secrets import decrypt
from skills.contract import GatedSkill, Skill, SkillContext
from skills.models import SkillExecution


class Blocked(Exception):
    """The execution waits for a person."""

    def __init__(self, approval: ApprovalRequest) -> None:
        self.approval = approval
        super().__init__(str(approval.id))


def _asks_for_db(execute: Any, *query: Any) -> Any:
    capabilities.require("DB")
    return execute(*query)


def bounded(skill: Skill, context: SkillContext[Any], step: str) -> Any:
    """One step of the skill under its limits of time and capabilities.

    A remote skill checks its resource when constructed, so only `execute` gets one made for the call.
    Code that blocks is ended by the worker's limits.
    """

    async def in_time(work: Awaitable[Any]) -> Any:
        async with asyncio.timeout(skill.metadata.timeout_sec):
            return await work

    with (
        capabilities.limited(skill.name, skill.capabilities),
        connection.execute_wrapper(_asks_for_db),
    ):
        actor = type(skill)() if step == "execute" else skill
        return async_to_sync(in_time)(getattr(actor, step)(context))


def pass_gate(execution: SkillExecution, skill: GatedSkill, context: SkillContext[Any]) -> Grant:
    """The grant of this execution: already obtained, or redeemed now, or the execution blocks."""
    under_way = skill.under_way(execution.id)
    own = redeeming.grant_of_execution(execution.id, under_way=under_way)
    if own:
        return own
    token, problem = _given_token(execution, skill, context)
    try:
        action = bounded(skill, context, "prepare")
    except ChimeraError as refusal:
        raise problem if problem and refusal.code == "INVALID_TOKEN" else refusal from None
    token = token or _own_token(skill, context)
    with transaction.atomic():
        grant = redeeming.approval_redeem(
            token=token, action=action, agent_id=execution.agent_id, execution_id=execution.id
        )
        due = skill.begin(context, grant)
        SkillExecution.objects.filter(id=execution.id).update(
            sealed_token=b"", approval_id=grant.approval_id, scheduled_for=due
        )
    reach(f"{skill.name}.redeemed")
    return grant


def _given_token(
    execution: SkillExecution, skill: GatedSkill, context: SkillContext[Any]
) -> tuple[str, ChimeraError | None]:
    """The token of the call and what is wrong with it; the action it names goes into the context."""
    if not execution.sealed_token:
        return "", None
    token = decrypt(execution.sealed_token).decode()
    try:
        context.approved = redeeming.approved_action(token, kind=skill.name)
    except ChimeraError as problem:
        return token, problem
    return token, None


def _own_token(skill: GatedSkill, context: SkillContext[Any]) -> str:
    """The token of the request that this execution opens, once it is signed; until then it blocks."""
    request = skill.ask(context)
    if request is None:
        raise ChimeraError("INVALID_TOKEN", "An approval token is required")
    reach(f"{skill.name}.asked")
    token = approvals.token_of(request)
    if token is None:
        raise Blocked(request)
    return token
