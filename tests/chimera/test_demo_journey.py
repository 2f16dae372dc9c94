"""The demo's way through the API, against a server that counts what each key did."""

import re
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from pytest_httpserver import HTTPServer
from werkzeug import Request, Response

from chimera.core import jsontext
from chimera.demo.campaign import Campaign
from chimera.demo.client import AgentClient, Credentials
from chimera.demo.journey import Ended, Journey, Settled

RELEVANT = [{"trend": {"topic": "second"}, "relevance_score": 0.4}]
CONTENT = {"content_id": "second", "captions": "Second", "confidence_score": 0.8}
ISSUES = [{"rule": "language", "severity": "error", "message": "no"}]
BALANCE = {"balance": 100, "currency": "USDC", "network": "devnet"}
POST_URL = "http://world/posts/1"


STEPS: list[dict[str, Any]] = [
    {"skill_name": "fetch_trends", "output": {"count": 2, "platform": "twitter"}},
    {"skill_name": "semantic_filter", "output": {"filtered_trends": RELEVANT}},
    {"skill_name": "generate_content", "output": {"content": CONTENT | {"content_id": "first"}}},
    {"skill_name": "validate_content", "output": {"issues": ISSUES}},
    {"name": "go back", "output": {"to": "candidates", "why": "language: no"}},
    {"skill_name": "generate_content", "output": {"content": CONTENT}},
    {"skill_name": "validate_content", "output": {"issues": []}},
    {"skill_name": "fetch_wallet_balance", "output": BALANCE},
    {"name": "signature", "status": "blocked", "approval_id": "post"},
    {
        "name": "payment",
        "skill_name": "debit_wallet",
        "status": "blocked",
        "approval_id": "payment",
    },
]
ENDS: list[dict[str, Any]] = [
    {"skill_name": "publish_content", "output": {"post_url": POST_URL}},
    {"name": "payment", "skill_name": "debit_wallet", "output": {"tx_id": "0xabc"}},
]


class Api:
    """Answers like the API: a key that was seen gives the first run, which goes on by itself.

    started: body of each run; decisions: approval id -> its state; failure: how the run ends.
    """

    def __init__(self) -> None:
        self.seen: dict[str, str] = {}
        self.started: list[dict[str, Any]] = []
        self.decisions = {"post": "approved", "payment": "approved"}
        self.failure: dict[str, Any] | None = None
        self.looked = 0
        self.cancelled = 0

    def __call__(self, request: Request) -> Response:
        status, body = self._answer(request)
        return Response(jsontext.dumps(body), status, content_type="application/json")

    def _answer(self, request: Request) -> tuple[int, dict[str, Any]]:
        match request.path.strip("/").split("/")[2:]:
            case ["agents", "me"]:
                return 200, {"persona": {"name": "Aurora"}}
            case ["approvals", name]:
                return 200, {"status": self.decisions[name], "reason": "too loud"}
            case ["executions", "debit_wallet"]:
                return 200, {"id": "debit_wallet", "status": "outcome_unknown"}
            case ["workflows", _, "runs"]:
                return 202, {"id": self._begun(request)}
            case ["workflow-runs", _, "cancel"]:
                self.cancelled += 1
                return 200, {}
            case ["workflow-runs", name] if name in self.seen.values():
                return 200, self._run()
        return 404, {"code": "NOT_FOUND"}

    def _begun(self, request: Request) -> str:
        key = request.headers["Idempotency-Key"]
        if key not in self.seen:
            self.started.append(jsontext.loads(request.data))
        return self.seen.setdefault(key, f"run {len(self.started)}")

    def _run(self) -> dict[str, Any]:
        """One step more each time that somebody looks; the end once all is decided."""
        self.looked += 1
        steps = STEPS[: self.looked]
        status, decided = "running", set(self.decisions.values())
        if self.failure and self.looked > 2:
            return {"status": "failed", "error": self.failure, "steps": []}
        if self.looked > len(STEPS) + 1:
            if decided == {"approved"}:
                status, steps = "completed", [*STEPS[:-2], *ENDS]
            else:
                steps = [*steps, {"name": "signature", "status": "failed"}]
        told = [record(at, step) for at, step in enumerate(steps)]
        return {"status": status, "error": None, "steps": told}


