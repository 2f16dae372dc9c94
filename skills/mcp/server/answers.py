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
from skills.mcp.server.advice import next_step, pick_up, review_url
from skills.models import SkillExecution, Status
from skills.presenters import failure_of


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
            told = _failed(failure, execution.skill)
            return _error(told, meta | {"problem": wire(document)})
        case Status.BLOCKED:
            return _error(_blocked(execution), meta)
        case Status.CANCELLED:
            return _error("The call was cancelled; nothing has happened.", meta)
        case _:
            return _error(_under_way(execution), meta)


def refusal_of(error: ChimeraError, tool: str, trace_id: str) -> CallToolResult:
    """The answer to a call of the tool that did not begin."""
    meta: dict[str, Any] = {"problem": wire(problem.document(error)), "trace_id": trace_id}
    first = error.details.get("execution_id")
    return _error(_failed(error, tool), meta | ({"execution_id": first} if first else {}))


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


def _failed(error: ChimeraError, tool: str) -> str:
    """Code and message, the fields that are wrong, what else is known, and what to do."""
    advice = next_step(error, tool)
    message = error.message.partition("; GET /api/")[0]
    named = [f"- {name}: {'; '.join(texts)}" for name, texts in (error.errors or {}).items()]
    details = [f"Details: {dumps(error.details)}"] if error.details else []
    return "\n".join([f"{error.code}: {message}", *named, *details, advice])


def _blocked(execution: SkillExecution) -> str:
    """How to go on when a person must decide."""
    kept = execution.error or {}
    why = f" ({kept['code']}: {kept.get('message', '')})" if "code" in kept else ""
    return (
        f"Nothing has been done yet: a person must decide first{why}.\n"
        f"Tell the user that it waits at {review_url(execution.approval_id)}\n"
        "Do not call the tool with other values for the same purpose, that would ask twice. Once it "
        "is signed the call goes on by itself.\n" + pick_up(execution)
    )


def _under_way(execution: SkillExecution) -> str:
    if execution.scheduled_for:
        state = f"It is planned for {execution.scheduled_for.isoformat()} and happens by itself."
    elif execution.status == Status.OUTCOME_UNKNOWN:
        state = "Whether the effect happened is not known yet; it is being found out."
    else:
        state = f"Not finished yet ({execution.status}); it goes on without you and has not failed."
    return f"{state}\n{pick_up(execution)}"


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
