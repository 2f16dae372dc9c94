"""The roles and states of agents, and the scopes that each role may be granted."""

from datetime import timedelta

from django.db import models

SILENCE = timedelta(hours=4)
"""An agent that was not heard for longer is unavailable."""


class Role(models.TextChoices):
    """An agent's type in AgentProfile; skills name the roles that may call them."""

    CONTENT_CREATOR = "content_creator"
    TREND_ANALYST = "trend_analyst"
    DISTRIBUTION_MANAGER = "distribution_manager"
    JUDGE = "judge"
    ORCHESTRATOR = "orchestrator"
    CFO_JUDGE = "cfo_judge"


class Status(models.TextChoices):
    """The state an agent is in."""

    ACTIVE = "active"
    BUSY = "busy"
    PAUSED = "paused"
    ERROR = "error"


AVAILABILITY = {
    Status.ACTIVE: "active",
    Status.BUSY: "busy",
    Status.PAUSED: "maintenance",
    Status.ERROR: "unavailable",
}

SCOPES = {
    "skills:*": "Call every skill of the role",
    "executions:read": "Read own executions",
    "executions:cancel": "Cancel own executions",
    "content:read": "Read content packages",
    "content:write": "Create and revise content packages",
    "approvals:request": "Ask a person for an approval",
    "approvals:read": "Read own approval requests",
    "wallets:read": "Read balances and entries",
    "agents:read": "Read agent profiles",
    "workflows:read": "Read workflows and runs",
    "workflows:write": "Define workflows",
    "workflows:run": "Run workflows",
}

CAPABILITIES: dict[str, list[str]] = {
    Role.CONTENT_CREATOR: ["content_writing", "image_generation"],
    Role.TREND_ANALYST: ["trend_analysis"],
    Role.DISTRIBUTION_MANAGER: ["social_engagement"],
    Role.JUDGE: ["quality_control"],
    Role.ORCHESTRATOR: ["trend_analysis", "content_writing", "social_engagement"],
    Role.CFO_JUDGE: ["budget_management"],
}


def scopes_of(role: str) -> list[str]:
    """Every scope the role allows."""
    return sorted(SCOPES)
