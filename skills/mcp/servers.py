"""The MCP servers of this deployment: mcp.json, or the sandbox world where there is none."""

from decimal import Decimal

from django.conf import settings

from chimera.core.errors import ChimeraError
from skills.mcp.client import MCPClient, ServerConfig, load_config

FREE = {"ideogram": Decimal(0), "runwayml": Decimal(0)}
"""What the sandbox world asks for its drawings."""


def client() -> MCPClient | None:
    """A client of every configured server; None where a deployment names none.

    A configuration that cannot be used is a fault of ours, whoever calls: INTERNAL_ERROR.
    """
    env = settings.CHIMERA
    if not env.chimera_mcp_config.exists():
        if not env.is_sandbox:
            return None
        return MCPClient({"sandbox": ServerConfig(url=f"{env.chimera_world_url}/mcp", prices=FREE)})
    try:
        return MCPClient(load_config(env.chimera_mcp_config))
    except ValueError as problem:
        raise ChimeraError("INTERNAL_ERROR", f"CHIMERA_MCP_CONFIG: {problem}") from None
