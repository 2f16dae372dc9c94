"""What a tool call answers: the output, or a text that tells the model what to do next.

`_meta` carries the ids, and the problem document of an error as REST would send it. It does not stand
in the structured content, which clients hold to the output schema of the tool.
"""

from decimal import Decimal
from typing import Any

from mcp_types import CallToolResult, TextContent

from chimera.core import problem
from chimera.core.errors import ChimeraError
from chimera.core.jsontext import dumps, plain
from skills.models import SkillExecution, Status
from skills.presenters import failure_of

KEY = "chimera/idempotency_key"
WAIT = "chimera/wait"
_NEXT = {
    "RATE_LIMITED": "Wait that long, then send the same call again.",
    "IN_PROGRESS": "Do not send it again; read its execution for the result.",
    "IDEMPOTENCY_CONFLICT": f"Send this call with a new key in _meta {KEY}.",
    "SKILL_NOT_FOUND": "List the tools and use one of those names.",
    "FORBIDDEN": "Repeating does not help; a person must change the rights of this agent.",
    "INVALID_TOKEN": "Ask for a new approval of exactly this action; a token serves one action once.",
    "TOKEN_EXPIRED": "Ask for a new approval of exactly this action.",
    "INSUFFICIENT_BALANCE": "Have the wallet funded, or choose a smaller amount.",
    "OUTCOME_UNKNOWN": "Do not repeat it: the effect may have happened. A person looks into it.",
}


def answer_of(execution: SkillExecution, *, replayed: bool) -> CallToolResult:
    """The answer to a call whose execution stands as it does."""
    meta = _ids(execution) | ({"replayed": True} if replayed else {})
    match execution.status:
        case Status.COMPLETED:
            text = TextContent(text=dumps(execution.output))
            output = wire(execution.output)
            return CallToolResult(content=[text], structured_content=output, _meta=meta)
        case Status.FAILED:
            failure = failure_of(execution)
            document = problem.document(failure, execution_id=str(execution.id))
            return _error(_failed(failure), meta | {"problem": wire(document)})
        case Status.BLOCKED:
            return _error(_blocked(execution), meta)
        case Status.CANCELLED:
            return _error("The call was cancelled; nothing has happened.", meta)
        case _:
            return _error(_under_way(execution), meta)


def refusal_of(error: ChimeraError, trace_id: str) -> CallToolResult:
    """The answer to a call that did not begin."""
    meta: dict[str, Any] = {"problem": wire(problem.document(error)), "trace_id": trace_id}
    first = error.details.get("execution_id")
    return _error(
        _failed(error) + (_pick_up(first) if first else ""),
        meta | ({"execution_id": first} if first else {}),
    )


def _ids(execution: SkillExecution) -> dict[str, Any]:
    approval = {"approval_id": str(execution.approval_id)} if execution.approval_id else {}
    return {
        "execution_id": str(execution.id),
        **approval,
        "status": str(execution.status),
        "warnings": list(execution.warnings),
        "cached": execution.cached,
        "trace_id": execution.trace_id,
    }


def _error(text: str, meta: dict[str, Any]) -> CallToolResult:
    return CallToolResult(content=[TextContent(text=text)], is_error=True, _meta=meta)


def _failed(error: ChimeraError) -> str:
    """Code and message, the fields that are wrong, and what to do."""
    named = [f"- {name}: {'; '.join(texts)}" for name, texts in (error.errors or {}).items()]
    return "\n".join([f"{error.code}: {error.message}", *named, _what_next(error)])


def _what_next(error: ChimeraError) -> str:
    if error.code in _NEXT:
        return _NEXT[error.code]
    if error.errors:
        return "Correct the fields that are named, then call again."
    if error.retryable:
        wait = f"after {error.backoff_sec:g} s" if error.backoff_sec else "a little later"
        return f"It was tried several times; the same call may succeed {wait}."
    return "Repeating it unchanged does not help."


def _blocked(execution: SkillExecution) -> str:
    """How to go on when a person must decide."""
    kept = execution.error or {}
    why = f" ({kept['code']}: {kept.get('message', '')})" if "code" in kept else ""
    return (
        f"Nothing has been done yet: a person must decide first{why}.\n"
        f"Approval {execution.approval_id} is open in the reviewers' inbox at /review/. Tell the user.\n"
        "Do not call the tool with other values for the same purpose, that would ask twice. Once it "
        "is signed the call goes on by itself." + _pick_up(execution.id) + _repeat(execution)
    )


def _under_way(execution: SkillExecution) -> str:
    if execution.scheduled_for:
        state = f"It is planned for {execution.scheduled_for.isoformat()} and happens by itself."
    elif execution.status == Status.OUTCOME_UNKNOWN:
        state = (
            "Whether the effect happened is not known yet; it is being found out. Do not repeat."
        )
    else:
        state = f"Not finished yet ({execution.status}); it goes on without you and has not failed."
    return state + _pick_up(execution.id) + _repeat(execution)


def _pick_up(execution_id: Any) -> str:
    return f"\nFor the result read the resource chimera://executions/{execution_id} later."


def _repeat(execution: SkillExecution) -> str:
    if not execution.idempotency_key:
        return ""
    return "\nThis very call with the same idempotency key gives the result too."


def wire(value: Any) -> Any:
    """The value with numbers that the SDK can write: whole ones exact, others to 17 digits."""
    return _floats(plain(value))


def _floats(value: Any) -> Any:
    match value:
        case Decimal():
            return float(value)
        case dict():
            return {name: _floats(item) for name, item in value.items()}
        case list():
            return [_floats(item) for item in value]
    return value
