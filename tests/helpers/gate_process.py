"""The gate in processes and a database of their own: a race of redeemers, and a worker without keys.

Run as `python -m tests.helpers.gate_process` with `race ROUNDS`, `tamper ENTRY`,
`prepare HANDLE TOKEN` or `work FILE`; each prints one line of JSON. `Stage` starts them from a test.
"""

import json
import os
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

from tests.helpers.servers import own_database

ROOT = Path(__file__).parents[2]
SIZES = (2, 4, 8, 16, 32)


# --- for the test -----------------------------------------------------------------------------


@dataclass(frozen=True)
class Stage:
    """A database, a data directory and the environment of the processes that use them."""

    env: dict[str, str]
    folder: Path
    keys: Path

    def run(self, *arguments: str, **env: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, *arguments]
        return subprocess.run(
            command, cwd=ROOT, env=self.env | env, capture_output=True, text=True, timeout=300
        )

    def act(self, *arguments: str, **env: str) -> Any:
        """What a command of this module printed."""
        ended = self.run("-m", __name__, *arguments, **env)
        assert ended.returncode == 0, ended.stderr
        return json.loads(ended.stdout.splitlines()[-1])


@contextmanager
def stage(folder: Path) -> Iterator[Stage]:
    """A migrated database of the kind under test; dropped at the end."""
    hidden = ("CELERY_BROKER_URL", "CACHE_URL", "CHIMERA_WORLD_URL")
    with own_database(folder) as url:
        env = {
            **{name: value for name, value in os.environ.items() if name not in hidden},
            "DATABASE_URL": url,
            "CHIMERA_DATA_DIR": str(folder),
            "CHIMERA_APPROVAL_KEYS": str(folder / "keys"),
            "SECRET_KEY": "only for these processes, and long enough for everybody, really",
        }
        yield Stage(env, folder, folder / "keys")


# --- in the processes -------------------------------------------------------------------------


def race(rounds: int) -> list[dict[str, Any]]:
    """In every round 2 to 32 threads redeem one token for executions of their own."""
    from agents.services import agent_create
    from approvals.keys import key_ensure
    from tests.helpers import gate

    key_ensure(actor="system:test")
    agent = agent_create(name="Aurora", role="orchestrator", actor="system:test")
    reviewer = gate.decider("rita")
    return [_round(agent, reviewer, SIZES[number % len(SIZES)]) for number in range(rounds)]


def _round(agent: Any, reviewer: Any, size: int) -> dict[str, Any]:
    from chimera.core.models import AuditEntry
    from tests.helpers import gate

    request = gate.opened(agent, gate.frozen_post())
    token = gate.signed(request, reviewer)
    answers = _at_once(size, agent, token, request.action)
    request.refresh_from_db()
    winners = [execution for execution, answer in answers.items() if answer == "won"]
    return {
        "size": size,
        "answers": dict(Counter(answers.values())),
        "status": request.status,
        "consumed_by_the_winner": winners == [str(request.consumed_by)],
        "entries": AuditEntry.objects.filter(
            action="approval.consumed", object_id=str(request.id)
        ).count(),
    }


def _at_once(size: int, agent: Any, token: str, action: dict[str, Any]) -> dict[str, str]:
    from django.db import connection

    from chimera.core.errors import ChimeraError
    from tests.helpers import gate

    answers: dict[str, str] = {}
    start = threading.Barrier(size)

    def consume() -> None:
        execution = uuid4()
        connection.ensure_connection()
        start.wait()
        try:
            gate.redeem(token, action, agent, execution)
            answers[str(execution)] = "won"
        except ChimeraError as refusal:
            answers[str(execution)] = refusal.code
        except Exception as problem:  # noqa: BLE001  the test shows what else may happen
            answers[str(execution)] = repr(problem)
        finally:
            connection.close()

    threads = [threading.Thread(target=consume) for _ in range(size)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return answers


def prepare(handle: str, access_token: str) -> dict[str, Any]:
    """As the web process: content, a funded wallet, and both signed."""
    from decimal import Decimal

    from agents.services import agent_create
    from approvals.keys import key_ensure
    from chimera.core.secrets import encrypt
    from chimera.provisioning import fund_wallet
    from tests.helpers import gate
    from wallets.services import wallet_open

    key_ensure(actor="system:test")
    reviewer = gate.decider("rita")
    aurora = agent_create(name="Aurora", role="orchestrator", actor="system:test")
    cashier = agent_create(name="Cashier", role="cfo_judge", actor="system:test")
    gate.account(aurora, handle, sealed_credentials=encrypt(access_token.encode()))
    wallet = wallet_open(agent=cashier, network="devnet")
    fund_wallet(wallet, int(Decimal(100) * 10**6))
    content = gate.stored(aurora)
    data = gate.payment(wallet.address)
    post = gate.ask_publish(aurora, content)
    debit = gate.ask_debit(cashier, data)
    return {
        "post": {
            "content": content.current.data,
            "platform": "twitter",
            "approval_token": gate.signed(post, reviewer),
        },
        "debit": data | {"approval_token": gate.signed(debit, reviewer)},
    }


def work(file: str) -> dict[str, Any]:
    """As a worker: carry both out, then try to sign."""
    from agents.models import Agent
    from approvals.models import ApprovalRequest
    from chimera.core.errors import ChimeraError
    from tests.helpers import gate

    prepared = json.loads(Path(file).read_text())
    post = gate.call(Agent.objects.get(name="Aurora"), "publish_content", prepared["post"])
    debit = gate.call(Agent.objects.get(name="Cashier"), "debit_wallet", prepared["debit"])
    wanted = gate.opened(Agent.objects.get(name="Aurora"), gate.frozen_post())
    try:
        gate.signed(wanted, gate.decider("walt"))
        refusal = "none"
    except ChimeraError as problem:
        refusal = problem.code
    return {
        "post": [post.status, post.error],
        "debit": [debit.status, debit.error],
        "sign": [refusal, ApprovalRequest.objects.get(id=wanted.id).status],
    }


def tamper(sequence: int) -> int:
    """Change who an entry of the audit log names; how many entries that were."""
    from tests.helpers.tampering import ENTRIES, behind_the_back

    change = f"UPDATE {ENTRIES} SET actor = 'agent:somebody' WHERE sequence = %s"
    with behind_the_back() as cursor:
        cursor.execute(change, [sequence])
        return int(cursor.rowcount)


def main() -> None:
    """Set Django up, do what is asked, print it."""
    import django

    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "chimera.settings")
    os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "1"
    django.setup()
    match sys.argv[1:]:
        case ["race", rounds]:
            answer: Any = race(int(rounds))
        case ["tamper", sequence]:
            answer = tamper(int(sequence))
        case ["prepare", handle, access_token]:
            answer = prepare(handle, access_token)
        case ["work", file]:
            answer = work(file)
    from chimera.core.jsontext import dumps

    sys.stdout.write(dumps(answer) + "\n")


if __name__ == "__main__":
    main()
