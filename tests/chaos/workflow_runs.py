"""A process that begins runs on the platform's own data, signs their questions, and counts at the end.

python -m tests.chaos.workflow_runs COUNT      prints a line of JSON
"""

import json
import os
import sys
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

import django

TASK = {
    "name": "chaos",
    "steps": [
        {"skill_name": "echo", "input": {"text": "one"}},
        {"approval": {"question": "Go on?"}},
        {"skill_name": "echo", "input": {"text": "two"}},
    ],
}
PATIENCE = 900.0


def main(count: int) -> dict[str, Any]:
    """Begin, wait for the questions, sign them, wait for the ends."""
    from django.contrib.auth.models import User

    from agents.models import Agent
    from approvals.models import ApprovalRequest
    from approvals.services import request_approve
    from chimera.core.clock import now
    from skills.workflows.definition import Definition
    from skills.workflows.models import WorkflowRun
    from skills.workflows.services import run_start

    agent = Agent.objects.filter(type="orchestrator").first()
    person = next(one for one in User.objects.all() if one.has_perm("approvals.decide"))
    assert agent
    made = Definition.model_validate(TASK)
    runs = [run_start(agent=agent, definition=made, data={}).id for _ in range(count)]
    mine = WorkflowRun.objects.filter(id__in=runs)
    asked = ApprovalRequest.objects.filter(action__run_id__in=[str(run) for run in runs])
    until(lambda: asked.count() >= count)
    for request in asked:
        request_approve(
            request_id=request.id,
            reviewer=person,
            password_confirmed_at=now(),
            shown_digest=request.action_digest,
        )
    until(lambda: mine.filter(completed_at__isnull=False).count() == count)
    return {"asked": asked.count()} | counted(mine)


def counted(runs: Any) -> dict[str, Any]:
    """How the runs ended, and how often each of their steps was called."""
    from skills.models import SkillExecution

    made = SkillExecution.objects.filter(
        workflow_run_id__in=list(runs.values_list("id", flat=True))
    )
    calls = Counter(made.values_list("workflow_run_id", flat=True))
    return {
        "status": Counter(runs.values_list("status", flat=True)),
        "outputs": Counter(run.output["text"] for run in runs if run.output),
        "calls_per_run": Counter(calls.values()),
        "calls_not_completed": made.exclude(status="completed").count(),
        "attempts": sum(made.values_list("claims", flat=True)),
    }


def until(holds: Callable[[], bool]) -> None:
    """Ask five times a second; RuntimeError when it never comes true."""
    deadline = time.monotonic() + PATIENCE
    while not holds():
        if time.monotonic() > deadline:
            raise RuntimeError(f"not so within {PATIENCE:g} s")
        time.sleep(0.2)


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "chimera.settings")
    django.setup()
    sys.stdout.write(f"{json.dumps(main(int(sys.argv[1])))}\n")
