"""One campaign from its file to its end: who acts, what is shown, what is remembered."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from chimera.demo.campaign import Campaign
from chimera.demo.client import AgentClient, Credentials, Json, Refused
from chimera.demo.journey import Ended, Journey, Settled
from chimera.demo.reviewer import DeskRefused, Reviewer

OWN_CAMPAIGN = "demo-campaign.json"
FIRST_CAMPAIGN = "first-campaign.json"


class NotSetUp(Exception):
    """The data directory holds no demo agents or logins."""


class Say(Protocol):
    """Shows one step and what came of it."""

    def __call__(self, step: str, text: str) -> None: ...


@dataclass(frozen=True)
class Place:
    """Where the demo runs: the web server and the data directory with agents and logins."""

    base_url: str
    data_dir: Path

    def read(self, name: str) -> list[Json]:
        path = self.data_dir / name
        try:
            rows: list[Json] = json.loads(path.read_text())
        except (OSError, ValueError):
            raise NotSetUp(
                f"{path} cannot be read; start the platform first (make run), "
                "or point CHIMERA_DATA_DIR at its data"
            ) from None
        return rows

    def agent(self, role: str, notice: Callable[[str], None]) -> AgentClient:
        row = next((row for row in self.read("demo-agents.json") if row["role"] == role), None)
        if row is None:
            raise NotSetUp(f"demo-agents.json in {self.data_dir} has no agent with the role {role}")
        return AgentClient(self.base_url, Credentials.read(row), notice)


def take_up(place: Place, source: str, trends: list[dict[str, Any]]) -> Campaign:
    """The unfinished campaign of the same source, or a new one."""
    path = place.data_dir / OWN_CAMPAIGN
    kept = Campaign.load(path)
    if kept and kept.unfinished and kept.source == source:
        return kept
    campaign = Campaign(path=path, source=source, trends=trends)
    campaign.save()
    return campaign


def take_up_first(place: Place) -> Campaign | None:
    """The campaign that `make run` starts by itself, once in the life of a data directory."""
    path = place.data_dir / FIRST_CAMPAIGN
    campaign = Campaign.load(path)
    if campaign is None:
        if (place.data_dir / OWN_CAMPAIGN).exists():
            return None
        campaign = Campaign(path=path)
        campaign.save()
    return campaign if campaign.unfinished else None


def run(place: Place, campaign: Campaign, say: Say, *, approve: bool = False) -> Settled | None:
    """Drive the campaign to its end; None, with the reason in its outcome, if nothing came of it.

    Unreachable and NotSetUp leave it unfinished: the next run goes on with it.
    """
    journey = _journey(place, campaign, say)
    try:
        content, payment = journey.propose()
        if approve:
            _approve(place, journey, say)
        settled = journey.settle(content, payment)
    except (Ended, Refused) as problem:
        if isinstance(problem, Refused) and problem.code == "UNAUTHENTICATED":
            raise NotSetUp(str(problem)) from None
        campaign.finish(str(problem))
        return None
    campaign.finish("settled")
    return settled


def _journey(place: Place, campaign: Campaign, say: Say) -> Journey:
    def notice(text: str) -> None:
        say("waiting", text)

    return Journey(
        campaign, place.agent("orchestrator", notice), place.agent("cfo_judge", notice), say
    )


def _approve(place: Place, journey: Journey, say: Say) -> None:
    reviewer = Reviewer.from_logins(place.base_url, place.read("demo-logins.json"), say)
    reviewer.sign_in()
    for step, client in (("publish", journey.writer), ("debit", journey.payer)):
        approval_id = journey.campaign.approvals.get(step)
        if approval_id is None or client.approval(approval_id)["status"] != "pending":
            continue
        reviewer.approve(approval_id)
        status = client.approval(approval_id, wait=5)["status"]
        if status == "pending":
            raise DeskRefused(
                f"the desk took the signature of {approval_id}, but it is still pending"
            )
