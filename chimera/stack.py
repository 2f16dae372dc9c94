"""What `make run` starts: the whole platform on the embedded default, on one machine.

Ports follow from one number: web PORT, MCP endpoint PORT+1, sandbox world PORT+2, local chain PORT+3,
and with CHIMERA_PLATFORM=local the networks' local servers PORT+4. One data directory belongs to one
stack at a time.
"""

import fcntl
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from django.conf import settings

from chimera.probes import answers, is_free
from chimera.supervisor import ProcessSpec, StackError, Stopped, Supervisor, spawn

ROOT = Path(__file__).resolve().parent.parent
LOCAL_SERVERS = ROOT / "tests" / "fakes"
OWN_STACK_DEADLINE = 180.0


def web_url(port: int) -> str:
    """Where people and agents reach the web server; WebAuthn needs the name, not the address."""
    return f"http://localhost:{port}"


def mcp_url(port: int) -> str:
    """Where agents reach the skills as MCP tools."""
    return f"http://127.0.0.1:{port + 1}/mcp"


def local_url(port: int) -> str:
    """Where the local servers of CHIMERA_PLATFORM=local listen, each network under its name."""
    return f"http://127.0.0.1:{port + 4}"


def environment(port: int, data_dir: Path) -> dict[str, str]:
    """What every process of the stack is told about the others."""
    return {
        "CHIMERA_DATA_DIR": str(data_dir),
        "CHIMERA_WEB_URL": web_url(port),
        "CHIMERA_WORLD_URL": f"http://127.0.0.1:{port + 2}",
        "CHIMERA_LOCAL_URL": local_url(port),
        "CHIMERA_RPC_URL_DEVNET": f"http://127.0.0.1:{port + 3}",
        "DJANGO_SETTINGS_MODULE": "chimera.settings",
        "PYTHONUNBUFFERED": "1",
    }


def processes(port: int, data_dir: Path) -> list[ProcessSpec]:
    """Every process that stays, in the order of the start."""
    return [*_surroundings(port, data_dir), *_platform(port, data_dir)]


def _surroundings(port: int, data_dir: Path) -> list[ProcessSpec]:
    """The local chain, the sandbox world and the networks' local servers: what the platform talks to."""
    env = environment(port, data_dir)
    chain, world = port + 3, port + 2
    where = ["--data-dir", str(data_dir)]
    feeds = os.environ.get("CHIMERA_NEWS_FEEDS", "")
    news = ["--feeds", feeds] if feeds else []
    return [
        ProcessSpec(
            "chain",
            _python("wallets.chain.devnet", "--port", str(chain), *where),
            env,
            ready=chain,
            port=chain,
        ),
        ProcessSpec(
            "world",
            _python("chimera.sandbox", "--port", str(world), *where, *news),
            env,
            ready=f"http://127.0.0.1:{world}/healthz",
            port=world,
        ),
        *_local_servers(port, env),
    ]


def _local_servers(port: int, env: dict[str, str]) -> list[ProcessSpec]:
    """One process for all of them, where posts go to them (CHIMERA_PLATFORM=local)."""
    if settings.CHIMERA.chimera_platform != "local":
        return []
    argv = _python("tests.fakes", str(port + 4))
    return [ProcessSpec("networks", argv, env, ready=f"{local_url(port)}/", port=port + 4)]


def require_local_servers() -> None:
    """StackError where CHIMERA_PLATFORM=local asks for servers that were not shipped."""
    wanted = settings.CHIMERA.chimera_platform == "local"
    if wanted and not (LOCAL_SERVERS / "__main__.py").is_file():
        raise StackError(
            "CHIMERA_PLATFORM=local needs the local servers of the networks, which are part of the "
            f"tests ({LOCAL_SERVERS}) and not of this installation. Unset CHIMERA_PLATFORM, or use "
            "a checkout of the source."
        )


def _platform(port: int, data_dir: Path) -> list[ProcessSpec]:
    """Web server, MCP endpoint, worker and scheduler."""
    env = environment(port, data_dir)
    url = web_url(port)
    return [
        ProcessSpec(
            "web",
            _python("gunicorn", "chimera.wsgi", *_GUNICORN, "--bind", f"127.0.0.1:{port}"),
            env | {"CHIMERA_PROCESS": "web"},
            ready=f"{url}/healthz",
            port=port,
        ),
        ProcessSpec(
            "mcp",
            _manage("serve_mcp", "--port", str(port + 1)),
            env,
            ready=f"http://127.0.0.1:{port + 1}/healthz",
            port=port + 1,
        ),
        ProcessSpec(
            "worker",
            _python("celery", "-A", "chimera", "worker", *_WORKER),
            env | {"CHIMERA_PROCESS": "worker"},
            ready=f"{url}/readyz",
        ),
        ProcessSpec(
            "scheduler",
            _python("celery", "-A", "chimera", "beat", "--pidfile=", "--loglevel", "INFO"),
            env | {"CHIMERA_PROCESS": "scheduler"},
        ),
    ]


# Threads wait in `Prefer: wait`, so there are more of them than processors.
_GUNICORN = (
    *("--preload", "--worker-class", "gthread", "--workers", "2", "--threads", "16"),
    *("--graceful-timeout", "5", "--no-control-socket"),
)
_WORKER = (
    *("--pool", "prefork", "--concurrency", "2", "--loglevel", "INFO"),
    *("--without-gossip", "--without-mingle", "--without-heartbeat"),
)


