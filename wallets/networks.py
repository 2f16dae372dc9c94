"""The networks a wallet may live on, and the gateway of each."""

import json
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from django.conf import settings

from chimera.core.errors import ChimeraError
from wallets.chain.gateway import Gateway

RPC_TIMEOUT = 5.0


@dataclass(frozen=True)
class Network:
    """A chain: how to reach it, what its tokens are called, which block tag counts as settled.

    rpc_url and usdc of the devnet come from devnet.json in the data directory.
    """

    name: str
    chain_id: int
    usdc: str
    settle_tag: str
    native: str = "ETH"
    rpc_url: str = ""


PUBLIC = {
    network.name: network
    for network in (
        Network("base", 8453, "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913", "safe", "BASE"),
        Network("mainnet", 1, "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48", "finalized"),
        Network("sepolia", 11155111, "0x1c7D4B196Cb0C7B01d743Fbc6116a902379C7238", "safe"),
        Network(
            "base-sepolia",
            84532,
            "0x036CbD53842c5426634e7929541eC2318f3dCF7e",
            "safe",
            "BASE",
        ),
    )
}
DEVNET = "devnet"


def devnet_facts() -> dict[str, Any]:
    """devnet.json: rpc_url, chain_id, usdc, settlement, faucet. NETWORK_ERROR without one."""
    try:
        facts: dict[str, Any] = json.loads((settings.CHIMERA.data_dir / "devnet.json").read_text())
    except (OSError, ValueError):
        message = "The embedded chain is not running: start it with `make run`"
        raise ChimeraError("NETWORK_ERROR", message) from None
    return facts


def network_of(name: str) -> Network:
    """The network of this name with its endpoint. INVALID_INPUT when there is none configured."""
    url = settings.CHIMERA.rpc_urls.get(name, "")
    if name == DEVNET:
        facts = devnet_facts()
        return Network(
            DEVNET,
            int(facts["chain_id"]),
            facts["usdc"],
            "latest",
            rpc_url=url or facts["rpc_url"],
        )
    known = PUBLIC.get(name)
    if known is None or not url:
        remedy = (
            f"set CHIMERA_RPC_URL_{name.upper().replace('-', '_')} to a JSON-RPC endpoint"
            if known
            else f"give one of {', '.join((*PUBLIC, DEVNET))}"
        )
        message = f"The network {name!r} is not available: {remedy}"
        raise ChimeraError("INVALID_INPUT", message, errors={"network": [remedy]})
    return Network(known.name, known.chain_id, known.usdc, known.settle_tag, known.native, url)


def gateway_for(name: str) -> Gateway:
    """The gateway of a network; one per process and endpoint."""
    return _gateway(network_of(name))


@lru_cache(maxsize=16)
def _gateway(network: Network) -> Gateway:
    return Gateway(network.rpc_url, network.chain_id, network.usdc, RPC_TIMEOUT, network.settle_tag)


def settlement_address(name: str) -> str:
    """Who is paid when a debit names no recipient: the setting, on the devnet its own address."""
    configured = settings.CHIMERA.settlement_address
    if configured:
        return str(configured)
    if name == DEVNET:
        return str(devnet_facts()["settlement"])
    message = "No recipient: name one, or set CHIMERA_SETTLEMENT_ADDRESS"
    raise ChimeraError("INVALID_INPUT", message, errors={"recipient": [message]})
