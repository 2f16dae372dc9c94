"""What agents can do. `from skills import registry, invoke, Skill, ...` is the Python interface."""

import importlib
from typing import Any

_HOME = {
    "registry": "skills.catalogue",
    "invoke": "skills.invoking",
    "Skill": "skills.contract",
    "GatedSkill": "skills.contract",
    "BaseSkill": "skills.contract",
    "SkillContext": "skills.contract",
    "SkillResult": "skills.contract",
    "SkillError": "skills.contract",
    "SkillMetadata": "skills.contract",
    "MCPSkill": "skills.skill_mcp_tool.skill",
    "MCPClient": "skills.mcp.client",
    "Workflow": "skills.workflows.direct",
    "Step": "skills.workflows.direct",
}
__all__ = list(_HOME)


def __getattr__(name: str) -> Any:
    # Loaded at first use: models may not be imported before Django has read its applications.
    if name not in _HOME:
        raise AttributeError(name)
    return getattr(importlib.import_module(_HOME[name]), name)
