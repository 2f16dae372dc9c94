"""The way to a token."""

import base64
from typing import Any

import pytest
from django.conf import settings as django_settings
from django.test import Client

from agents.models import Agent
from agents.services import credential_issue

METADATA = "/.well-known/oauth-authorization-server"


@pytest.mark.req("W5")
@pytest.mark.parametrize("method", ["client_secret_basic", "client_secret_post"])
def test_the_metadata_leads_to_a_token_by_every_method_it_names(
    method: str, orchestrator: Agent
) -> None:
    metadata: dict[str, Any] = Client().get(METADATA).json()
    assert metadata["issuer"] == django_settings.CHIMERA.chimera_web_url
    assert method in metadata["token_endpoint_auth_methods_supported"]
    issued = credential_issue(agent=orchestrator, actor="system:test")
    body = {"grant_type": metadata["grant_types_supported"][0], "scope": "executions:read"}
    assert body["scope"] in metadata["scopes_supported"]
    if method == "client_secret_post":
        body |= {"client_id": issued.client_id, "client_secret": issued.client_secret}
        client = Client()
    else:
        pair = base64.b64encode(f"{issued.client_id}:{issued.client_secret}".encode()).decode()
        client = Client(headers={"Authorization": f"Basic {pair}"})

    answer = client.post(metadata["token_endpoint"].removeprefix(metadata["issuer"]), body)

    assert answer.status_code == 200, answer.content
    assert answer.json()["scope"] == "executions:read"
