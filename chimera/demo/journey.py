"""The main job as the built-in workflow does it: the run is started, followed and shown, step by step."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from chimera.demo.campaign import Campaign
from chimera.demo.client import AgentClient, Json, Refused

WORKFLOW = "trend-to-post-with-payment"
PLATFORM = "twitter"
GOALS = ["street fashion from African cities", "thrift, handmade and upcycled clothes"]
FEE = {"amount": 5, "currency": "USDC"}
GRANTED = {"approved", "consumed"}
DEADLINE = 600.0
"""Seconds for what no person is waited for."""

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
    """One campaign on its way. Every method may run again after a crash: the key gives the same run."""

    def __init__(
        self, campaign: Campaign, writer: AgentClient, payer: AgentClient, say: Say
    ) -> None:
        self.campaign = campaign
        self.writer = writer
        self.payer = payer
        self.say = say
        self._said: set[tuple[str, str]] = set()

    def propose(self) -> tuple[Json, Json]:
        """Everything that agents may do alone: (content package, execution of the payment)."""
        deadline = time.monotonic() + DEADLINE
        while True:
            run = self._look()
            if {"publish", "debit"} <= set(self.campaign.approvals):
                content = _newest(run, "generate_content")["output"]["content"]
                return content, {"id": _newest(run, "debit_wallet")["execution_id"]}
            self._end_if_over(run)
            if time.monotonic() > deadline:
                raise Ended(f"nothing was proposed within {DEADLINE:.0f} s")
            time.sleep(0.2)

    def settle(self, content: Json, payment: Json) -> Settled:
        """Wait for both decisions, the post and the payment."""
        while True:
            run = self._look(wait=5)
            if run["status"] == "completed":
                post, paid = (_newest(run, name) for name in ("publish_content", "debit_wallet"))
                return Settled(
                    content["content_id"], post["output"]["post_url"], paid["output"]["tx_id"]
                )
            self._end_if_over(run)
            self._say_if_sent(payment["id"])
            time.sleep(0.5)

    def _look(self, wait: int = 0) -> Json:
        """The run as it is now, begun where it is not yet; what is new in it is shown."""
        if not self.campaign.input:
            self.campaign.prepare(self._input())
        if not self.campaign.run:
            key = self.campaign.key("run")
            self.campaign.begun(self.writer.start_run(WORKFLOW, self.campaign.input, key)["id"])
        run = self.writer.run(self.campaign.run, wait)
        for record in run["steps"]:
            self._show(record)
        return run

    def _input(self) -> Json:
        return {
            **FEE,
            **({"trends": self.campaign.trends} if self.campaign.trends else {}),
            "campaign_goals": GOALS,
            "relevance_threshold": 0,
            "persona": self.writer.me()["persona"],
            "platform": PLATFORM,
            "wallet_address": self.writer.who.wallet_address or self.payer.who.wallet_address,
            "tx_description": "OpenClaw fee for content",
        }

    def _show(self, record: Json) -> None:
        """One line for a step that has ended or waits for a person, once."""
        seen = (record["step"], record["status"])
        if seen in self._said:
            return
        self._said.add(seen)
        if record["status"] == "succeeded":
            line = _LINES.get(record["skill_name"] or record["name"])
            if line:
                self.say(*line(record["output"]))
        elif record["status"] == "blocked":
            what, text = {
                "signature": ("publish", "the post waits for a person"),
                "payment": ("debit", "the payment waits for a person"),
            }[record["name"]]
            self.campaign.remember_approval(what, record["approval_id"])
            self.say(record["skill_name"] or "approval", f"{text}: {record['approval_id']}")

    def _end_if_over(self, run: Json) -> None:
        """Ended where the run has failed, or where a person has said no."""
        failed = [one for one in run["steps"] if one["status"] == "failed"]
        if failed:
            self._refuse_denied()
        if run["status"] in ("failed", "cancelled"):
            error = run["error"] or {"code": "CANCELLED", "message": "the run was cancelled"}
            raise Ended(f"{error['code']}: {error['message']}")

    def _refuse_denied(self) -> None:
        for what, step, client in (
            ("post", "publish", self.writer),
            ("payment", "debit", self.payer),
        ):
            approval_id = self.campaign.approvals.get(step)
            approval = client.approval(approval_id) if approval_id else {"status": "pending"}
            if approval["status"] not in GRANTED | {"pending"}:
                self._cancel()
                reason = approval.get("reason")
                why = f" ({reason})" if reason else ""
                raise Ended(f"the {what} was not approved: {approval['status']}{why}")

    def _cancel(self) -> None:
        """Nothing of the campaign is left for a person to sign."""
        payment = self.campaign.approvals.get("debit")
        if payment and self.payer.approval(payment)["status"] == "pending":
            try:
                self.writer.cancel_run(self.campaign.run)
            except Refused as refusal:
                if refusal.code != "NOT_CANCELLABLE":
                    raise

    def _say_if_sent(self, execution_id: str) -> None:
        sent = ("payment", "outcome_unknown")
        if sent in self._said:
            return
        if self.payer.execution(execution_id)["status"] == "outcome_unknown":
            self._said.add(sent)
            self.say("debit_wallet", "sent; waiting until the chain confirms it")


def _newest(run: Json, skill: str) -> Json:
    """The last record of a skill in the run."""
    found: Json = [one for one in run["steps"] if one["skill_name"] == skill][-1]
    return found


def _trends(output: Json) -> tuple[str, str]:
    return "fetch_trends", f"{output['count']} trends from {output['platform']}"


def _relevant(output: Json) -> tuple[str, str]:
    rows = sorted(output["filtered_trends"], key=lambda row: row["relevance_score"])
    best: Json = rows[-1] if rows else {"trend": {"topic": "none"}, "relevance_score": 0}
    topic, score = best["trend"]["topic"], best["relevance_score"]
    return "semantic_filter", f"best match of {len(rows)}: {topic} ({score})"


def _draft(output: Json) -> tuple[str, str]:
    content = output["content"]
    text = f"“{content['captions'][:90]}” confidence {content['confidence_score']}"
    return "generate_content", text


def _verdict(output: Json) -> tuple[str, str]:
    issues = [f"{issue['rule']}: {issue['message']}" for issue in output["issues"]]
    return "validate_content", "; ".join(issues) or "no issues"


def _balance(output: Json) -> tuple[str, str]:
    text = f"{output['balance']} {output['currency']} on {output['network']}"
    return "fetch_wallet_balance", text


_LINES: dict[str, Callable[[Any], tuple[str, str]]] = {
    "fetch_trends": _trends,
    "semantic_filter": _relevant,
    "generate_content": _draft,
    "validate_content": _verdict,
    "go back": lambda output: ("next trend", output["why"] or "the draft is too uncertain"),
    "fetch_wallet_balance": _balance,
    "publish_content": lambda output: ("publish_content", f"published: {output['post_url']}"),
    "debit_wallet": lambda output: ("debit_wallet", f"posted, transaction {output['tx_id']}"),
}
