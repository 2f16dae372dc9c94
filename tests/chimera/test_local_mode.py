"""CHIMERA_PLATFORM=local: the networks' local servers beside the sandbox world, and accounts on them."""

import json
import socket
from collections.abc import Iterator
from io import StringIO
from pathlib import Path
from typing import Any

import httpx
import pytest
from django.core.management import CommandError, call_command

from agents.models import Agent
from chimera import connecting, stack
from chimera.env import Env
from chimera.provisioning import demo_agents_ensure
from content.connections import credentials_open
from content.intents import base_url_of
from content.models import Platform, PlatformAccount
from content.platforms.base import PublishIntent
from content.platforms.registry import adapter_for
from tests.chimera.test_stack import PRODUCTION
from tests.fakes.server import make, running
from tests.helpers.stack import Stack, free_ports
from wallets.models import Wallet

NETWORKS = sorted(Platform.values)


def use(settings: Any, **changes: Any) -> None:
    changed = {"chimera_platform": "local", **changes}
    settings.CHIMERA = settings.CHIMERA.model_copy(update=changed)


@pytest.fixture
def local(settings: Any) -> Iterator[str]:
    """The four networks' servers, which are those of the deployment; their common address."""
    with running([make(name) for name in NETWORKS]) as url:
        use(settings, chimera_local_url=url)
        yield url


# --- accounts ---------------------------------------------------------------------------------


@pytest.mark.django_db
@pytest.mark.req("A5.8")
def test_a_new_agent_is_connected_on_all_four_networks(local: str) -> None:
    told = StringIO()
    call_command("create_agent", "Penny", "--role", "orchestrator", "--json", stdout=told)

    agent = Agent.objects.get(id=json.loads(told.getvalue())["agent_id"])
    accounts = {account.platform: account for account in agent.accounts.all()}
    assert sorted(accounts) == NETWORKS
    for platform, account in accounts.items():
        adapter, credentials = adapter_for(platform, account.mode), credentials_open(account)
        assert (account.mode, base_url_of(account, adapter)) == ("local", f"{local}/{platform}")
        assert credentials.access_token and account.handle.startswith("penny_")


@pytest.mark.django_db
def test_accounts_work_again_after_the_servers_have_forgotten_them(
    local: str, settings: Any, orchestrator: Agent
) -> None:
    connecting.accounts_ensure(orchestrator, "aurora_style")
    with running([make(name) for name in NETWORKS]) as fresh:
        use(settings, chimera_local_url=fresh)
        connecting.accounts_reconnect()

        account = PlatformAccount.objects.get(platform="youtube")
        assert account.base_url == f"{fresh}/youtube" and account.agent == orchestrator
        adapter = adapter_for("youtube", "local")
        assert adapter.refresh(_question(account)).access_token, "the server knows the account"
    assert PlatformAccount.objects.count() == 4


@pytest.mark.django_db
def test_a_second_start_connects_the_demo_agents_again(
    local: str, orchestrator: Agent, tmp_path: Path
) -> None:
    row = {"name": "Aurora", "agent_id": str(orchestrator.id)}
    (tmp_path / "demo-agents.json").write_text(json.dumps([row]))
    tokens = []
    for _ in range(2):
        demo_agents_ensure(tmp_path)
        accounts = PlatformAccount.objects.filter(handle="aurora_style", agent=orchestrator)
        assert accounts.count() == 4
        tokens += [credentials_open(account).access_token for account in accounts]

    assert len(set(tokens)) == 8, "the second start gave every account a new token"


def _question(account: PlatformAccount) -> PublishIntent:
    return PublishIntent(
        account.id, "youtube", account.handle, "", (), account.base_url, credentials_open(account)
    )


