"""One of several processes that drive the same runs, for `tests.helpers.crew`: DATABASE WHAT ...

`make COUNT FLOW` starts runs; `drive [new]` walks and works until none is open; `cancel` cancels every
second one while the others drive; `tell` prints what became of them. Each prints one line of JSON.
"""

import json
import sys
import time
from typing import Any

import dj_database_url
from django.db import connection

from agents.models import Agent
from agents.services import agent_create
from approvals.models import ApprovalRequest
from chimera.core.clock import now
from chimera.core.errors import ChimeraError
from skills import leases, runner
from skills.models import FINAL, SkillExecution
from skills.workflows.definition import parse
from skills.workflows.engine import advance, runs_to_look_at
from skills.workflows.models import StepRecord, WorkflowRun
from skills.workflows.services import run_cancel, run_once, run_start

FLOW: dict[str, Any] = {
    "name": "race",
    "steps": [
        {"skill_name": "echo"},
        {"name": "all", "skill_name": "normalize_handle", "for_each": "input.handles"},
        {
            "branches": {
                "a": [{"skill_name": "echo", "mapping": {"n": "length(steps.all)"}}],
                "b": [{"wait_seconds": 0.2}, {"skill_name": "echo", "mapping": {"id": "run.id"}}],
            }
        },
    ],
}
LOOP: dict[str, Any] = {
    "name": "loop",
    "steps": [
        {"skill_name": "echo"},
        {"name": "turn", "skill_name": "normalize_handle", "mapping": {"handle": "'@a'"}},
        {"skill_name": "echo", "mapping": {"n": "length(rounds)"}},
        {"go_back": {"to": {"turn": "previous.n < `2`"}, "at_most": 3}},
    ],
}
ASKING: dict[str, Any] = {
    "name": "asking",
    "steps": [{"skill_name": "echo"}, {"approval": {"question": "Go on?"}}],
}
FLOWS = {"race": FLOW, "loop": LOOP, "asking": ASKING}
PATIENCE = 60


def make(count: int, what: dict[str, Any]) -> list[str]:
    """Start so many runs of one agent."""
    agent = Agent.objects.first() or agent_create(
        name="Aurora", role="orchestrator", actor="system:test"
    )
    handles = [{"handle": f"@h{number}"} for number in range(3)]
    made = [
        run_start(agent=agent, definition=parse(what), data={"handles": handles})
        for _ in range(count)
    ]
    return [str(run.id) for run in made]


def drive() -> int:
    """Everything that a worker and a scheduler do, until there is nothing to do; how many walks."""
    walks, until = 0, time.monotonic() + PATIENCE
    while time.monotonic() < until:
        leases.release_dead()
        found = list(WorkflowRun.objects.filter(completed_at=None).values_list("id", flat=True))
        for run_id in {*found, *runs_to_look_at(now())}:
            advance(run_id)
            walks += 1
        for execution in SkillExecution.objects.exclude(status__in=FINAL).order_by("due_at")[:20]:
            runner.run(execution.id)
        asking = WorkflowRun.objects.filter(completed_at=None).exclude(status="blocked")
        jobs = SkillExecution.objects.exclude(status__in=FINAL)
        if not asking.exists() and not jobs.exists() and not runs_to_look_at(now()):
            return walks
    raise SystemExit("the runs do not end")


def start_keyed(count: int) -> list[str]:
    """Start so many keyed runs, which others start at the same time; the runs."""
    agent = Agent.objects.get()
    call = {"agent": agent, "name": "handle-normalization", "version": None, "scopes": None}
    keyed = [run_once(**call, data={"handle": "@a"}, key=f"key {n}") for n in range(count)]
    return [str(run.id) for run, _ in keyed]


def cancel() -> int:
    """Cancel every second run, whatever is being done with it; how many could be."""
    done = 0
    for number, run in enumerate(WorkflowRun.objects.order_by("id")):
        try:
            if number % 2:
                run_cancel(agent=run.agent, run_id=run.id)
                done += 1
        except ChimeraError as refusal:
            assert refusal.code == "NOT_CANCELLABLE"
    return done


def tell() -> dict[str, Any]:
    """Per run: status, records, jobs; and the requests and steps that are still open."""
    return {
        "runs": [
            [run.status, run.records.count(), jobs_of(run)]
            for run in WorkflowRun.objects.order_by("id")
        ],
        "open_steps": StepRecord.objects.filter(state__in=["running", "blocked"]).count(),
        "open_requests": ApprovalRequest.objects.filter(status="pending").count(),
        "requests": ApprovalRequest.objects.count(),
        "open_jobs": SkillExecution.objects.exclude(status__in=FINAL).count(),
    }


def jobs_of(run: WorkflowRun) -> int:
    return SkillExecution.objects.filter(workflow_run_id=run.id).count()


def main(database: str, what: str, *given: str) -> None:
    """Do it in the database of this URL and print what came of it."""
    connection.settings_dict["NAME"] = dj_database_url.parse(database)["NAME"]
    match what, given:
        case "make", (count, flow):
            answer: Any = make(int(count), FLOWS[flow])
        case "keyed", (count,):
            answer = start_keyed(int(count))
        case "drive", anew:
            make(len(anew), FLOW)
            answer = drive()
        case "cancel", ():
            answer = cancel()
        case "tell", ():
            answer = tell()
    sys.stdout.write(json.dumps(answer) + "\n")
