"""A node that does not answer, or answers with something else."""

import socket

import pytest
from pytest_httpserver import HTTPServer

from chimera.core.errors import ChimeraError
from tests.helpers.devnet import Devnet
from wallets.chain.gateway import Gateway


def test_unreachable_node_is_a_network_error(devnet: Devnet) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    with pytest.raises(ChimeraError) as caught:
        Gateway(f"http://127.0.0.1:{port}", 31337, devnet.usdc).block_number()
    assert caught.value.code == "NETWORK_ERROR"


def test_silent_node_is_a_network_error_after_the_timeout(devnet: Devnet) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        url = f"http://127.0.0.1:{server.getsockname()[1]}"
        with pytest.raises(ChimeraError) as caught:
            Gateway(url, 31337, devnet.usdc, timeout=0.2).block_number()
    assert caught.value.code == "NETWORK_ERROR"


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ("<html>login</html>", 200, "WALLET_ERROR"),
        ("[]", 200, "WALLET_ERROR"),
        ('{"jsonrpc": "2.0", "id": 0}', 200, "WALLET_ERROR"),
        ('{"jsonrpc": "2.0", "id": 0, "result": "later"}', 200, "WALLET_ERROR"),
        ("no key", 401, "WALLET_ERROR"),
        ("slow down", 429, "NETWORK_ERROR"),
        ("bad gateway", 502, "NETWORK_ERROR"),
    ],
)
def test_unusable_answer_gets_its_code(
    httpserver: HTTPServer, devnet: Devnet, body: str, status: int, code: str
) -> None:
    httpserver.expect_request("/").respond_with_data(body, status, content_type="application/json")
    with pytest.raises(ChimeraError) as caught:
        Gateway(httpserver.url_for("/"), 31337, devnet.usdc).block_number()
    assert caught.value.code == code
