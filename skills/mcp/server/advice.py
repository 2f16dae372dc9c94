"""What to do next, in words of what a model can reach: tools and their arguments.

Many clients show a model neither `_meta` nor resources, so a call that gives the same is named as well.
"""

from typing import Any

from django.conf import settings

from approvals.schemas import ACTIONS
from chimera.core.errors import ChimeraError
from skills.catalogue import registry
from skills.contract import Skill
from skills.models import SkillExecution
from skills.presenters import skill_dict
from skills.publishing import PublishingSkill

KEY = "chimera/idempotency_key"
ASK = "request_approval"
_NEXT = {
    "RATE_LIMITED": "Wait that long, then send the same call again.",
    "IN_PROGRESS": "It goes on by itself; the same call, sent a little later, gives its result.",
    "SKILL_NOT_FOUND": "List the tools and use one of those names.",
    "FORBIDDEN": "Repeating does not help; a person must change the rights of this agent.",
    "INSUFFICIENT_BALANCE": "Have the wallet funded, or choose a smaller amount.",
    "OUTCOME_UNKNOWN": "Do not repeat it: the effect may have happened. A person looks into it.",
    "DUPLICATE_CONTENT": "Do not publish it again. Report the post_url; it is null until the post is out.",
}


def review_url(approval_id: Any = "") -> str:
    """Where a person decides on the request; without one, where all of them wait."""
    inbox = f"{settings.CHIMERA.chimera_web_url.rstrip('/')}/review/"
    return f"{inbox}{approval_id}/" if approval_id else inbox


def next_step(error: ChimeraError, tool: str) -> str:
    """What to do after an error of this tool."""
    skill = registry.named(tool)
    if error.code == "IDEMPOTENCY_CONFLICT":
        return _conflict(skill)
    if skill and _lacks_approval(error, skill) and approval_of(skill):
        return f"{approval_of(skill)} A token serves one action once."
    if error.code in _NEXT:
        return _NEXT[error.code]
    if error.errors:
        return "Correct the fields that are named, then call again."
    if error.retryable:
        wait = f"after {error.backoff_sec:g} s" if error.backoff_sec else "a little later"
        return f"It was tried several times; the same call may succeed {wait}."
    return "Repeating it unchanged does not help."


def _conflict(skill: Skill | None) -> str:
    argument = key_argument(skill) if skill else ""
    key = f"value of the argument {argument}" if argument else f"key in _meta {KEY}"
    return (
        "To learn what became of the first call, repeat that very call. Another "
        f"{key} is only for something else, such as another payment; never do the same under two."
    )


def _lacks_approval(error: ChimeraError, skill: Skill) -> bool:
    missing = skill.secret_field in (error.errors or {})
    return missing or error.code in ("INVALID_TOKEN", "TOKEN_EXPIRED")


def approval_of(skill: Skill) -> str:
    """Where the approval comes from that the tool needs; empty where no tool asks for it."""
    action = skill.name.removeprefix("skill_")
    if action not in ACTIONS:
        return ""
    secret, asked = skill.secret_field, f'with the tool {ASK} (action "{action}")'
    if not secret:
        return f"For approvedBy human ask {asked} and put the id it answers into intent.trace.reviewId."
    if not skill.input_model.model_fields[secret].is_required():
        return f"Without {secret} the call asks a person by itself."
    return f"Ask first {asked}; that call, repeated once a person has signed, returns the {secret}."


def pick_up(execution: SkillExecution) -> str:
    """How to get at the result of a call that has not ended yet."""
    skill = registry.accepted(execution.skill, execution.version)
    return f"For the result read the resource chimera://executions/{execution.id} later" + (
        _repeated(execution, skill) if skill else "."
    )


def _repeated(execution: SkillExecution, skill: Skill) -> str:
    """What repeating the call gives, where that does no harm."""
    argument = key_argument(skill)
    if argument:
        return f", or repeat this very call with the same {argument}: nothing is done twice."
    if execution.idempotency_key:
        return ", or repeat this very call with the same idempotency key: nothing is done twice."
    if isinstance(skill, PublishingSkill):
        return (
            ", or repeat this very call: nothing is posted twice, and once it is out the answer is "
            "DUPLICATE_CONTENT with the post_url."
        )
    if skill.metadata.side_effects:
        return "; do not repeat the call."
    return ", or call again: that has no effect outside, but is done anew."


def key_argument(skill: Skill) -> str:
    """The argument that carries the key, e.g. `intent.idempotencyKey`; empty where none does."""
    if type(skill).idempotency is Skill.idempotency:
        return ""
    return _path_of_key(skill_dict(skill)["input_schema"]) or "that is its key"


def _path_of_key(schema: dict[str, Any]) -> str:
    """The path of the property that is named so, however it is spelled."""
    fields = schema.get("properties", {})
    for name, field in fields.items():
        if name.replace("_", "").lower() == "idempotencykey":
            return str(name)
        if below := _path_of_key(field):
            return f"{name}.{below}"
    return ""
