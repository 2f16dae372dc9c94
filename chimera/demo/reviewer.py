"""The demo reviewer: the same web forms as a person, password and CSRF token included."""

from collections.abc import Callable
from typing import Any

import httpx

from chimera.demo.forms import Form, find_form


class DeskRefused(Exception):
    """The desk did not take the sign-in or the signature."""


class Reviewer:
    """A signed-in person at the reviewer desk."""

    def __init__(
        self, base_url: str, username: str, password: str, say: Callable[[str, str], None]
    ) -> None:
        self.username = username
        self.password = password
        self.say = say
        self._web = httpx.Client(
            base_url=base_url, follow_redirects=True, timeout=30, trust_env=False
        )

    @classmethod
    def from_logins(
        cls, base_url: str, logins: list[dict[str, Any]], say: Callable[[str, str], None]
    ) -> "Reviewer":
        """The person with the role reviewer of demo-logins.json."""
        person = next(row for row in logins if row["role"] == "reviewer")
        return cls(base_url, person["username"], person["password"], say)

    def sign_in(self) -> None:
        page = self._web.get("/accounts/login/")
        answer = self._submit(page, "Sign in", text=self.username, password=self.password)
        if answer.url.path.startswith("/accounts/login"):
            raise DeskRefused(f"the desk does not accept the password of {self.username}")

    def approve(self, approval_id: str) -> None:
        """Approve one request and sign it, as the page asks."""
        page = self._web.get(f"/review/{approval_id}/")
        step = self._submit(page, "Approve")
        self._submit(step, "Sign", password=self.password)
        self.say("reviewer", f"{self.username} approved and signed {approval_id}")

    def _submit(self, page: httpx.Response, button: str, **values: str) -> httpx.Response:
        form = find_form(page.text, button)
        if form is None or page.is_error:
            raise DeskRefused(f"{page.url} ({page.status_code}) has no button {button}")
        answer = self._send(page, form, form.filled(button, **values))
        if answer.is_error:
            raise DeskRefused(f"{button} on {page.url} was answered with {answer.status_code}")
        return answer

    def _send(self, page: httpx.Response, form: Form, data: dict[str, str]) -> httpx.Response:
        target = page.url.join(form.action or str(page.url))
        if form.method == "get":
            return self._web.get(target, params=data)
        # Django's CSRF check compares the Referer on https and trusts the token field on http.
        return self._web.post(target, data=data, headers={"Referer": str(page.url)})
