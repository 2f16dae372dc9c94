"""The image and the compose file, read as data: who runs as whom, who may see which secret."""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
DOCKERFILE = (ROOT / "Dockerfile").read_text()
OURS = ["web", "mcp", "worker", "beat", "migrate"]
GIVEN = {
    "CHIMERA_WEB_URL": "https://chimera.example",
    "CHIMERA_ISSUER": "https://chimera.example",
    "CHIMERA_HOSTS": "chimera.example",
    "CHIMERA_RPC_URL_BASE": "https://rpc.example",
    "CHIMERA_SETTLEMENT_ADDRESS": "0x000000000000000000000000000000000000dEaD",
}
SECRETS = {
    "secret_key": "only-for-this-test-" * 4,
    "database_url": "postgres://chimera:pw@postgres/chimera",
    "celery_broker_url": "redis://:pw@redis:6379/0",
    "cache_url": "redis://:pw@redis:6379/1",
}


def instructions(name: str) -> list[str]:
    """The arguments of an instruction of the Dockerfile, in order."""
    joined = DOCKERFILE.replace("\\\n", " ")
    return [line.split(None, 1)[1] for line in joined.splitlines() if line.startswith(f"{name} ")]


def environment(service: str, secrets: Path) -> dict[str, str]:
    """What compose would give the service, with the variables of GIVEN and the secrets as files."""
    values = {}
    for name, text in SERVICES[service]["environment"].items():
        resolved = re.sub(r"\$\{(\w+):\?[^}]*\}", lambda found: GIVEN[found[1]], text)
        values[name] = resolved.replace("/run/secrets", str(secrets))
    return values


@pytest.fixture
def secrets(tmp_path: Path) -> Path:
    for name, value in SECRETS.items():
        (tmp_path / name).write_text(value)
    return tmp_path


def test_every_process_of_the_platform_has_a_service() -> None:
    assert set(SERVICES) == {*OURS, "postgres", "redis"}


@pytest.mark.req("C5")
def test_only_the_web_service_mounts_and_names_the_private_approval_keys() -> None:
    mounting = [
        name for name, service in SERVICES.items() if "approval-keys" in str(service["volumes"])
    ]
    naming = [
        name for name in OURS if "CHIMERA_APPROVAL_KEYS" in str(SERVICES[name]["environment"])
    ]
    assert mounting == naming == ["web"]


@pytest.mark.req("C5")
def test_web_and_worker_are_different_users_and_none_is_root() -> None:
    users = {name: SERVICES[name]["user"] for name in OURS}
    assert users == {"web": "web"} | dict.fromkeys(["mcp", "worker", "beat", "migrate"], "worker")
    created = dict(re.findall(r"useradd --uid (\d+) .*?/usr/sbin/nologin (\w+)", DOCKERFILE))
    assert {name: int(uid) > 0 for uid, name in created.items()} == {"web": True, "worker": True}
    assert len(created) == 2
    assert instructions("USER")[-1] == "web"


@pytest.mark.req("C5")
def test_folder_of_the_keys_belongs_to_web_alone() -> None:
    assert "--owner web --group chimera --mode 0700 /keys" in DOCKERFILE


def test_image_starts_from_python_311_and_installs_hashed_packages_only() -> None:
    assert {image.split()[0] for image in instructions("FROM")} == {"python:3.11-slim"}
    installs = [line for line in instructions("RUN") if "pip install" in line]
    assert installs
    assert all("--require-hashes" in line for line in installs)


def test_image_takes_only_what_is_listed() -> None:
    lines = (ROOT / ".dockerignore").read_text().split()
    rules = [line for line in lines if not line.startswith("#")]
    assert "*" in rules
    allowed = {rule[1:] for rule in rules if rule.startswith("!")}
    assert not allowed & {"var", "secrets", ".git", ".env", "tests", ".venv"}
    apps = {path.parent.name for path in ROOT.glob("*/__init__.py")} - {"tests", "benchmarks"}
    assert apps <= allowed


@pytest.mark.parametrize("service", OURS)
def test_environment_of_each_service_is_a_complete_production_deployment(
    service: str, secrets: Path, tmp_path: Path
) -> None:
    inherited = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    answer = subprocess.run(
        [
            sys.executable,
            "-c",
            "from chimera import env; e = env.load(); print(e.environment, e.chimera_process)",
        ],
        env={**inherited, **environment(service, secrets), "CHIMERA_DATA_DIR": str(tmp_path)},
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    process = {"beat": "scheduler", "migrate": "command", "mcp": "command"}.get(service, service)
    assert answer.stderr == ""
    assert answer.stdout.split() == ["production", process]


@pytest.mark.req("W5")
@pytest.mark.parametrize("service", SERVICES)
def test_secrets_come_as_files_that_the_service_is_given(service: str) -> None:
    settings = SERVICES[service].get("environment", {})
    secret = ("SECRET_KEY", "DATABASE_URL", "CELERY_BROKER_URL", "CACHE_URL", "POSTGRES_PASSWORD")
    assert not set(secret) & set(settings)
    files = {value.rsplit("/", 1)[1] for name, value in settings.items() if name.endswith("_FILE")}
    assert files <= set(SERVICES[service]["secrets"]) <= set(COMPOSE["secrets"])


def test_redis_refuses_writes_rather_than_drop_work() -> None:
    command = " ".join(SERVICES["redis"]["command"])
    assert "--maxmemory-policy noeviction" in command
    assert "--appendonly yes" in command
    assert "--requirepass" in command


def test_web_is_healthy_when_readyz_says_so() -> None:
    assert "http://127.0.0.1:8000/readyz" in SERVICES["web"]["healthcheck"]["test"][-1]


def test_mcp_is_healthy_when_its_endpoint_answers_and_listens_where_the_port_leads() -> None:
    mcp = SERVICES["mcp"]
    assert "http://127.0.0.1:8001/healthz" in mcp["healthcheck"]["test"][-1]
    assert mcp["command"][-4:] == ["--host", "0.0.0.0", "--port", "8001"]


@pytest.mark.parametrize("service", ["web", "mcp", "worker", "beat"])
def test_services_wait_for_the_migration_and_the_broker(service: str) -> None:
    waits = {name: needed["condition"] for name, needed in SERVICES[service]["depends_on"].items()}
    assert waits == {"migrate": "service_completed_successfully", "redis": "service_healthy"}


def test_nothing_listens_outside_loopback_and_stores_have_no_way_out() -> None:
    published = [port for service in SERVICES.values() for port in service.get("ports", [])]
    assert published == ["127.0.0.1:8000:8000", "127.0.0.1:8001:8001"]
    assert COMPOSE["networks"]["data"] == {"internal": True}
    assert SERVICES["postgres"]["networks"] == SERVICES["redis"]["networks"] == ["data"]


@pytest.mark.parametrize("service", OURS)
def test_containers_run_read_only_and_without_capabilities(service: str) -> None:
    assert SERVICES[service]["read_only"] is True
    assert SERVICES[service]["cap_drop"] == ["ALL"]
    assert SERVICES[service]["security_opt"] == ["no-new-privileges:true"]