def record(at: int, step: dict[str, Any]) -> dict[str, Any]:
    skill = step.get("skill_name")
    whole = {"step": str(at), "name": skill, "skill_name": skill, "status": "succeeded"}
    return whole | {"execution_id": skill} | step


@pytest.fixture
def api(httpserver: HTTPServer, monkeypatch: pytest.MonkeyPatch) -> Api:
    """The server, which nobody need wait for."""
    clock = SimpleNamespace(monotonic=time.monotonic, sleep=lambda seconds: None)
    monkeypatch.setattr("chimera.demo.journey.time", clock)
    fake = Api()
    httpserver.expect_request("/oauth/token/").respond_with_json({"access_token": "t"})
    httpserver.expect_request(re.compile("/api/v1/.*")).respond_with_handler(fake)
    return fake


class Killed(BaseException):
    """Stands for a kill -9 right after a step was shown."""


def journey(httpserver: HTTPServer, tmp_path: Path, kill_after: str = "") -> Journey:
    path = tmp_path / "campaign.json"
    campaign = Campaign.load(path) or Campaign(path=path)
    campaign.save()

    def say(step: str, text: str) -> None:
        if step == kill_after:
            raise Killed

    def client(role: str) -> AgentClient:
        who = Credentials(role, role, "id", "secret", "0x1")
        return AgentClient(httpserver.url_for(""), who, lambda text: None)

    return Journey(campaign, client("orchestrator"), client("cfo_judge"), say)


def drive(one: Journey) -> Settled:
    return one.settle(*one.propose())


SETTLED = Settled("second", POST_URL, "0xabc")
SAID = [
    "fetch_trends",
    "semantic_filter",
    "generate_content",
    "validate_content",
    "next trend",
    "generate_content",
    "validate_content",
    "fetch_wallet_balance",
    "approval",
    "debit_wallet",
    "debit_wallet",
    "publish_content",
    "debit_wallet",
]


def test_the_run_is_told_step_by_step_and_ends_with_one_post_and_one_payment(
    api: Api, httpserver: HTTPServer, tmp_path: Path
) -> None:
    said: list[str] = []
    one = journey(httpserver, tmp_path)
    one.say = lambda step, text: said.append(step)

    assert drive(one) == SETTLED
    assert said == SAID
    assert api.started[0]["input"]["persona"] == {"name": "Aurora"}


@pytest.mark.req("X3")
@pytest.mark.parametrize("step", ["start", *sorted(set(SAID))])
def test_campaign_killed_after_any_step_goes_on_with_the_same_run(
    api: Api, httpserver: HTTPServer, tmp_path: Path, step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = journey(httpserver, tmp_path, kill_after=step)
    if step == "start":  # the run has begun, and its id was never written down
        monkeypatch.setattr(one.campaign, "begun", killed)
    with pytest.raises(Killed):
        drive(one)

    assert drive(journey(httpserver, tmp_path)) == SETTLED
    assert len(api.started) == 1


def killed(run_id: str) -> None:
    raise Killed


@pytest.mark.parametrize(
    ("what", "status", "cancelled"), [("post", "rejected", 1), ("payment", "expired", 0)]
)
def test_a_no_ends_the_campaign_with_its_reason_and_leaves_nothing_to_sign(
    api: Api, httpserver: HTTPServer, tmp_path: Path, what: str, status: str, cancelled: int
) -> None:
    api.decisions = {"post": "approved", "payment": "pending"} | {what: status}
    with pytest.raises(Ended, match=rf"the {what} was not approved: {status} \(too loud\)"):
        drive(journey(httpserver, tmp_path))
    assert api.cancelled == cancelled


def test_a_run_that_fails_ends_the_campaign_with_its_error(
    api: Api, httpserver: HTTPServer, tmp_path: Path
) -> None:
    api.failure = {"code": "LOW_CONFIDENCE", "message": "0.61, two attempts left"}
    with pytest.raises(Ended, match=r"LOW_CONFIDENCE: 0\.61"):
        drive(journey(httpserver, tmp_path))


def test_a_campaign_with_trends_of_its_own_brings_them(
    api: Api, httpserver: HTTPServer, tmp_path: Path
) -> None:
    one = journey(httpserver, tmp_path)
    one.campaign.trends = [{"topic": "mine"}]

    drive(one)

    assert api.started[0]["input"]["trends"] == [{"topic": "mine"}]
