"""The permission to cause one effect. Only `approvals` makes one, out of a redeemed approval.

The publisher and the debit take a `Grant`, so there is no other way to them.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID


@dataclass(frozen=True)
class Grant:
    """A consumed approval: for exactly this action, for this execution, signed by this reviewer."""

    approval_id: UUID
    action: dict[str, Any]
    action_digest: str
    agent_id: UUID
    execution_id: UUID
    reviewer_id: str
    signed_at: datetime
