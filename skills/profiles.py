"""The AgentProfile: what agents know of themselves joined with what the ledger knows."""

from typing import Any

from agents.models import Agent
from chimera.core.money import from_units
from wallets.services import wallet_balances, wallet_of_agent


def profile_of(agent: Agent) -> dict[str, Any]:
    """AgentProfile as the schemas define it; wallet_balance is the available USDC of the ledger."""
    wallet = wallet_of_agent(agent.id)
    balance = wallet_balances(wallet).get("USDC") if wallet else None
    persona = getattr(agent, "persona", None)
    profile = {
        "agent_id": agent.id,
        "name": agent.name,
        "type": agent.type,
        "capabilities": agent.capabilities,
        "availability": agent.availability,
        "pending_tasks": agent.pending_tasks,
        "max_concurrent_tasks": agent.max_concurrent_tasks,
        "pricing": agent.pricing,
        "reputation_score": round(agent.reputation_score, 4),
        "uptime_24h": agent.uptime_24h,
        "last_heartbeat": agent.last_heartbeat,
        "supported_platforms": agent.supported_platforms,
        "rejection_count": agent.rejection_count,
        "status": agent.status,
        "wallet_address": wallet.address if wallet else None,
        "wallet_balance": from_units(balance.available, "USDC") if balance else None,
        "last_execution": agent.last_execution,
        "persona_version": persona.version if persona else None,
        "version": agent.version,
    }
    return {key: value for key, value in profile.items() if value is not None}
