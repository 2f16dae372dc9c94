"""Texts for the common flows: which tools, in which order, and where a person comes in."""

from dataclasses import dataclass, field
from typing import Any, get_args

from mcp_types import (
    GetPromptRequestParams,
    GetPromptResult,
    ListPromptsResult,
    PaginatedRequestParams,
    Prompt,
    PromptArgument,
    PromptMessage,
    TextContent,
)

from approvals.schemas import CurrencyName
from chimera.core.errors import ChimeraError
from content.schemas import Platform, TrendSource
from skills.mcp.server.advice import KEY, review_url
from skills.mcp.server.auth import reader
from skills.mcp.server.failures import as_protocol_error


@dataclass(frozen=True)
class Flow:
    """A prompt: its arguments (name -> what it is; all required) stand in braces in the text.

    choices: the values of an argument that takes no others.
    """

    description: str
    arguments: dict[str, str]
    text: str
    choices: dict[str, tuple[str, ...]] = field(default_factory=dict)


CURRENCIES: tuple[str, ...] = get_args(CurrencyName)
PLATFORMS: tuple[str, ...] = get_args(Platform)
FLOWS = {
    "publish-a-post": Flow(
        "From a trend to a published post that a person has approved",
        {"platform": f"One of {', '.join(PLATFORMS)}", "goal": "What the post is for"},
        """Publish one post on {platform}. Its goal: {goal}

1. fetch_trends for {source}; pick the trend that serves the goal best.
2. generate_content with that trend, your persona (it stands in the resource chimera://agents/me)
   and the platform {platform}. It stores a draft; its content holds the content_id.
3. validate_content with the content. Where it finds issues, generate again; go on only with valid=true.
4. Ask a person: request_approval with
   {{"action": "publish_content", "content_id": "...", "platform": "{platform}"}}. Tell the user that
   the post waits at {inbox} and to say when it is signed.
5. Then send the same request_approval again, or read chimera://approvals/ followed by the id of the
   answer: approved, it holds the approval_token. On rejected or changes_requested, or where the same
   call answers with another id, stop and report it.
6. publish_content with the very content that was approved, the platform and the approval_token.
7. Report post_url. Never publish anything that was not approved, and never change it after step 4.
""",
        {"platform": PLATFORMS},
    ),
    "pay-an-invoice": Flow(
        "Pay out of the agent's wallet once a person has signed",
        {
            "recipient": "Address of the payee",
            "amount": "How much, e.g. 10.5",
            "currency": f"One of {', '.join(CURRENCIES)}",
            "purpose": "What is paid, as the reviewer will read it",
        },
        """Pay {amount} {currency} to {recipient} for: {purpose}

1. fetch_wallet_balance of your own wallet (wallet_address of chimera://agents/me). Stop if it does
   not suffice.
2. Make one UUID for this invoice and keep it: the idempotency_key. Never pay it under another one.
3. debit_wallet with wallet_address, amount, currency, recipient, tx_description and idempotency_key.
4. The answer says that a person must decide. That is no failure; tell the user that the payment
   waits at {inbox}
5. Read chimera://executions/ followed by the execution_id of the answer, or send the same call
   again: completed carries the transaction id, failed the reason.
6. On outcome_unknown do not pay again; a person looks into it.
""",
        {"currency": CURRENCIES},
    ),
    "pick-up-a-result": Flow(
        "The result of a call that was blocked or took too long",
        {"execution_id": "The id that the answer of the call gave"},
        f"""Pick up the result of the call {{execution_id}}.

1. Read the resource chimera://executions/{{execution_id}}.
2. completed: the result is its output. failed: report error.code and error.message; call the tool
   again only where error.retryable is true.
3. blocked: a person has not decided yet; tell the user that it waits at {{inbox}} (approval_id).
   queued, running, retrying: read again in some seconds. outcome_unknown: do not repeat the call.
4. A call that was sent with _meta {KEY} (debit_wallet: with its idempotency_key) may also be sent
   again unchanged; it is not done twice.
""",
    ),
}


@as_protocol_error
async def list_prompts(ctx: Any, params: PaginatedRequestParams | None) -> ListPromptsResult:
    """All flows."""
    await reader(ctx)
    return ListPromptsResult(prompts=[_prompt(name, flow) for name, flow in FLOWS.items()])


def _prompt(name: str, flow: Flow) -> Prompt:
    arguments = [
        PromptArgument(name=argument, description=text, required=True)
        for argument, text in flow.arguments.items()
    ]
    return Prompt(name=name, description=flow.description, arguments=arguments)


@as_protocol_error
async def get_prompt(ctx: Any, params: GetPromptRequestParams) -> GetPromptResult:
    """The text of one flow. NOT_FOUND, INVALID_INPUT naming each wrong argument."""
    await reader(ctx)
    flow, given = FLOWS.get(params.name), params.arguments or {}
    if flow is None:
        raise ChimeraError("NOT_FOUND", f"No such prompt; there are {', '.join(FLOWS)}")
    if problems := _problems(flow, given):
        told = " ".join(f"{name}: {texts[0]}." for name, texts in problems.items())
        raise ChimeraError("INVALID_INPUT", told, errors=problems)
    text = TextContent(text=flow.text.format(**given, **_places(given)))
    message = PromptMessage(role="user", content=text)
    return GetPromptResult(description=flow.description, messages=[message])


def _problems(flow: Flow, given: dict[str, str]) -> dict[str, list[str]]:
    """What is wrong with the arguments, by name."""
    known = ", ".join(flow.arguments)
    unknown = {name: [f"Unknown; give {known}"] for name in given if name not in flow.arguments}
    missing = {
        name: [f"Required: {text}"] for name, text in flow.arguments.items() if not given.get(name)
    }
    wrong = {
        name: [f"Give one of {', '.join(choices)}"]
        for name, choices in flow.choices.items()
        if given.get(name) and given[name] not in choices
    }
    return unknown | missing | wrong


def _places(given: dict[str, str]) -> dict[str, str]:
    """Where a person decides, and which source of trends serves a platform."""
    platform, sources = given.get("platform", ""), get_args(TrendSource)
    return {
        "inbox": review_url(),
        "source": platform if platform in sources else f"{sources[0]}, as {platform} has no trends",
    }
