"""A local OpenAI: POST /v1/chat/completions.

Requests and answers: https://developers.openai.com/api/reference/resources/chat. Errors and what may be
tried again: https://developers.openai.com/api/docs/guides/error-codes (429 rate_limit_exceeded with
Retry-After and x-ratelimit headers; 429 insufficient_quota, which waiting does not help; 503
server_is_overloaded; 429 slow_down).

Faults of its own: insufficient_quota, slow_down, 503, 504, bad_key, unknown_model, array, html, odd, slow (5 s),
blocked (content_filter), cut_off (length), prose (an answer that is no JSON), and the habits of
`tests.fakes._minds`.
"""

import json

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from tests.fakes import _minds, faults
from tests.fakes.base import Endpoint, Fake, Json
from tests.fakes.gemini import linger


class OpenAI(Fake):
    """Answers from the document it is given; keeps every request. reported: usage it claims."""

    name = "openai"

    def __init__(self) -> None:
        super().__init__()
        self.requests: list[Json] = []
        self.habit = ""
        self.reported: Json = {}

    def endpoints(self) -> list[tuple[str, str, Endpoint]]:
        return [("POST", "/v1/chat/completions", self.complete)]

    def limited(self) -> Response:
        headers = {
            "Retry-After": "9",
            "x-ratelimit-limit-requests": "500",
            "x-ratelimit-remaining-requests": "0",
            "x-ratelimit-reset-requests": "9s",
        }
        message = "Rate limit reached for requests per min. Please try again in 9s."
        return _error(429, "requests", "rate_limit_exceeded", message, headers)

    def broken(self) -> Response:
        return _error(500, "server_error", None, "The server had an error. Sorry about that!")

    def unauthorized(self) -> Response:
        message = "Incorrect API key provided: sk-SECRET. You can find your API key at ..."
        return _error(401, "invalid_request_error", "invalid_api_key", message)

    def _refused(self) -> Response | None:
        """A fault of its own that takes the place of the answer."""
        quota = "You exceeded your current quota, please check your plan and billing details."
        replies = {
            "insufficient_quota": (429, "insufficient_quota", "insufficient_quota", quota),
            "slow_down": (429, "server_error", "slow_down", "Please reduce your request rate."),
            "503": (503, "server_error", "server_is_overloaded", "The engine is overloaded."),
            "504": (504, "server_error", None, "The request timed out."),
            "unknown_model": (404, "invalid_request_error", "model_not_found", "no such model"),
        }
        for kind, (status, type_, code, message) in replies.items():
            if self.take(kind):
                return _error(status, type_, code, message)
        if self.take("array"):
            error = {"code": 429, "message": "quota", "status": "RESOURCE_EXHAUSTED"}
            return JSONResponse([{"error": error}], 429)
        if self.take("odd"):
            return JSONResponse({"choices": "none", "usage": 3})
        return faults.html(200) if self.take("html") else None

    async def complete(self, request: Request) -> Response:
        if self.take("bad_key") or not request.headers.get("authorization", "")[7:]:
            return self.unauthorized()
        refusal = self._refused()
        if refusal is not None:
            return refusal
        body = await request.json()
        self.requests.append(body)
        if self.take("slow"):
            await linger(request)
        return JSONResponse(self._answer(body))

    def _answer(self, body: Json) -> Json:
        said = {message["role"]: message["content"] for message in body["messages"]}
        prompt, instructions = said["user"], said.get("system") or said.get("developer") or ""
        steady = body.get("temperature") == 0 and "seed" in body
        habit = next((kind for kind in _minds.HABITS if self.take(kind)), self.habit)
        thought = json.dumps(_minds.answer(prompt, instructions, steady, habit))
        used = _minds.tokens(thought)
        most = body.get("max_completion_tokens") or body.get("max_tokens") or 10**6
        reason = "tool_calls"
        if used > most or self.take("cut_off"):
            reason, thought, used = "length", thought[: min(most * 4, len(thought) // 2)], most
        if self.take("blocked"):
            reason, thought = "content_filter", ""
        if self.take("prose"):
            thought = "Certainly! Here are the marks you asked for."
        name = body["tools"][0]["function"]["name"]
        call = {
            "id": "call_1",
            "type": "function",
            "function": {"name": name, "arguments": thought},
        }
        message = {"role": "assistant", "content": None, "tool_calls": [call], "refusal": None}
        if reason == "content_filter":
            message = {"role": "assistant", "content": None, "refusal": None}
        tokens_in = _minds.tokens(instructions + prompt)
        return {
            "id": f"chatcmpl-{len(self.requests)}",
            "object": "chat.completion",
            "created": 1_700_000_000,
            "model": body["model"],
            "choices": [{"index": 0, "message": message, "finish_reason": reason}],
            "usage": {
                "prompt_tokens": tokens_in,
                "completion_tokens": used,
                "total_tokens": tokens_in + used,
                **self.reported,
            },
        }


def _error(
    status: int, type_: str, code: str | None, message: str, headers: dict[str, str] | None = None
) -> Response:
    error = {"message": message, "type": type_, "param": None, "code": code}
    return JSONResponse({"error": error}, status, headers=headers)


def make() -> OpenAI:
    return OpenAI()