@pytest.mark.django_db
def test_accounts_of_another_mode_and_of_other_servers_are_left_alone(
    local: str, orchestrator: Agent
) -> None:
    fields = {"platform": "youtube", "agent": orchestrator, "sealed_credentials": b"as it was"}
    PlatformAccount.objects.create(handle="a", mode="sandbox", **fields)
    PlatformAccount.objects.create(
        handle="b", mode="local", base_url="https://youtube.test", **fields
    )
    connecting.accounts_reconnect()
    connecting.accounts_ensure(orchestrator, "c")

    assert PlatformAccount.objects.filter(sealed_credentials=b"as it was").count() == 2
    assert PlatformAccount.objects.filter(handle="c", mode="local").count() == 4


@pytest.mark.django_db
def test_without_the_local_servers_no_agent_is_made(settings: Any) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))  # bound, not listening: connections are refused
        address = f"http://127.0.0.1:{probe.getsockname()[1]}"
        use(settings, chimera_local_url=address)
        with pytest.raises(CommandError) as refused:
            call_command("create_agent", "Penny", "--role", "orchestrator", stdout=StringIO())

    message = str(refused.value)
    assert address in message and "CHIMERA_LOCAL_URL" in message and "PORT+4" in message
    for model in (Agent, Wallet, PlatformAccount):
        assert model.objects.count() == 0


# --- the stack --------------------------------------------------------------------------------


def test_local_mode_adds_one_process_on_the_fifth_port(settings: Any, tmp_path: Path) -> None:
    before = {spec.name for spec in stack.processes(9000, tmp_path)}
    use(settings)
    specs = {spec.name: spec for spec in stack.processes(9000, tmp_path)}

    assert set(specs) - before == {"networks"} and specs["networks"].port == 9004
    assert specs["worker"].env["CHIMERA_LOCAL_URL"] == "http://127.0.0.1:9004"


def test_an_installation_without_the_local_servers_says_so_and_starts_nothing(
    settings: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    use(settings)
    monkeypatch.setattr(stack, "LOCAL_SERVERS", tmp_path / "tests" / "fakes")
    said: list[str] = []

    assert stack.run(8200, tmp_path / "data", said.append) == 1
    assert "CHIMERA_PLATFORM=local needs the local servers" in said[0]
    assert "Unset CHIMERA_PLATFORM" in said[0] and not list(tmp_path.glob("data/log/*.log"))


def test_production_ignores_local_mode(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("CHIMERA_PLATFORM_FILE", "CHIMERA_PROCESS", "CHIMERA_KILL_AT"):
        monkeypatch.delenv(name, raising=False)
    for name, value in (PRODUCTION | {"CHIMERA_PLATFORM": "local"}).items():
        monkeypatch.setenv(name, value)

    assert Env(rpc_urls={}).chimera_platform == "live"


@pytest.fixture
def own(settings: Any, tmp_path: Path) -> Iterator[Stack]:
    """A whole platform in local mode on five ports of its own."""
    use(settings)
    platform = Stack(free_ports(), tmp_path, {"CHIMERA_PLATFORM": "local"})
    try:
        platform.start()
        yield platform
    finally:
        if platform.process:
            platform.interrupt()


@pytest.mark.chaos
@pytest.mark.req("A5.8", "A5.9")
def test_a_stack_in_local_mode_publishes_one_post_and_the_server_counts_one(own: Stack) -> None:
    demo = own.manage("demo", "--approve")
    assert demo.returncode == 0, demo.stdout + demo.stderr
    post_url = json.loads(demo.stdout.splitlines()[-1])["post_url"]

    with httpx.Client(base_url=stack.local_url(own.port), trust_env=False) as networks:
        (post,) = networks.get("/twitter/_effects").json()
        others = [networks.get(f"/{name}/_effects").json() for name in NETWORKS[:2]]
    assert post_url.endswith(post["id"]) and others == [[], []]
    with httpx.Client(base_url=own.world_url, trust_env=False) as world:
        assert world.get("/posts.json").json() == [], "nothing went to the sandbox world"
