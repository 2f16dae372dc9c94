"""What a deployment needs before its first call: keys, people, agents with accounts and wallets."""

import json
import os
import secrets
from decimal import Decimal
from pathlib import Path
from typing import Any

import httpx
from django.conf import settings
from django.contrib.auth.models import Group, Permission, User
from django.db import transaction

from agents.models import Agent
from agents.services import agent_create, campaign_create, credential_issue, persona_set
from chimera.connecting import accounts_ensure, accounts_keep, accounts_open, accounts_reconnect
from chimera.core.clock import now
from chimera.core.errors import ChimeraError
from chimera.core.money import to_units
from content.models import PlatformAccount
from skills.models import StandIn
from wallets.deposits import deposits_scan
from wallets.models import Wallet
from wallets.networks import gateway_for, network_of
from wallets.services import wallet_open

GAS_COIN = 10**18
MOST_FUND = 1_000_000
REVIEWERS = "reviewers"
HANDLES = {"Aurora": "aurora_style", "Cashier": "cashier"}
"""The demo agents and their handle on every platform."""


def agent_provision(
    *,
    name: str,
    role: str,
    wallet: bool = False,
    fund: Decimal | None = None,
    actor: str,
    handle: str = "",
) -> dict[str, Any]:
    """An agent ready to work: persona, credentials, sandbox accounts, and a wallet if asked for.

    Returns name, role, agent_id, client_id, client_secret, wallet_address. `fund` is USDC, with gas
    coin added, and only possible on the devnet. The chain and the platforms of the sandbox are asked
    first: where one of them does not answer (NETWORK_ERROR), nothing is made.
    """
    env = settings.CHIMERA
    units = _fund_units(fund) if fund is not None else 0
    handle = handle or _handle(name)
    opened_accounts = accounts_open(handle)
    with transaction.atomic():
        agent = agent_create(name=name, role=role, actor=actor)
        credential = credential_issue(agent=agent, actor=actor)
        opened = (
            wallet_open(agent=agent, network=env.network) if wallet or fund is not None else None
        )
        accounts_keep(agent, handle, opened_accounts)
    # Only now: a scan passes over what reaches an address before its wallet is in the database.
    if opened and units:
        fund_wallet(opened, units)
    return {
        "name": agent.name,
        "role": agent.type,
        "agent_id": str(agent.id),
        "client_id": credential.client_id,
        "client_secret": credential.client_secret,
        "wallet_address": opened.address if opened else None,
    }


def _fund_units(fund: Decimal) -> int:
    """Units of a sum that the devnet may give. INVALID_INPUT, or the error of a chain that is down."""
    if settings.CHIMERA.network != "devnet":
        raise ChimeraError(
            "INVALID_INPUT",
            "--fund works on the devnet only; send funds to the wallet's address instead",
        )
    bounded = fund.is_finite() and 0 < fund <= MOST_FUND
    if not bounded or fund != fund.quantize(Decimal("0.000001")):
        message = (
            f"--fund {fund} is out of bounds: give more than 0 and at most {MOST_FUND} USDC, "
            "with at most 6 decimals, e.g. 250 or 12.50"
        )
        raise ChimeraError("INVALID_INPUT", message, errors={"fund": [message]})
    gateway_for("devnet").check()
    return to_units(fund.quantize(Decimal("0.000001")), "USDC")


def _handle(name: str) -> str:
    kept = "".join(
        letter
        for letter in name.lower().replace(" ", "_")
        if letter.isascii() and (letter.isalnum() or letter == "_")
    )
    return f"{kept[:30] or 'agent'}_{secrets.token_hex(2)}"


def fund_wallet(wallet: Wallet, units: int) -> None:
    """Units of USDC and some gas coin from the devnet's faucet, seen in the ledger when this returns."""
    params = [wallet.address, str(units), str(GAS_COIN)]
    request = {"jsonrpc": "2.0", "id": 1, "method": "chimera_fund", "params": params}
    try:
        answer = httpx.post(network_of("devnet").rpc_url, json=request, timeout=10, trust_env=False)
        refused = answer.raise_for_status().json().get("error")
    except httpx.HTTPError as problem:
        raise ChimeraError(
            "NETWORK_ERROR", f"The devnet's faucet gave nothing: {problem}"
        ) from None
    if refused:
        raise ChimeraError("WALLET_ERROR", f"The devnet's faucet refused: {refused['message']}")
    deposits_scan("devnet")


