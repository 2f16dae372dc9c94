"""The demo's way through the API, against a server that counts what each key did."""

import re
from pathlib import Path
from typing import Any

import pytest
from pytest_httpserver import HTTPServer
from werkzeug import Request, Response

from chimera.core import jsontext
from chimera.demo.campaign import Campaign
from chimera.demo.client import AgentClient, Credentials
from chimera.demo.journey import Ended, Journey, Settled

TRENDS = [{"topic": "first"}, {"topic": "second"}]
POST_URL = "http://world/posts/1"


class Api:
    """Answers like the API: a key that was seen gets the first answer again.

    effects: skill -> how often it really ran. decisions: approval id -> its state.
    """

    def __init__(self) -> None:
        self.seen: dict[tuple[str, str], dict[str, Any]] = {}
        self.effects: dict[str, int] = {}
        self.decisions = {"post": "approved", "payment": "approved"}
        self.refusals: list[dict[str, Any]] = []
        self.valid = [True]

    def __call__(self, request: Request) -> Response:
        status, body = self._answer(request)
        return Response(jsontext.dumps(body), status, content_type="application/json")

    def _answer(self, request: Request) -> tuple[int, dict[str, Any]]:
        parts = request.path.strip("/").split("/")[2:]
        body = jsontext.loads(request.data) if request.data else {}
        match parts:
            case ["agents", "me"]:
                return 200, {"persona": {"name": "Aurora"}}
            case ["approvals"]:
                return self._ask(request.headers["Idempotency-Key"])
            case ["approvals", name]:
                return 200, {
                    "id": name,
                    "status": self.decisions[name],
                    "reason": "too loud",
                    "approval_token": "a.b.c",
                }
            case ["executions", "debit_wallet"]:
                return 200, {
                    "id": "debit_wallet",
                    "status": "completed",
                    "output": {"tx_id": "0xabc"},
                }
            case ["skills", name, "executions"]:
                params = body["input"]
                key = request.headers.get("Idempotency-Key") or params["idempotency_key"]
                return 200, self._once(name, key, params)
        return 404, {"code": "NOT_FOUND"}

    def _ask(self, key: str) -> tuple[int, dict[str, Any]]:
        if self.refusals:
            return 422, self.refusals.pop(0)
        return 201, self._once("approval", key, {}) | {"id": "post"}

    def _once(self, name: str, key: str, params: dict[str, Any]) -> dict[str, Any]:
        if (name, key) not in self.seen:
            self.effects[name] = self.effects.get(name, 0) + 1
            output = self._output(name, params)
            status = {"debit_wallet": "blocked"}.get(name, "completed")
            self.seen[name, key] = {
                "id": name,
                "status": status,
                "output": output,
                "approval_id": "payment",
            }
        return self.seen[name, key]

    def _output(self, name: str, params: dict[str, Any]) -> dict[str, Any] | None:
        match name:
            case "fetch_trends":
                return {"trends": TRENDS, "count": 2, "platform": "twitter"}
            case "semantic_filter":
                scores = zip(params["trends"], (0.9, 0.4), strict=True)
                return {"filtered_trends": [{"trend": t, "relevance_score": s} for t, s in scores]}
            case "generate_content":
                topic = params["trend"]["topic"]
                return {
                    "content": {"content_id": topic, "captions": topic, "confidence_score": 0.8}
                }
            case "validate_content":
                issue = {"rule": "language", "severity": "error", "message": "no"}
                valid = self.valid.pop(0) if len(self.valid) > 1 else self.valid[0]
                return {"valid": valid, "issues": [] if valid else [issue]}
            case "publish_content":
                return {"post_url": POST_URL}
            case "fetch_wallet_balance":
                return {"balance": 100, "currency": "USDC", "network": "devnet"}
        return None


@pytest.fixture
def api(httpserver: HTTPServer) -> Api:
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


ONE_EACH = dict.fromkeys(
    (
        "fetch_trends",
        "semantic_filter",
        "generate_content",
        "validate_content",
        "approval",
        "fetch_wallet_balance",
        "debit_wallet",
        "publish_content",
    ),
    1,
)


def test_campaign_ends_with_one_post_and_one_payment(
    api: Api, httpserver: HTTPServer, tmp_path: Path
) -> None:
    assert drive(journey(httpserver, tmp_path)) == Settled("first", POST_URL, "0xabc")
    assert api.effects == ONE_EACH


@pytest.mark.req("X3")
@pytest.mark.parametrize("step", sorted(ONE_EACH))
def test_campaign_killed_after_any_step_goes_on_and_doubles_nothing(
    api: Api, httpserver: HTTPServer, tmp_path: Path, step: str
) -> None:
    with pytest.raises(Killed):
        drive(journey(httpserver, tmp_path, kill_after=step))
    assert drive(journey(httpserver, tmp_path)) == Settled("first", POST_URL, "0xabc")
    assert api.effects == ONE_EACH


def test_rejected_post_ends_the_campaign_with_the_reason_and_publishes_nothing(
    api: Api, httpserver: HTTPServer, tmp_path: Path
) -> None:
    api.decisions["post"] = "rejected"
    with pytest.raises(Ended, match=r"the post was not approved: rejected \(too loud\)"):
        drive(journey(httpserver, tmp_path))
    assert "publish_content" not in api.effects


def test_expired_payment_ends_the_campaign(
    api: Api, httpserver: HTTPServer, tmp_path: Path
) -> None:
    api.decisions["payment"] = "expired"
    with pytest.raises(Ended, match="the payment was not approved: expired"):
        drive(journey(httpserver, tmp_path))


def test_draft_of_low_confidence_gives_way_to_the_next_trend(
    api: Api, httpserver: HTTPServer, tmp_path: Path
) -> None:
    api.refusals = [{"code": "LOW_CONFIDENCE", "detail": "0.61, two attempts left"}]
    assert drive(journey(httpserver, tmp_path)).content_id == "second"


def test_restart_after_a_refused_draft_goes_on_with_the_draft_that_was_taken(
    api: Api, httpserver: HTTPServer, tmp_path: Path
) -> None:
    api.refusals = [{"code": "LOW_CONFIDENCE", "detail": "0.61, two attempts left"}]
    with pytest.raises(Killed):
        drive(journey(httpserver, tmp_path, kill_after="approval"))
    assert drive(journey(httpserver, tmp_path)).content_id == "second"
    assert api.effects["generate_content"] == 2


def test_campaign_without_a_valid_draft_ends_and_asks_nobody(
    api: Api, httpserver: HTTPServer, tmp_path: Path
) -> None:
    api.valid = [False]
    with pytest.raises(Ended, match="breaks rules"):
        drive(journey(httpserver, tmp_path))
    assert "approval" not in api.effects
    assert "debit_wallet" not in api.effects
