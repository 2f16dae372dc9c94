"""A report: right sums, files that exist and stand by themselves, nothing of others, nothing that runs."""

import csv
import io
from datetime import timedelta
from html.parser import HTMLParser
from typing import Any
from uuid import uuid4

import pytest

from agents.models import Agent
from approvals.models import ApprovalRequest
from chimera.core.clock import iso, now
from chimera.core.ids import new_id
from content.models import ContentPackage, PlatformAccount, Publication
from skills.models import SkillExecution, Status
from tests.helpers.calls import call, stored

EVIL = "<script>alert(1)</script>"


@pytest.fixture(autouse=True)
def own_folder(tmp_path: Any, settings: Any) -> None:
    settings.CHIMERA = settings.CHIMERA.model_copy(update={"chimera_data_dir": tmp_path})


def post(
    agent: Agent, text: str = "Merkato knew first.", likes: int = 10, **more: Any
) -> Publication:
    """A published post of the agent with reactions."""
    content = stored(agent)
    account = PlatformAccount.objects.create(platform="twitter", handle=uuid4().hex[:12])
    request = decision(agent, content)
    made = {
        "content": content,
        "revision": 1,
        "platform": "twitter",
        "account": account,
        "text": text,
        "action_digest": request.action_digest,
        "approval_id": request.id,
        "execution_id": new_id(),
        "agent": agent,
        "state": "published",
        "post_id": uuid4().hex,
        "post_url": "https://x.example/1",
        "published_at": now(),
        "engagement": {"likes": likes, "comments": 2, "shares": 1},
    }
    return Publication.objects.create(**(made | more))


def decision(agent: Agent, content: ContentPackage, status: str = "consumed") -> ApprovalRequest:
    return ApprovalRequest.objects.create(
        kind="publish_content",
        action={"type": "publish_content", "content_id": str(content.id)},
        action_digest=uuid4().hex,
        sentence="Publish",
        agent=agent,
        lane="fast",
        status=status,
        expires_at=now(),
        decided_at=now(),
        consumed_by=new_id(),
    )


def files(execution: SkillExecution, api: Any, agent: Agent) -> dict[str, str]:
    """Name -> text of the files of an execution, as its caller downloads them."""
    client = api(agent)
    shown = client.get(f"/api/v1/executions/{execution.id}/").json()["artifacts"]
    return {
        each["name"]: b"".join(client.get(each["url"]).streaming_content).decode() for each in shown
    }


@pytest.mark.req("I4", "I6")
def test_the_report_counts_the_callers_posts_reactions_and_decisions(
    orchestrator: Agent, outsider: Agent, api: Any
) -> None:
    first = post(orchestrator)
    post(orchestrator, likes=5)
    post(outsider, likes=1000)
    decision(orchestrator, first.content, "rejected")
    old = post(orchestrator, likes=777)
    Publication.objects.filter(id=old.id).update(created_at=now() - timedelta(days=40))
    ApprovalRequest.objects.filter(id=old.approval_id).update(created_at=now() - timedelta(days=40))

    execution = call(orchestrator, "generate_report", title="Merkato")

    assert execution.status == Status.COMPLETED, execution.error
    found = execution.output
    sums = [found[name] for name in ("posts", "likes", "comments", "shares")]
    assert sums == [2, 15, 4, 2]
    assert found["decisions"] == {"consumed": 2, "rejected": 1} and found["spend"] == []
    made = files(execution, api, orchestrator)
    assert list(made) == found["files"] == ["report.html", "posts.csv"]
    rows = list(csv.DictReader(io.StringIO(made["posts.csv"])))
    assert [row["likes"] for row in rows] == ["10", "5"]
    assert made["report.html"].count("<svg") == 3 and "Merkato" in made["report.html"]


@pytest.mark.req("I4")
def test_one_campaign_is_reported_by_itself(orchestrator: Agent) -> None:
    wanted = post(orchestrator, likes=3)
    post(orchestrator, likes=100)

    campaign = str(wanted.content.task_id)
    execution = call(orchestrator, "generate_report", campaign=campaign)

    assert (execution.output["posts"], execution.output["likes"]) == (1, 3)
    assert execution.output["decisions"] == {"consumed": 1}


class Outside(HTMLParser):
    """Collects what a page would load or run."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        loads = [name for name, _ in attrs if name in ("src", "href") or name.startswith("on")]
        if tag in ("script", "link", "iframe", "img", "object") or loads:
            self.found.append(tag)


@pytest.mark.req("I4", "I6")
def test_the_page_loads_nothing_and_runs_nothing_whatever_the_posts_say(
    orchestrator: Agent, api: Any
) -> None:
    post(orchestrator, text=f'{EVIL}"><img src=x onerror=alert(1)>')
    execution = call(orchestrator, "generate_report", title=EVIL)

    page = files(execution, api, orchestrator)["report.html"]
    seen = Outside()
    seen.feed(page)

    assert seen.found == [] and "default-src 'none'" in page
    assert "&lt;script&gt;alert(1)" in page


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@SUM(A1)", " =1", "\t=1"])
@pytest.mark.req("I4")
def test_a_text_that_a_spreadsheet_would_run_is_made_plain(
    text: str, orchestrator: Agent, api: Any
) -> None:
    post(orchestrator, text=text)
    execution = call(orchestrator, "generate_report")

    rows = list(csv.DictReader(io.StringIO(files(execution, api, orchestrator)["posts.csv"])))

    assert rows[0]["text"] == f"'{text}"


@pytest.mark.req("I4")
def test_a_report_about_nothing_is_a_report(orchestrator: Agent, api: Any) -> None:
    execution = call(orchestrator, "generate_report")

    assert execution.status == Status.COMPLETED and execution.output["posts"] == 0
    assert "0 posts" in files(execution, api, orchestrator)["report.html"]


@pytest.mark.req("I5")
def test_a_span_that_ends_before_it_begins_is_refused_by_name(
    orchestrator: Agent, api: Any
) -> None:
    span = {"since": iso(now()), "until": iso(now() - timedelta(days=1))}
    path = "/api/v1/skills/generate_report/executions/"

    answer = api(orchestrator).post(path, {"input": span}, content_type="application/json")

    assert answer.status_code == 400 and list(answer.json()["errors"]) == ["until"]
    assert not SkillExecution.objects.exists()
