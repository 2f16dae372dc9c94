"""What the stack consists of, and when it refuses to start."""

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from chimera import stack
from chimera.supervisor import StackError
from tests.helpers.stack import free_ports

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def taken() -> Iterator[int]:
    """A port that another program listens on, with room for a stack below it."""
    with socket.socket() as other:
        other.bind(("127.0.0.1", free_ports() + 4))
        other.listen()
        yield other.getsockname()[1]


def runstack(port: str, data_dir: Path, **env: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, str(ROOT / "manage.py"), "runstack"],
        env={**os.environ, "PORT": port, "CHIMERA_DATA_DIR": str(data_dir), **env},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_port_in_use_is_named_with_its_user_and_the_remedy_and_nothing_starts(
    taken: int, tmp_path: Path
) -> None:
    said: list[str] = []
    assert stack.run(taken - 2, tmp_path, said.append) == 1
    (line,) = said
    assert f"In use by another program: port {taken} (world)." in line
    assert "PORT=9000 make run" in line
    assert not list(tmp_path.glob("log/*.log"))


def test_runstack_on_a_taken_port_ends_with_status_1_and_the_message(
    taken: int, tmp_path: Path
) -> None:
    answer = runstack(str(taken - 3), tmp_path)
    assert answer.returncode == 1
    assert f"port {taken} (chain)" in answer.stdout


def test_second_stack_on_one_data_directory_is_refused_with_the_first_ones_address(
    tmp_path: Path,
) -> None:
    said: list[str] = []
    with stack.exclusive(tmp_path, 8123):
        assert stack.run(8200, tmp_path, said.append) == 1
    assert "http://localhost:8123" in said[0]
    assert "CHIMERA_DATA_DIR=" in said[0]
    assert not list(tmp_path.glob("log/*.log"))


def test_data_directory_is_free_again_after_the_stack(tmp_path: Path) -> None:
    with stack.exclusive(tmp_path, 8123):
        pass
    with stack.exclusive(tmp_path, 9000):
        assert "http://localhost:9000" in (tmp_path / "stack.lock").read_text()


def test_port_that_is_no_number_is_refused_by_name(tmp_path: Path) -> None:
    answer = runstack("ninety", tmp_path)
    assert answer.returncode == 1
    assert "PORT is 'ninety'" in answer.stderr


def test_runstack_is_refused_outside_the_sandbox(tmp_path: Path) -> None:
    answer = runstack("8000", tmp_path, **PRODUCTION)
    assert answer.returncode == 1
    assert "runstack is for the sandbox" in answer.stderr
    assert not list(tmp_path.glob("log/*.log"))


PRODUCTION = {
    "CHIMERA_ENVIRONMENT": "production",
    "SECRET_KEY": "runstack-test-" * 5,
    "CHIMERA_ISSUER": "https://chimera.example",
    "CHIMERA_WEB_URL": "https://chimera.example",
    "CHIMERA_HOSTS": "chimera.example",
    "DATABASE_URL": "postgres://chimera@db.example/chimera",
    "CELERY_BROKER_URL": "redis://redis.example/0",
    "CACHE_URL": "redis://redis.example/1",
}


def test_port_moves_every_process_and_every_address(tmp_path: Path) -> None:
    specs = {spec.name: spec for spec in stack.processes(9000, tmp_path)}
    assert {name: spec.port for name, spec in specs.items() if spec.port} == {
        "web": 9000,
        "mcp": 9001,
        "world": 9002,
        "chain": 9003,
    }
    env = specs["worker"].env
    assert env["CHIMERA_WEB_URL"] == "http://localhost:9000"
    assert env["CHIMERA_WORLD_URL"] == "http://127.0.0.1:9002"
    assert env["CHIMERA_RPC_URL_DEVNET"] == "http://127.0.0.1:9003"


def test_only_the_web_process_is_told_that_it_is_web(tmp_path: Path) -> None:
    told = {spec.name: spec.env.get("CHIMERA_PROCESS") for spec in stack.processes(8000, tmp_path)}
    assert told == {
        "chain": None,
        "world": None,
        "web": "web",
        "mcp": None,
        "worker": "worker",
        "scheduler": "scheduler",
    }


def test_web_server_listens_on_loopback_only(tmp_path: Path) -> None:
    web = next(spec for spec in stack.processes(8000, tmp_path) if spec.name == "web")
    assert web.argv[list(web.argv).index("--bind") + 1] == "127.0.0.1:8000"


def test_mcp_endpoint_listens_on_the_port_after_the_web_servers_and_is_asked_whether_it_is_there(
    tmp_path: Path,
) -> None:
    mcp = next(spec for spec in stack.processes(9000, tmp_path) if spec.name == "mcp")
    assert mcp.argv[-3:] == ["serve_mcp", "--port", "9001"]
    assert mcp.ready == "http://127.0.0.1:9001/healthz"
    assert not mcp.once, "it is started again when it dies"
    assert stack.mcp_url(9000) == "http://127.0.0.1:9001/mcp"


def test_stack_error_names_every_taken_port(taken: int, tmp_path: Path) -> None:
    specs = [spec for spec in stack.processes(taken - 2, tmp_path) if spec.name in ("web", "world")]
    with socket.socket() as second:
        try:
            second.bind(("127.0.0.1", taken - 2))
        except OSError:
            pytest.skip("the port below is in use already")
        second.listen()
        with pytest.raises(StackError, match=rf"port {taken} \(world\), port {taken - 2} \(web\)"):
            stack.require_free_ports(specs)