def people_ensure(data_dir: Path) -> list[dict[str, str]]:
    """The demo people of a sandbox with their passwords, kept in demo-logins.json (mode 0600)."""
    path = data_dir / "demo-logins.json"
    if path.exists():
        kept: list[dict[str, str]] = json.loads(path.read_text())
        return kept
    group, _ = Group.objects.get_or_create(name=REVIEWERS)
    group.permissions.add(
        Permission.objects.get(codename="decide", content_type__app_label="approvals")
    )
    logins = [_person(role, group) for role in ("reviewer", "reviewer2", "admin")]
    write_private(path, logins)
    return logins


def _person(role: str, group: Group) -> dict[str, str]:
    password = secrets.token_urlsafe(12)
    user, _ = User.objects.get_or_create(username=role)
    user.is_staff = user.is_superuser = role == "admin"
    user.set_password(password)
    user.save()
    if role != "admin":
        user.groups.add(group)
    return {"username": role, "password": password, "role": role}


def write_private(path: Path, value: Any) -> None:
    """JSON that only its owner can read, whole or not at all."""
    draft = path.with_suffix(f".{secrets.token_hex(4)}")
    with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        json.dump(value, file, indent=2)
    draft.replace(path)


def demo_agents_ensure(data_dir: Path) -> list[dict[str, Any]]:
    """Aurora, who makes and publishes, and Cashier, who pays, with their campaign; kept in demo-agents.json."""
    path = data_dir / "demo-agents.json"
    if path.exists():
        kept: list[dict[str, Any]] = json.loads(path.read_text())
        accounts_reconnect()
        for row in kept:
            accounts_ensure(Agent.objects.get(id=row["agent_id"]), HANDLES[row["name"]])
        return kept
    _discard_half_made()
    aurora = agent_provision(
        name="Aurora", role="orchestrator", actor="system:setup", handle=HANDLES["Aurora"]
    )
    cashier = agent_provision(
        name="Cashier",
        role="cfo_judge",
        fund=Decimal(250),
        actor="system:setup",
        handle=HANDLES["Cashier"],
    )
    agent = Agent.objects.get(id=aurora["agent_id"])
    persona_set(agent=agent, data=AURORA, actor="system:setup")
    campaign_create(agent=agent, actor="system:setup", **_campaign())
    StandIn.objects.create(
        workflow="trend-to-post-with-payment",
        version=1,
        agent=agent,
        role="cfo_judge",
        stand_in_id=cashier["agent_id"],
    )
    write_private(path, [aurora, cashier])
    return [aurora, cashier]


def _discard_half_made() -> None:
    """Retire what an interrupted set-up left behind; its secrets are lost with it."""
    PlatformAccount.objects.filter(handle__in=HANDLES.values()).update(agent=None)
    Agent.objects.filter(name__in=HANDLES).update(enabled=False)


def _campaign() -> dict[str, Any]:
    return {
        "name": "Street style, seen close",
        "goal": "Be the first to show what people really wear, and say where it comes from.",
        "start_date": now().date(),
        "budget": {"total_amount": Decimal(250), "cost_per_post": Decimal(25), "currency": "USDC"},
        "trend_filters": {
            "engagement_min": 10000,
            "sentiment": ["positive", "neutral"],
            "platforms": ["twitter", "news"],
        },
        "content_guidelines": {
            "content_types": ["single_post"],
            "brand_safety_level": "moderate",
            "approval_required": True,
        },
    }


AURORA: dict[str, Any] = {
    "name": "Aurora",
    "bio": "Street fashion from Addis Ababa, seen with a tailor's eye.",
    "voice_tone": "casual",
    "target_audience": {
        "age_range": "18-24",
        "interests": ["street fashion", "thrift"],
        "regions": ["AFRICA", "EU"],
    },
    "vocabulary": {
        "preferred_words": ["market", "handmade"],
        "forbidden_words": ["cheap"],
        "jargon_level": "beginner",
    },
    "content_style": {
        "post_length_preference": "concise",
        "emoji_usage": "minimal",
        "hashtag_strategy": "mix_popular_niche",
        "media_preference": "text_images",
        "storytelling_style": "listicle",
    },
    "engagement_strategy": {
        "goal": "authentic",
        "call_to_action": "like_comment_share",
        "controversy_level": "safe",
        "authenticity_weight": 0.8,
    },
    "platform_preferences": {
        "twitter": 0.9,
        "tiktok": 0.7,
        "instagram": 1.0,
        "youtube": 0.3,
        "linkedin": 0.0,
    },
    "values": {"core_values": ["honesty", "craft"]},
}
