"""Outputs of the contracts by a language model. It is told which rules the last run broke."""

from typing import Any

from pydantic import BaseModel, create_model

from chimera.core.errors import ChimeraError
from content.llm.budget import budget_of
from content.llm.models import LanguageModel, configured, connected
from content.studio.order import Order

_ALL = (
    "Write plain English: no Markdown, no lists, no code fences, no emoji. State no number, date, "
    "name or quotation that the document does not contain."
)
_TASKS = {
    "research": "You research what a video should be about. Give at least four short items for each "
    "field. Each names the topic, the audience or a constraint; nothing that fits any subject.",
    "thesis": "You write the click thesis of a video: exactly one sentence that says why it must be "
    "clicked, emotionally charged, and bound to a time or a consequence.",
    "ctr": "You write hooks, titles and thumbnail texts for a video, at least six of each, each "
    "different. A thumbnail text has at most six words. Keep the promise of the click thesis.",
    "script": "You write the script of a video, as spoken prose in short paragraphs. The first "
    "sentence already says what the click thesis says, in its words; no greeting, no scene, no "
    "quotation, no stage direction comes before it. At most 300 words.",
    "eval": "You judge a video before it is made. PASS, or FAIL with a failure_reason of the form "
    "CODE: text, where CODE is WEAK_EMOTION (hook, title and thumbnail do not move), UNCLEAR_PROMISE "
    "(thesis, hook and title do not promise one thing) or PACING (the script is too slow, too long "
    "or opens late). failure_reason is null on PASS. confidence is between 0 and 1.",
}
_AGAIN = (
    " An earlier version was thrown away for the reasons in `broken`; break none of them again."
)


async def write(order: Order) -> dict[str, Any]:
    """The model's answer, unchecked. Raises LLM_ERROR, also where no model is configured."""
    models = configured()
    if not models:
        message = "No language model is configured; set CHIMERA_LLM_MODEL or choose offline"
        raise ChimeraError("LLM_ERROR", message, final=True)
    model = models[min(order.attempt, len(models)) - 1]
    answer = await _asked(order, model)
    return answer.model_dump()


async def _asked(order: Order, model: LanguageModel) -> BaseModel:
    task = _TASKS[order.skill] + (_AGAIN if order.broken else "")
    async with connected([model]) as connection:
        return await connection.ask(
            model,
            instructions=f"{task} {_ALL}",
            document={
                "task": order.skill,
                "material": order.params.model_dump(mode="json"),
                "broken": list(order.broken),
            },
            answer=_shape(order.answer),
            budget=budget_of(order.token_budget),
            seconds=order.seconds,
        )


def _shape(model: type[BaseModel]) -> type[BaseModel]:
    """The fields and types without their limits: what breaks a limit is for the contract to say."""
    plain: dict[str, Any] = {
        name: (list[str] if "list" in str(field.annotation) else field.annotation, ...)
        for name, field in model.model_fields.items()
    }
    return create_model(model.__name__, **plain)
