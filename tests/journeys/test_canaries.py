"""A unique secret in every credential, the main job and its failures on a running platform: no hit anywhere."""

import json
import os
import re
import secrets
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import pytest

from chimera.demo.reviewer import Reviewer
from tests.helpers.calls import package, trend
from tests.helpers.campaigns import Told, run_to_end
from tests.helpers.canaries import (
    Answers,
    LeakyProvider,
    Tap,
    database_dump,
    hits,
    leaky_provider,
    recorded,
)
from tests.helpers.processes import descendants_of
from tests.helpers.servers import migrate_ahead, own_servers
from tests.helpers.stack import Stack, free_ports

PLATFORM_TOKEN = f"canary-platform-{secrets.token_hex(12)}"
INSIDE = """
import json
from django.conf import settings
from agents.models import Agent
from chimera.core.secrets import decrypt, encrypt
from content.models import PlatformAccount
from wallets.models import Wallet
agent = Agent.objects.get(type="orchestrator", name={name!r})
PlatformAccount.objects.update_or_create(
    platform="twitter", handle="leaky", agent=agent,
    defaults=dict(base_url={url!r}, sealed_credentials=encrypt({token!r}.encode())))
found = {{f"wallet key {{w.address}}": decrypt(w.encrypted_key).hex() for w in Wallet.objects.all()}}
for account in PlatformAccount.objects.all():
    found[f"token of {{account.platform}}/{{account.handle}}"] = decrypt(account.sealed_credentials).decode()
print("FOUND" + json.dumps(found))
"""
CRAWL = (
    "/",
    "/review/",
    "/audit/",
    "/admin/",
    "/content/",
    "/executions/",
    "/wallets/",
    "/agents/",
)
LISTS = ("skills", "executions", "content", "agents/me", "approvals")
MOST_PAGES = 150
# What the sandbox prints for the person at the terminal, and is meant to.
_LOGIN = re.compile(r"^  \w+ / \S+  \(\w+\)$", re.MULTILINE)


@dataclass
class Scene:
    """A platform full of canaries and everything that was seen of it."""

    stack: Stack
    provider: LeakyProvider
    answers: Answers
    tap: Tap
    database_url: str
    secrets: dict[str, str] = field(default_factory=dict)

    def logins(self, role: str) -> dict[str, str]:
        rows = self.stack.place.read("demo-logins.json")
        return dict(next(row for row in rows if row["role"] == role))

    def agent(self, role: str) -> httpx.Client:
        """A client with a fresh access token of the demo's agent."""
        rows = self.stack.place.read("demo-agents.json")
        row = next(row for row in rows if row["role"] == role)
        http = httpx.Client(base_url=self.stack.url, trust_env=False, timeout=90)
        body = {"client_id": row["client_id"], "client_secret": row["client_secret"]}
        token = http.post("/oauth/token/", data=body | {"grant_type": "client_credentials"}).json()
        http.headers["Authorization"] = f"Bearer {token['access_token']}"
        return http

    def inside(self, name: str) -> None:
        """Connect an account at the leaky provider; learn the secrets that only the platform has."""
        code = INSIDE.format(name=name, url=self.provider.url, token=PLATFORM_TOKEN)
        said = self.stack.manage("shell", "-c", code)
        self.secrets |= json.loads(said.stdout.partition("FOUND")[2] or said.stderr)

    def known(self) -> dict[str, str]:
        """Every secret that must stand nowhere."""
        found = self.secrets | self.answers.tokens
        for row in self.stack.place.read("demo-logins.json"):
            found[f"password of {row['username']}"] = row["password"]
        for row in self.stack.place.read("demo-agents.json"):
            found[f"client secret of {row['role']}"] = row["client_secret"]
        for path in (self.stack.data_dir / "keys").rglob("*"):
            if path.is_file() and "PRIVATE" in path.read_text():
                found[f"approval key {path.name}"] = path.read_text().splitlines()[1]
        return found

    def places(self) -> dict[str, str]:
        """Every text that the platform has written or answered."""
        logs = list((self.stack.data_dir / "log").iterdir())
        export = self.stack.data_dir / "audit.jsonl"
        said = self.stack.manage("verify_audit", "--export", str(export))
        return {
            **{f"log {path.name}": path.read_text(errors="replace") for path in logs},
            "terminal": _LOGIN.sub("", self.stack.said()),
            **database_dump(self.stack.data_dir, self.database_url),
            **{f"message {name}": text for name, text in self.tap.messages.items()},
            **self.answers.texts,
            "audit export": export.read_text(),
            "verify_audit": said.stdout + said.stderr,
        }


