"""Durable workflows that wait for a person: ours beside DBOS and LangGraph, in turn, in one run.

The task: a step that does nothing, a wait for a yes, another such step. Measured: runs per second from
the first start until all wait; from the yes to the end of the run (median and 95th percentile), and of ours
how much of that is the signing, which the others do not do (rights, lock, decision, history, audit); resident
memory that the waiting runs add, per 1,000, over all processes; the processor they use while they wait.

Ours is the product as it is deployed: this process starts runs and signs decisions as a web process does,
a prefork worker of two processes walks them. The others are one process that holds its runs itself.
They come from the package index (support/peers.txt, with hashes) into benchmarks/out/peers.

    PYTHONPATH=. python benchmarks/workflows.py
    CHIMERA_BENCH_POSTGRES=postgres://postgres@127.0.0.1:5432  CHIMERA_BENCH_REDIS=redis://127.0.0.1:6379/14
    CHIMERA_BENCH_RUNS=1000  CHIMERA_BENCH_ROUNDS=3
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.execution import environment, scratch_database, scratch_servers, worker
from benchmarks.support.measuring import WARM_UP, busy, report, resident, tree

ROOT = Path(__file__).resolve().parent.parent
RUNS = int(os.environ.get("CHIMERA_BENCH_RUNS", "1000"))
ROUNDS = int(os.environ.get("CHIMERA_BENCH_ROUNDS", "3"))
APPROVALS = min(200, RUNS)
PEERS = ("dbos", "langgraph")
VENV = ROOT / "benchmarks" / "out" / "peers"
REQUIREMENTS = ROOT / "benchmarks" / "support" / "peers.txt"
TASK = {
    "name": "bench-task",
    "steps": [
        {"skill_name": "bench_noop", "input": {}},
        {"name": "ask", "approval": {"question": "Go on?"}},
        {"skill_name": "bench_noop", "input": {}},
    ],
}
PATIENCE = 300.0


def install_peers() -> None:
    """The others in a virtual environment of their own, made once per requirements file."""
    stamp = VENV / "installed.txt"
    if stamp.is_file() and stamp.read_text() == REQUIREMENTS.read_text():
        return
    subprocess.run([sys.executable, "-m", "venv", "--clear", VENV], check=True)
    pip = [VENV / "bin" / "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, "--require-hashes", "-r", REQUIREMENTS], check=True)
    stamp.write_text(REQUIREMENTS.read_text())


def peer(name: str) -> dict[str, float]:
    """One round of another one, on an empty database."""
    with scratch_database(f"chimera_bench_{name}") as url:
        script = ROOT / "benchmarks" / "support" / f"peer_{name}.py"
        command = [VENV / "bin" / "python", script, url, str(RUNS), str(APPROVALS)]
        env = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT)}
        done = subprocess.run(command, env=env, stdout=subprocess.PIPE, text=True, check=True)
    return dict(json.loads(done.stdout.splitlines()[-1]))


class Ours:
    """The product: one agent, one reviewer, one worker."""

    def __init__(self) -> None:
        from django.contrib.auth.models import Permission, User

        from agents.services import agent_create
        from approvals.keys import key_create
        from skills.workflows.definition import Definition

        key_create(actor="system:bench")
        self.agent = agent_create(name="Bench", role="orchestrator", actor="system:bench")
        self.reviewer = User.objects.create_user("rita")
        self.reviewer.user_permissions.add(Permission.objects.get(codename="decide"))
        self.definition = Definition.model_validate(TASK)

    def begin(self, count: int) -> list[Any]:
        """Start so many runs and wait until they all wait for a person."""
        from skills.workflows.models import WorkflowRun
        from skills.workflows.services import run_start

        made = [
            run_start(agent=self.agent, definition=self.definition, data={}).id
            for _ in range(count)
        ]
        waiting = WorkflowRun.objects.filter(status="blocked")
        await_true(lambda: waiting.count() >= count, every=0.05)
        return made

    def approve(self, run_id: Any) -> tuple[float, float]:
        """Seconds from the yes until it is signed and kept, and until the end of the run."""
        from approvals.models import ApprovalRequest
        from approvals.services import request_approve
        from chimera.core.clock import now
        from skills.workflows.models import WorkflowRun

        asked = ApprovalRequest.objects.get(action__run_id=str(run_id))
        started = time.perf_counter()
        request_approve(
            request_id=asked.id,
            reviewer=self.reviewer,
            password_confirmed_at=now(),
            shown_digest=asked.action_digest,
        )
        signed = time.perf_counter() - started
        run = WorkflowRun.objects.filter(id=run_id).values_list("status", flat=True)
        await_true(lambda: run.get() == "completed")
        return signed, time.perf_counter() - started

    def measure(self) -> dict[str, float]:
        """One round with a worker of its own."""
        with worker("default") as process:
            for run_id in self.begin(WARM_UP):
                self.approve(run_id)
            ours = [os.getpid(), *tree(process.pid)]
            before, started = resident(ours), time.perf_counter()
            runs = self.begin(RUNS)
            starts = RUNS / (time.perf_counter() - started)
            memory = (resident(ours) - before) * 1000 / RUNS
            idle = busy(ours)
            signed, waits = zip(*map(self.approve, runs[:APPROVALS]), strict=True)
            cancel_waiting()
        found = report(starts=starts, waits=waits, memory=memory, idle=idle)
        return json.loads(found) | {"signing_p50_ms": round(1000 * statistics.median(signed), 2)}


def cancel_waiting() -> None:
    """Nothing of this round waits in the next one."""
    from skills.workflows.models import WorkflowRun

    WorkflowRun.objects.filter(status="blocked").update(status="cancelled")


def await_true(holds: Any, every: float = 0.003) -> None:
    """Ask until it is so. every: seconds; asking takes processor time from who is asked for."""
    deadline = time.monotonic() + PATIENCE
    while not holds():
        if time.monotonic() > deadline:
            sys.exit(f"not done within {PATIENCE:g} s")
        time.sleep(every)


def main() -> None:
    """Every round asks all of them; the medians of the rounds' ratios are what counts."""
    install_peers()
    ours, rounds = Ours(), []
    for number in range(1, ROUNDS + 1):
        found = {"ours": ours.measure()} | {name: peer(name) for name in PEERS}
        rounds.append(found)
        for name, figures in found.items():
            print(f"round {number}: {name:10}", json.dumps(figures), flush=True)
    for name in PEERS:
        faster = [one[name]["approve_p50_ms"] / one["ours"]["approve_p50_ms"] for one in rounds]
        more = [one["ours"]["starts_per_sec"] / one[name]["starts_per_sec"] for one in rounds]
        print(
            json.dumps(
                {
                    "benchmark": "workflows",
                    "beside": name,
                    "approve_p50_ratio": round(statistics.median(faster), 2),
                    "starts_ratio": round(statistics.median(more), 2),
                    "aim": 1.0,
                    "runs": RUNS,
                }
            )
        )


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as data_dir, scratch_servers():
        environment(data_dir)
        import django
        from django.core.management import call_command

        django.setup()
        call_command("migrate", verbosity=0)
        main()
