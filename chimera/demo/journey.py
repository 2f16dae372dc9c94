"""The main job, step by step: trend, draft, verdict, a person's decision, post and payment."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from chimera.demo.campaign import Campaign
from chimera.demo.client import AgentClient, Json, Refused, completed_or_blocked

PLATFORM = "twitter"
GOALS = ["street fashion from African cities", "thrift, handmade and upcycled clothes"]
FEE = {"amount": 5, "currency": "USDC"}
DRAFTS = 4
GRANTED = {"approved", "consumed"}
SETTLE_DEADLINE = 600.0
# Stands in for a consumed token, which the API no longer shows: the idempotency key finds the call.
USED_UP = "e30.e30.e30"

Say = Callable[[str, str], None]


class Ended(Exception):
    """The campaign came to an end without a post and a payment; the text says why."""


@dataclass(frozen=True)
class Settled:
    """What a finished campaign leaves behind."""

    content_id: str
    post_url: str
    tx_id: str


class Journey:
    """One campaign on its way. Every method may run again after a crash: keys make it the same call."""

    def __init__(
        self, campaign: Campaign, writer: AgentClient, payer: AgentClient, say: Say
    ) -> None:
        self.campaign = campaign
        self.writer = writer
        self.payer = payer
        self.say = say

    def propose(self) -> tuple[Json, Json]:
        """Everything that agents may do alone: (content package, execution of the payment)."""
        content = self._propose_post(self._candidates())
        return content, self._propose_payment(content)

    def _candidates(self) -> list[Json]:
        """Trends, best match with the campaign's goals first."""
        trends = self.campaign.trends or self._fetch()
        if not trends:
            raise Ended("no trends were found")
        params = {"trends": trends, "campaign_goals": GOALS, "relevance_threshold": 0}
        output = self.writer.call("semantic_filter", params, self.campaign.key("filter"))["output"]
        scored = sorted(
            output["filtered_trends"], key=lambda row: row["relevance_score"], reverse=True
        )
        best = scored[0]
        self.say(
            "semantic_filter",
            f"best match of {len(scored)}: {best['trend']['topic']} ({best['relevance_score']})",
        )
        return [row["trend"] for row in scored]

    def _fetch(self) -> list[Json]:
        params = {"platform": PLATFORM, "limit": 20}
        output = self.writer.call("fetch_trends", params, self.campaign.key("trends"))["output"]
        self.say("fetch_trends", f"{output['count']} trends from {output['platform']}")
        return list(output["trends"])

    def _propose_post(self, trends: list[Json]) -> Json:
        """The first draft that passes validation and is taken for review."""
        persona = self.writer.me()["persona"]
        reasons: list[str] = []
        for number in range(self.campaign.draft, min(DRAFTS, len(trends))):
            self.campaign.start_draft(number)
            content = self._draft(number, trends[number], persona)
            reason = self._verdict(number, content) or self._ask_for_post(number, content)
            if not reason:
                return content
            reasons.append(reason)
            self.say("next trend", reason)
        raise Ended("no draft was taken for review: " + "; ".join(reasons))

    def _draft(self, number: int, trend: Json, persona: Json) -> Json:
        params = {
            "trend": trend,
            "persona": persona,
            "platform": PLATFORM,
            "content_type": "single_post",
        }
        execution = self.writer.call(
            "generate_content", params, self.campaign.key(f"draft {number}")
        )
        content: Json = execution["output"]["content"]
        self.say(
            "generate_content",
            f"“{content['captions'][:90]}” confidence {content['confidence_score']}",
        )
        return content

    def _verdict(self, number: int, content: Json) -> str:
        """Why the draft must not go to a person; empty if it may."""
        key = self.campaign.key(f"verdict {number}")
        output = self.writer.call("validate_content", {"content": content}, key)["output"]
        issues = [f"{issue['rule']}: {issue['message']}" for issue in output["issues"]]
        self.say("validate_content", "; ".join(issues) or "no issues")
        return "" if output["valid"] else f"the draft breaks rules ({'; '.join(issues)})"

    def _ask_for_post(self, number: int, content: Json) -> str:
        """Ask for the post's approval; why it was not taken, empty if it was."""
        action = {
            "action": "publish_content",
            "content_id": content["content_id"],
            "platform": PLATFORM,
        }
        if "publish" not in self.campaign.approvals:
            try:
                approval = self.writer.request_approval(action, self.campaign.key(f"ask {number}"))
            except Refused as refusal:
                if refusal.code != "LOW_CONFIDENCE":
                    raise
                return str(refusal)
            self.campaign.remember_approval("publish", approval["id"])
        self.say("approval", f"the post waits for a person: {self.campaign.approvals['publish']}")
        return ""

    def _propose_payment(self, content: Json) -> Json:
        """The payment without a token: blocked, and it opened its own approval request."""
        wallet = self.writer.who.wallet_address or self.payer.who.wallet_address
        key = self.campaign.key("balance")
        balance = self.payer.call("fetch_wallet_balance", {"wallet_address": wallet}, key)["output"]
        self.say(
            "fetch_wallet_balance",
            f"{balance['balance']} {balance['currency']} on {balance['network']}",
        )
        params: dict[str, Any] = {
            **FEE,
            "wallet_address": wallet,
            "tx_description": f"OpenClaw fee for content {content['content_id']}",
            "idempotency_key": str(self.campaign.key("debit")),
        }
        execution = self.payer.call("debit_wallet", params)
        if execution["status"] == "blocked":
            self.campaign.remember_approval("debit", execution["approval_id"])
            self.say("debit_wallet", f"the payment waits for a person: {execution['approval_id']}")
        return execution

    def settle(self, content: Json, payment: Json) -> Settled:
        """Wait for both decisions, publish, and follow the payment until it is posted."""
        post: Json | None = None
        paid: Json | None = payment if payment["status"] == "completed" else None
        while post is None or paid is None:
            if post is None:
                post = self._publish_if_approved(content, wait=5 if paid is None else 30)
            if paid is None:
                paid = self._paid_if_approved(payment["id"], wait=5 if post is None else 30)
        return Settled(content["content_id"], post["post_url"], paid["output"]["tx_id"])

    def _publish_if_approved(self, content: Json, wait: int) -> Json | None:
        approval = self.writer.approval(self.campaign.approvals["publish"], wait)
        if not self._granted("post", approval):
            return None
        params = {
            "content": content,
            "platform": PLATFORM,
            "approval_token": approval.get("approval_token") or USED_UP,
        }
        try:
            post: Json = self.writer.call("publish_content", params, self.campaign.key("publish"))[
                "output"
            ]
        except Refused as refusal:
            if refusal.code != "DUPLICATE_CONTENT":
                raise
            post = refusal.problem["details"]
        self.say("publish_content", f"published: {post['post_url']}")
        return post

    def _paid_if_approved(self, execution_id: str, wait: int) -> Json | None:
        approval_id = self.campaign.approvals.get("debit")
        if approval_id and not self._granted("payment", self.payer.approval(approval_id, wait)):
            return None
        return self._await_payment(execution_id)

    def _await_payment(self, execution_id: str) -> Json:
        deadline = time.monotonic() + SETTLE_DEADLINE
        seen = ""
        while time.monotonic() < deadline:
            execution = completed_or_blocked(self.payer.execution(execution_id))
            if execution["status"] == "completed":
                self.say("debit_wallet", f"posted, transaction {execution['output']['tx_id']}")
                return execution
            if execution["status"] == "outcome_unknown" and not seen:
                seen = "outcome_unknown"
                self.say("debit_wallet", "sent; waiting until the chain confirms it")
            time.sleep(0.5)
        raise Ended(f"the payment {execution_id} was not settled within {SETTLE_DEADLINE:.0f} s")

    @staticmethod
    def _granted(what: str, approval: Json) -> bool:
        """True once a person has signed; Ended when nobody ever will."""
        status = approval["status"]
        if status in GRANTED or status == "pending":
            return status in GRANTED
        reason = approval.get("reason")
        raise Ended(f"the {what} was not approved: {status}" + (f" ({reason})" if reason else ""))
