"""An MCP server that quotes our credential: what is kept of its words does not hold it."""

import pytest

from chimera.core.errors import ChimeraError
from skills.mcp.client import ServerConfig, _hushed


@pytest.mark.req("A0.5", "W4")
def test_the_words_of_a_server_are_kept_without_our_credentials() -> None:
    config = ServerConfig(
        url="http://127.0.0.1:1/mcp",
        headers={"Authorization": "Bearer canary-header", "X-Tenant": "t1"},
    )

    failure = _hushed(ChimeraError("PLATFORM_UNAVAILABLE", "t1: no canary-header here"), config)

    assert failure.message == "t1: no [redacted] here"
