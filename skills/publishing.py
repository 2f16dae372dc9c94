"""What every skill that publishes is: the gate of approvals in front of the one publisher.

A skill of this kind says what would be posted (`action`), begins it, and says what came of it
(`output`); all of that may use the database.
"""

from abc import abstractmethod
from typing import Any
from uuid import UUID

from asgiref.sync import sync_to_async

from agents.roles import Role
from content.models import Publication
from content.publishing import (
    publication_call_off,
    publication_carry_out,
    publication_under_way,
)
from skills.contract import (
    CostClass,
    GatedSkill,
    Retry,
    RiskLevel,
    SkillContext,
    SkillMetadata,
    SkillResult,
)


class PublishingSkill(GatedSkill):
    """A skill whose effect is one post. It declares its models and codes, and begins the publication."""

    metadata = SkillMetadata(
        risk_level=RiskLevel.HIGH,
        cost_class=CostClass.NORMAL,
        side_effects=True,
        idempotent=True,
        capabilities=frozenset({"NET", "DB"}),
        timeout_sec=15,
    )
    roles = frozenset({Role.DISTRIBUTION_MANAGER, Role.ORCHESTRATOR})
    retry = Retry(
        3,
        frozenset({"PUBLISH_FAILED", "PLATFORM_ERROR", "RATE_LIMITED", "NETWORK_ERROR", "TIMEOUT"}),
    )

    @abstractmethod
    def action(self, ctx: Any) -> dict[str, Any]:
        """Exactly what would be posted. Raises what makes it impossible."""

    @abstractmethod
    def output(self, ctx: Any, publication: Publication) -> Any:
        """The output that says what was posted."""

    async def prepare(self, ctx: SkillContext[Any]) -> dict[str, Any]:
        """The action."""
        return await sync_to_async(self.action)(ctx)

    def under_way(self, execution_id: UUID) -> bool:
        """The post may be out already."""
        return publication_under_way(execution_id)

    def call_off(self, execution_id: UUID) -> None:
        """A publication that never began leaves its content free."""
        publication_call_off(execution_id)

    async def execute(self, ctx: SkillContext[Any]) -> SkillResult:
        """Post it, or find out what became of it."""
        return await sync_to_async(self._carry_out)(ctx)

    def _carry_out(self, ctx: SkillContext[Any]) -> SkillResult:
        assert ctx.grant  # the framework has redeemed the approval
        publication = publication_carry_out(ctx.grant.approval_id)
        return SkillResult(
            output=self.output(ctx, publication), output_text=f"Published at {publication.post_url}"
        )
