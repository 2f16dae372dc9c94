"""A local Gemini: POST /v1beta/models/{model}:generateContent.

Requests, answers and usage: https://ai.google.dev/api/generate-content. Errors:
https://ai.google.dev/gemini-api/docs/troubleshooting; the 429 of a minute and of a day differ only in
the quotaId of google.rpc.QuotaFailure, the wait stands in google.rpc.RetryInfo.

Faults of its own: daily_quota, 503, 504, bad_key, unknown_model, array (the error inside a JSON array, as
the OpenAI-compatible endpoint sends it), html (200 with a page), odd (JSON of another shape), slow (5 s), blocked (SAFETY), cut_off
(MAX_TOKENS), and the habits of `tests.fakes._minds`.
"""

import asyncio
import json

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from tests.fakes import _minds, faults
from tests.fakes.base import Endpoint, Fake, Json

SLOW_SECONDS = 5.0


class Gemini(Fake):
    """Answers from the document it is given; keeps every request."""

    name = "gemini"

    def __init__(self) -> None:
        super().__init__()
        self.requests: list[Json] = []
        self.habit = ""

    def endpoints(self) -> list[tuple[str, str, Endpoint]]:
        return [("POST", "/v1beta/models/{model}:generateContent", self.generate)]

    def limited(self) -> Response:
        return _error(
            429,
            "RESOURCE_EXHAUSTED",
            "You exceeded your current quota, please check your plan.",
            _quota("GenerateRequestsPerMinutePerProjectPerModel-FreeTier"),
            {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "7s"},
        )

    def broken(self) -> Response:
        return _error(500, "INTERNAL", "An internal error has occurred.")

    def unauthorized(self) -> Response:
        reason = {"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "API_KEY_INVALID"}
        message = "API key not valid. Please pass a valid API key."
        return _error(400, "INVALID_ARGUMENT", message, reason)

    def _refused(self, model: str) -> Response | None:
        """A fault of its own that takes the place of the answer."""
        if self.take("daily_quota"):
            quota = _quota("GenerateRequestsPerDayPerProjectPerModel-FreeTier")
            return _error(429, "RESOURCE_EXHAUSTED", "You exceeded your current quota.", quota)
        if self.take("503"):
            return _error(503, "UNAVAILABLE", "The model is overloaded. Please try again later.")
        if self.take("504"):
            return _error(504, "DEADLINE_EXCEEDED", "Deadline expired before operation completed.")
        if self.take("array"):
            body = json.loads(bytes(_error(503, "UNAVAILABLE", "overloaded").body))
            return JSONResponse([body], 503)
        if self.take("unknown_model"):
            return _error(404, "NOT_FOUND", f"models/{model} is not found for API version v1beta")
        if self.take("odd"):
            return JSONResponse({"candidates": "none", "usageMetadata": []})
        return faults.html(200) if self.take("html") else None

    async def generate(self, request: Request) -> Response:
        if self.take("bad_key") or not request.headers.get("x-goog-api-key"):
            return self.unauthorized()
        model = request.path_params["model"]
        refusal = self._refused(model)
        if refusal is not None:
            return refusal
        body = await request.json()
        self.requests.append(body)
        if self.take("slow"):
            await linger(request)
        return JSONResponse(self._answer(body, model))

    def _answer(self, body: Json, model: str) -> Json:
        settings = body.get("generationConfig", {})
        prompt = "".join(part["text"] for part in body["contents"][-1]["parts"])
        instructions = json.dumps(body.get("systemInstruction", {}))
        steady = settings.get("temperature") == 0 and "seed" in settings
        habit = next((kind for kind in _minds.HABITS if self.take(kind)), self.habit)
        thought = _minds.answer(prompt, instructions, steady, habit)
        used = _minds.tokens(json.dumps(thought))
        reason = "STOP"
        if used > settings.get("maxOutputTokens", 10**6) or self.take("cut_off"):
            reason = "MAX_TOKENS"
        if self.take("blocked"):
            reason = "SAFETY"
        name = body["tools"][0]["functionDeclarations"][0]["name"]
        parts = [{"functionCall": {"name": name, "args": thought}}] if reason == "STOP" else []
        tokens_in = _minds.tokens(instructions + prompt)
        return {
            "candidates": [
                {"content": {"role": "model", "parts": parts}, "finishReason": reason, "index": 0}
            ],
            "usageMetadata": {
                "promptTokenCount": tokens_in,
                "candidatesTokenCount": used,
                "totalTokenCount": tokens_in + used,
            },
            "modelVersion": model,
            "responseId": f"response-{len(self.requests)}",
        }


async def linger(request: Request) -> None:
    """Think for too long, or until nobody waits for the answer any more."""
    for _ in range(int(SLOW_SECONDS * 20)):
        if await request.is_disconnected():
            return
        await asyncio.sleep(0.05)


def _quota(quota_id: str) -> Json:
    violation = {
        "quotaMetric": "generativelanguage.googleapis.com/generate_content_free_tier_requests",
        "quotaId": quota_id,
    }
    return {"@type": "type.googleapis.com/google.rpc.QuotaFailure", "violations": [violation]}


def _error(code: int, status: str, message: str, *details: Json) -> Response:
    error: Json = {"code": code, "message": message, "status": status}
    if details:
        error["details"] = list(details)
    return JSONResponse({"error": error}, code)


def make() -> Gemini:
    return Gemini()