def manage(name: str, port: int, data_dir: Path, *arguments: str) -> ProcessSpec:
    """A management command as a process that may end."""
    return ProcessSpec(name, _manage(*arguments), environment(port, data_dir), once=True)


def _manage(*arguments: str) -> list[str]:
    return [sys.executable, str(ROOT / "manage.py"), *arguments]


def _python(module: str, *arguments: str) -> list[str]:
    return [sys.executable, "-m", module, *arguments]


@contextmanager
def exclusive(data_dir: Path, port: int) -> Iterator[None]:
    """Hold the data directory for this stack; a second one is refused with the first one's number."""
    data_dir.mkdir(parents=True, exist_ok=True)
    with (data_dir / "stack.lock").open("a+") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock.seek(0)
            raise StackError(
                f"A stack already runs on {data_dir} ({lock.read().strip()}). "
                "Use that one, stop it, or give this one a folder of its own: "
                "CHIMERA_DATA_DIR=/some/folder PORT=9000 make run"
            ) from None
        lock.truncate(0)
        lock.write(f"process {os.getpid()}, {web_url(port)}\n")
        lock.flush()
        yield


def require_free_ports(specs: list[ProcessSpec]) -> None:
    """Before anything starts: StackError that names every port in use and what wanted it."""
    taken = [spec for spec in specs if spec.port and not is_free(spec.port)]
    if taken:
        named = ", ".join(f"port {spec.port} ({spec.name})" for spec in taken)
        raise StackError(
            f"In use by another program: {named}. "
            "Stop that program, or move the whole stack: PORT=9000 make run"
        )


def run(port: int, data_dir: Path, say: Callable[[str], None], *, demo: bool = True) -> int:
    """Start everything and stay until asked to stop. Returns the exit status."""
    try:
        with exclusive(data_dir, port):
            require_local_servers()
            require_free_ports(processes(port, data_dir))
            return _supervise(port, data_dir, say, demo=demo)
    except StackError as problem:
        say(f"Chimera did not start: {problem}")
        return 1


def _supervise(port: int, data_dir: Path, say: Callable[[str], None], *, demo: bool) -> int:
    logs = data_dir / "log"
    say(f"Starting Chimera; data in {data_dir}, logs in {logs}")
    with Supervisor(logs, say) as supervisor:
        try:
            surroundings = supervisor.launch(_surroundings(port, data_dir))
            supervisor.run_once(
                manage("migrate", port, data_dir, "migrate", "--noinput", "--skip-checks")
            )
            supervisor.await_ready(surroundings)
            supervisor.run_once(manage("setup", port, data_dir, "setup", "--skip-checks"))
            supervisor.start(_platform(port, data_dir))
            if demo:
                background = ("demo", "--background", "--port", str(port))
                supervisor.start([manage("demo", port, data_dir, *background)])
            say(summary(port, data_dir))
            supervisor.watch()
        except Stopped:
            say("Stopping; a second Ctrl-C kills at once")
    say("Stopped")
    return 0


def summary(port: int, data_dir: Path) -> str:
    """What to open, who to be and what to click first."""
    logins = json.loads((data_dir / "demo-logins.json").read_text())
    people = [f"  {who['username']} / {who['password']}  ({who['role']})" for who in logins]
    return "\n".join(
        [
            "",
            f"Chimera is running: {web_url(port)}",
            *people,
            f"Agents call the skills at {web_url(port)}/api/v1/ or as MCP tools at {mcp_url(port)}",
            f"First: sign in as the reviewer, open {web_url(port)}/review/ and decide on the post",
            "and the payment of the demo campaign (it takes some seconds to appear).",
            f"What gets published shows on {_shown_at(port)} once you have signed.",
            "Ctrl-C stops everything; the next start goes on with the same data.",
            "",
        ]
    )


def _shown_at(port: int) -> str:
    local = settings.CHIMERA.chimera_platform == "local"
    return f"{local_url(port)}/twitter/_effects" if local else f"http://localhost:{port + 2}/"


@contextmanager
def own_stack(port: int, data_dir: Path) -> Iterator[None]:
    """The running stack on the port, or one of our own for as long as the context lasts."""
    if answers(f"{web_url(port)}/healthz"):
        yield
        return
    argv = _manage("runstack", "--no-demo", "--port", str(port))
    # A group of its own: a Ctrl-C reaches this program, which then stops the stack in order.
    process = spawn(argv, {"CHIMERA_DATA_DIR": str(data_dir)}, sys.stderr)
    try:
        _await_stack(process, port)
        yield
    finally:
        process.terminate()
        process.wait()


def _await_stack(process: "subprocess.Popen[bytes]", port: int) -> None:
    deadline = time.monotonic() + OWN_STACK_DEADLINE
    while not answers(f"{web_url(port)}/readyz"):
        if process.poll() is not None:
            raise StackError("The stack did not start; the reason stands above.")
        if time.monotonic() > deadline:
            raise StackError(f"The stack was not ready within {OWN_STACK_DEADLINE:.0f} s.")
        time.sleep(0.2)