@contextmanager
def scene(folder: Path) -> Iterator[Scene]:
    made = {
        "SECRET_KEY": f"canary-secret-key-{secrets.token_hex(32)}",
        "CHIMERA_METRICS_TOKEN": f"canary-metrics-{secrets.token_hex(12)}",
        "CANARY_MCP": f"canary-mcp-{secrets.token_hex(12)}",
        "CHIMERA_GEMINI_API_KEY": f"canary-gemini-{secrets.token_hex(12)}",
        "CHIMERA_OPENAI_API_KEY": f"canary-openai-{secrets.token_hex(12)}",
    }
    known = made | {"platform token": PLATFORM_TOKEN}
    with own_servers() as servers, leaky_provider() as provider, recorded() as answers:
        database = servers.get("DATABASE_URL", "")
        if "postgres@" in database:  # a server that trusts its own machine takes any password
            known["database password"] = f"canary-database-{secrets.token_hex(12)}"
            database = database.replace("postgres@", f"postgres:{known['database password']}@")
            servers["DATABASE_URL"] = database
        stack = Stack(free_ports(), folder, made | servers | {"CHIMERA_RATE_LIMIT": "10000"})
        migrate_ahead(folder)
        messages = folder / "broker" / "messages"
        messages.mkdir(parents=True)
        with Tap(messages, servers.get("CELERY_BROKER_URL", "")) as tap:
            try:
                yield Scene(stack, provider, answers, tap, database, known)
            finally:
                if stack.process:
                    stack.interrupt()


def leaky_settings(at: Scene) -> None:
    """From the next start on models and MCP servers are at the provider that gives secrets back."""
    config = at.stack.data_dir / "mcp.json"
    server = {"url": f"{at.provider.url}/mcp", "headers": {"Authorization": "Bearer ${CANARY_MCP}"}}
    config.write_text(json.dumps({"mcpServers": {"leaky": server}}))
    at.stack.env |= {
        "CHIMERA_MCP_CONFIG": str(config),
        "CHIMERA_LLM_MODEL": "google:gemini-3-flash",
        "CHIMERA_LLM_FALLBACK_MODEL": "openai:gpt-5-mini",
        "CHIMERA_GEMINI_BASE_URL": at.provider.url,
        "CHIMERA_OPENAI_BASE_URL": at.provider.url,
    }


def wait_out(http: httpx.Client, made: httpx.Response) -> dict[str, Any]:
    """The execution once it has ended or is stuck at an unknown outcome."""
    for _ in range(60):
        found = http.get(
            f"/api/v1/executions/{made.json()['id']}/", headers={"Prefer": "wait=2"}
        ).json()
        if found["status"] in ("completed", "failed", "outcome_unknown"):
            break
    return dict(found)


def fail_everywhere(at: Scene) -> list[str]:
    """Calls whose provider gives the credential back, and calls with a good token in a wrong place."""
    http = at.agent("orchestrator")
    me = http.get("/api/v1/agents/me/").json()
    at.inside(me["name"])
    calls = {
        "fetch_trends": {"platform": "twitter", "limit": 7},  # nobody has asked this before
        "semantic_filter": {"trends": [trend()], "campaign_goals": ["street fashion"]},
        "generate_content": {"trend": trend(), "persona": me["persona"], "platform": "twitter"},
    }
    made = [
        http.post(f"/api/v1/skills/{name}/executions/", json={"input": data})
        for name, data in calls.items()
    ]
    ended = [wait_out(http, each) for each in made]
    ended.append(wait_out(http, publish_to_the_leaky_account(at, http)))
    misplace_tokens(at, http)
    return [f"{each['skill']} {(each['error'] or {}).get('code')}" for each in ended]


def publish_to_the_leaky_account(at: Scene, http: httpx.Client) -> httpx.Response:
    content = package()
    http.post("/api/v1/content/", json=content).raise_for_status()
    check = {"content": content}
    url = "/api/v1/skills/validate_content/executions/"
    checked = wait_out(http, http.post(url, json={"input": check}))
    assert checked["output"] and checked["output"]["valid"], checked
    ask = {"action": "publish_content", "platform": "twitter", "account": "leaky"}
    body = ask | {"content_id": content["content_id"]}
    request = http.post("/api/v1/approvals/", json=body).raise_for_status().json()
    person = at.logins("reviewer")
    reviewer = Reviewer(at.stack.url, person["username"], person["password"], lambda *_: None)
    reviewer.sign_in()
    reviewer.approve(request["id"])
    token = http.get(f"/api/v1/approvals/{request['id']}/").json()["approval_token"]
    given = {"content": content, "platform": "twitter", "approval_token": token}
    url = "/api/v1/skills/publish_content/executions/"
    with stopped_worker(at):
        made = http.post(url, json={"input": given})
        assert "[redacted]" in made.text and len(at.tap.messages) > 0
    return made


