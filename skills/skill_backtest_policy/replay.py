"""A draft of the approval policy, and what it would have made of requests that were decided before."""

from collections import Counter
from collections.abc import Iterable
from decimal import Decimal
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from approvals.models import ApprovalRequest

MOST_SHOWN = 50
LANES = ("fast", "standard", "careful", "refused")
AGREED = frozenset({"approved", "consumed", "revoked"})


class Policy(BaseModel):
    """Thresholds of a draft: posts by confidence, payments by amount in USDC."""

    model_config = ConfigDict(extra="forbid")
    fast_above: float = Field(0.9, ge=0, le=1, description="Posts above it go to the fast lane")
    refuse_below: float = Field(0.7, ge=0, le=1, description="Posts below it are refused at once")
    careful_amount: Decimal = Field(
        Decimal(100), ge=0, max_digits=30, description="USDC; payments from here on: careful lane"
    )
    refuse_amount: Decimal | None = Field(
        None, ge=0, max_digits=30, description="USDC; payments above it are refused at once"
    )

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if self.refuse_below > self.fast_above:
            raise ValueError("refuse_below lies above fast_above; give a smaller one")
        if self.refuse_amount is not None and self.refuse_amount < self.careful_amount:
            raise ValueError("refuse_amount lies below careful_amount; give a larger one")
        return self


class Tally(BaseModel):
    """What has been counted so far; JSON, so that a job can go on from it."""

    last_id: str = ""
    requests: int = 0
    lanes_before: dict[str, int] = {}
    lanes_after: dict[str, int] = {}
    moved: int = 0
    refused_but_approved: int = 0
    fast_but_rejected: int = 0
    examples: list[dict[str, Any]] = []

    def add(self, policy: Policy, requests: Iterable[ApprovalRequest]) -> None:
        """Count a chunk."""
        before, after = Counter(self.lanes_before), Counter(self.lanes_after)
        for request in requests:
            lane = lane_under(policy, request)
            before[request.lane] += 1
            after[lane] += 1
            self.requests += 1
            self.last_id = str(request.id)
            if lane != request.lane:
                self._note(request, lane)
            self.refused_but_approved += lane == "refused" and request.status in AGREED
            self.fast_but_rejected += lane == "fast" and request.status == "rejected"
        self.lanes_before, self.lanes_after = dict(before), dict(after)

    def _note(self, request: ApprovalRequest, lane: str) -> None:
        self.moved += 1
        if len(self.examples) < MOST_SHOWN:
            said = {"was": request.lane, "would_be": lane, "decision": request.status}
            self.examples.append(
                {"request_id": str(request.id), "sentence": request.sentence} | said
            )


def lane_under(policy: Policy, request: ApprovalRequest) -> str:
    """The lane of a request under the draft, or `refused`.

    A post that was careful for what it says stays careful: the thresholds do not know of topics.
    """
    if request.kind == "debit_wallet":
        return _payment(policy, request)
    if request.confidence is None:
        return request.lane
    if request.confidence < Decimal(str(policy.refuse_below)):
        return "refused"
    if request.lane == "careful":
        return "careful"
    return "fast" if request.confidence > Decimal(str(policy.fast_above)) else "standard"


def _payment(policy: Policy, request: ApprovalRequest) -> str:
    if request.action["currency"] != "USDC":
        return request.lane
    amount = Decimal(str(request.action["amount"]))
    if policy.refuse_amount is not None and amount > policy.refuse_amount:
        return "refused"
    return "careful" if amount >= policy.careful_amount else "standard"
