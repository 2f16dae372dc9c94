"""One agent's view of the REST API: sign in, start a workflow, follow it."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import httpx

from chimera.core import jsontext

Json = dict[str, Any]
PATIENCE = 120.0


class Refused(Exception):
    """The API answered with a problem document: its code, HTTP status and text."""

    def __init__(self, status: int, problem: Json) -> None:
        self.status = status
        self.problem = problem
        self.code = str(problem.get("code", f"HTTP_{status}"))
        super().__init__(f"{self.code}: {problem.get('detail') or problem.get('title') or status}")


class Unreachable(Exception):
    """The server gave no usable answer for as long as the client was willing to wait."""


@dataclass(frozen=True)
class Credentials:
    """An agent of demo-agents.json."""

    name: str
    role: str
    client_id: str
    client_secret: str
    wallet_address: str

    @classmethod
    def read(cls, row: Json) -> "Credentials":
        return cls(**{field: row.get(field) or "" for field in cls.__dataclass_fields__})


class AgentClient:
    """Every call may be repeated: effects carry an idempotency key, reads have no effect.

    So a connection that fails, a busy server and a lost token are answered by trying again, for at
    most `patience` seconds.
    """

    def __init__(
        self,
        base_url: str,
        who: Credentials,
        notice: Callable[[str], None],
        patience: float = PATIENCE,
    ) -> None:
        self.who = who
        self.notice = notice
        self.patience = patience
        self._http = httpx.Client(base_url=base_url, trust_env=False)
        self._token = ""

    def me(self) -> Json:
        """The agent's own profile with its persona."""
        return self._request("GET", "/api/v1/agents/me/")

    def start_run(self, workflow: str, data: Json, key: UUID) -> Json:
        """Start a run of a workflow; the same key again gives the same run."""
        path, headers = f"/api/v1/workflows/{workflow}/runs/", {"Idempotency-Key": str(key)}
        return self._request("POST", path, {"input": data}, headers=headers)

    def run(self, run_id: str, wait: int = 0) -> Json:
        """A run with its steps, at once or when it stops within `wait` seconds."""
        return self._request("GET", f"/api/v1/workflow-runs/{run_id}/", wait=wait)

    def cancel_run(self, run_id: str) -> Json:
        return self._request("POST", f"/api/v1/workflow-runs/{run_id}/cancel/")

    def execution(self, execution_id: str) -> Json:
        return self._request("GET", f"/api/v1/executions/{execution_id}/")

    def approval(self, approval_id: str, wait: int = 0) -> Json:
        """The state of an approval request, at once or when it changes within `wait` seconds."""
        return self._request("GET", f"/api/v1/approvals/{approval_id}/", wait=wait)

    def _request(
        self,
        method: str,
        path: str,
        body: Json | None = None,
        *,
        headers: dict[str, str] | None = None,
        wait: int = 0,
    ) -> Json:
        deadline = time.monotonic() + self.patience
        pause = 0.5
        while True:
            reason, hint = "", 0.0
            try:
                response = self._send(method, path, body, headers or {}, wait)
            except httpx.TransportError as problem:
                reason = f"no answer ({type(problem).__name__})"
            else:
                if response.is_success:
                    return _object(response)
                reason, hint = self._worth_a_retry(response)
                if not reason:
                    raise Refused(response.status_code, _object(response))
            pause = max(hint, min(pause * 2, 5.0))
            if time.monotonic() + pause > deadline:
                raise Unreachable(
                    f"{method} {path}: {reason}, given up after {self.patience:.0f} s"
                )
            self.notice(f"{reason}; trying again in {pause:.0f} s")
            time.sleep(pause)

    def _send(
        self, method: str, path: str, body: Json | None, headers: dict[str, str], wait: int
    ) -> httpx.Response:
        if not self._token:
            answer = self._sign_in()
            if not answer.is_success:
                return answer
            self._token = str(_object(answer)["access_token"])
        headers = headers | {"Authorization": f"Bearer {self._token}"}
        if wait:
            headers["Prefer"] = f"wait={wait}"
        if body is not None:
            headers["Content-Type"] = "application/json"
        content = None if body is None else jsontext.dumps(body)
        return self._http.request(method, path, content=content, headers=headers, timeout=wait + 15)

    def _sign_in(self) -> httpx.Response:
        answer = self._http.post(
            "/oauth/token/",
            data={"grant_type": "client_credentials"},
            auth=(self.who.client_id, self.who.client_secret),
            timeout=15,
        )
        if answer.status_code in (400, 401):
            hint = (
                f"{self.who.name} of demo-agents.json cannot sign in here; "
                "does the server on this port use the same data directory?"
            )
            raise Refused(answer.status_code, {"code": "UNAUTHENTICATED", "detail": hint})
        return answer

    def _worth_a_retry(self, response: httpx.Response) -> tuple[str, float]:
        """Why the same request deserves another try and after how many seconds; "" if it does not."""
        problem = _object(response)
        code = problem.get("code")
        if code == "UNAUTHENTICATED" and self._token:
            self._token = ""
            return "the access token is no longer accepted", 0.0
        if response.status_code == 429:
            return "too many calls", float(response.headers.get("Retry-After", 5))
        if response.status_code >= 500:
            return f"the server answers {response.status_code}", 0.0
        return "", 0.0


def _object(response: httpx.Response) -> Json:
    """The JSON object of an answer, or an empty one for anything else."""
    try:
        value = jsontext.loads(response.content)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}