@contextmanager
def stopped_worker(at: Scene) -> Iterator[None]:
    """The worker stands still, so that messages lie in the broker for all to read."""
    leader = at.stack.pids()["worker"]
    tree = [leader, *descendants_of(leader)]
    for pid in tree:
        os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        for pid in tree:
            os.kill(pid, signal.SIGCONT)


def misplace_tokens(at: Scene, http: httpx.Client) -> None:
    """Good secrets where they do not belong: none of them may come back."""
    signed = [token for name, token in at.answers.tokens.items() if "approvals" in name][-1]
    debit = {"wallet_address": "0x" + "1" * 40, "amount": "x", "approval_token": signed}
    web = httpx.Client(base_url=at.stack.url, trust_env=False, timeout=60)
    person = at.logins("reviewer")
    for post in (
        lambda: at.agent("cfo_judge").post(
            "/api/v1/skills/debit_wallet/executions/", json={"input": debit}
        ),
        lambda: http.post("/api/v1/skills/publish_content/executions/", json={"input": signed}),
        lambda: http.post("/api/v1/content/", content=f'{{"token": "{signed}"'),
        lambda: web.get("/api/v1/skills/", headers={"Authorization": f"Basic {signed}"}),
        lambda: web.get(
            "/metrics", headers={"Authorization": f"Bearer {at.secrets['SECRET_KEY']}"}
        ),
        lambda: web.post(
            "/accounts/login/", data={"login": "rita", "password": person["password"]}
        ),
        lambda: web.post("/oauth/token/", data={"client_id": "x", "client_secret": signed}),
    ):
        post()


def look_at_everything(at: Scene) -> int:
    """Lists of the API, the metrics, and every page that a signed-in person can reach; how many."""
    for role in ("orchestrator", "cfo_judge"):
        http = at.agent(role)
        for name in LISTS:
            http.get(f"/api/v1/{name}/")
        for execution in http.get("/api/v1/executions/?limit=50").json()["results"]:
            http.get(f"/api/v1/executions/{execution['id']}/")
    httpx.Client(trust_env=False, timeout=60).get(f"{at.stack.url}/metrics").raise_for_status()
    httpx.Client(trust_env=False, timeout=60).get(f"{at.stack.url}/api/schema/").raise_for_status()
    return sum(crawl(at, role) for role in ("reviewer", "admin"))


def crawl(at: Scene, role: str) -> int:
    """Follow every link that a person of this role sees; how many pages were there."""
    person = at.logins(role)
    reviewer = Reviewer(at.stack.url, person["username"], person["password"], lambda *_: None)
    reviewer.sign_in()
    seen, waiting = set[str](), list(CRAWL)
    while waiting and len(seen) < MOST_PAGES:
        path = waiting.pop(0)
        if path in seen or "logout" in path or path.startswith(("//", "/static/", "/oauth/")):
            continue
        seen.add(path)
        answer = reviewer._web.get(path)
        if answer.is_success and "html" in answer.headers.get("content-type", ""):
            waiting += re.findall(r'href="(/[^"#?]*)', answer.text)
    return len(seen)


@pytest.mark.req("A0.5", "W5", "C5")
def test_no_secret_stands_in_anything_that_the_platform_writes(tmp_path: Path) -> None:
    with scene(tmp_path) as at:
        at.stack.start()
        run_to_end(at.stack, Told())
        at.stack.interrupt()
        leaky_settings(at)
        at.stack.start()

        ended = fail_everywhere(at)
        pages = look_at_everything(at)
        places, known = at.places(), at.known()

    heard = "\n".join(at.provider.heard)
    used = ("CANARY_MCP", "CHIMERA_GEMINI_API_KEY", "CHIMERA_OPENAI_API_KEY", "platform token")
    for name in used:
        assert known[name] in heard, f"{name} was never sent: {ended}"
    assert pages > 20 and len(known) > 15 and len(at.answers.texts) > 60
    assert any("skills.run" in text for text in at.tap.messages.values())
    assert hits({"control": str(uuid4())}, places) == []
    assert hits({"a name that is everywhere": "fetch_trends"}, places)
    assert hits(known, places) == []
