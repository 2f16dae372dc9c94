"""A provider that quotes our credential in its refusal: what is kept of the refusal does not hold it."""

import pytest

from content.platforms import http
from tests.helpers.canaries import leaky_provider


@pytest.mark.parametrize("status", [400, 401, 403, 429, 500, 503])
@pytest.mark.req("A0.5")
def test_a_refusal_that_quotes_the_credential_is_kept_without_it(status: int) -> None:
    form = {"refresh_token": "canary-refresh", "client_secret": "canary-client", "name": "Merkato"}

    with leaky_provider(status) as provider:
        reply = http.call(
            "POST", provider.url, token="canary-access", data=form, headers={"X-Key": "canary-key"}
        )

    heard = "".join(provider.heard)
    for secret in ("canary-access", "canary-refresh", "canary-client", "canary-key"):
        assert secret in heard
    assert b"canary" not in reply.body and "canary" not in http.detail(reply, "detail")
    assert b"Merkato" in reply.body and b"[redacted]" in reply.body


@pytest.mark.parametrize("name", ["upload_id", "upload_token"])
@pytest.mark.req("A0.5")
def test_a_refusal_that_quotes_the_address_of_an_upload_is_kept_without_its_secret(
    name: str,
) -> None:
    form = {"description": "canary-session"}

    with leaky_provider(400) as provider:
        reply = http.call("PUT", f"{provider.url}?{name}=canary-session&part=snippet", data=form)

    assert "canary-session" in "".join(provider.heard)
    assert b"canary" not in reply.body


def test_an_answer_that_hands_out_a_token_is_left_alone() -> None:
    with leaky_provider(200) as provider:
        assert b"canary-access" in http.call("POST", provider.url, token="canary-access").body
