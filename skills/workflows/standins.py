"""Whose hands carry out a step: the run's own agent, or the one a person has named for its role.

A person who may change stand-ins names, for one version of one workflow, the agent that its runs use
for a role. Nothing that an agent can call makes or changes one; a new version has none.
"""

from agents.models import Agent
from chimera.core.errors import ChimeraError
from skills.contract import Skill
from skills.workflows.models import StandIn, WorkflowRun


def agent_for(run: WorkflowRun, skill: Skill) -> Agent:
    """The agent that makes a run's call of a skill. FORBIDDEN where there is none."""
    return agent_of_step(run.agent, run.workflow, run.version, skill)


def agent_of_step(agent: Agent, workflow: str, version: int, skill: Skill) -> Agent:
    """The agent that makes a workflow's call of a skill for this agent. FORBIDDEN where there is none."""
    if agent.type in skill.roles:
        return agent
    named = StandIn.objects.filter(workflow=workflow, version=version, agent=agent)
    for one in named.filter(role__in=skill.roles, stand_in__enabled=True).order_by("id"):
        if one.stand_in.type == one.role:
            return one.stand_in
    message = (
        f"An agent of the role {agent.type} may not call {skill.name}; "
        f"an admin can name a stand-in for {workflow} v{version}"
    )
    raise ChimeraError("FORBIDDEN", message)
