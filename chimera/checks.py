"""System checks: a wrong deployment says so at the start, with an id and a remedy."""

from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, Tags, Warning, register

from skills import policy_rules
from skills.catalogue import registry
from skills.mcp.config import load_config


@register(Tags.security)
def approval_keys_stay_with_the_web_process(**_: Any) -> list[CheckMessage]:
    """E001: outside the sandbox only the web process may be able to read private approval keys."""
    env = settings.CHIMERA
    if env.is_sandbox or env.chimera_process == "web" or not env.chimera_approval_keys:
        return []
    return [
        Error(
            f"CHIMERA_APPROVAL_KEYS is set for the process {env.chimera_process}",
            hint="Give the private approval keys to the web process alone.",
            id="chimera.E001",
        )
    ]


@register(Tags.compatibility)
def jobs_end_before_the_broker_gives_them_out_again(**_: Any) -> list[CheckMessage]:
    """E002: a broker that redelivers a message while its job still runs would run it twice."""
    options = settings.CELERY_BROKER_TRANSPORT_OPTIONS
    limit = int(str(options.get("visibility_timeout", 3600)))
    if limit >= 600:
        return []
    return [
        Error(
            f"visibility_timeout is {limit} seconds, shorter than the longest execution",
            hint="Set visibility_timeout to 600 seconds or more.",
            id="chimera.E002",
        )
    ]


@register(Tags.security)
def approval_rules_can_be_used(**_: Any) -> list[CheckMessage]:
    """E003: rules that cannot be evaluated deny every call."""
    try:
        policy_rules.rules()
    except policy_rules.Unusable as problem:
        hint = "Mend the file of CHIMERA_APPROVAL_RULES; docs/skill_contract.md has the policy."
        return [Error(f"Every call is denied: {problem}", hint=hint, id="chimera.E003")]
    return []


@register(Tags.compatibility)
def mcp_servers_can_be_read(**_: Any) -> list[CheckMessage]:
    """E004: of servers that cannot be read no skill can use any."""
    path = settings.CHIMERA.chimera_mcp_config
    try:
        if path.exists():
            load_config(path)
    except (ValueError, OSError) as problem:
        hint = "Mend the file of CHIMERA_MCP_CONFIG; docs/mcp.md has an example."
        return [Error(f"No MCP server can be used: {problem}", hint=hint, id="chimera.E004")]
    return []


@register()
def installed_skills_are_complete(**_: Any) -> list[CheckMessage]:
    """W001: a skill of an installed package that cannot be used is left out; nobody can call it."""
    return [
        Warning(
            f"The skill {point} of an installed package is left out: {reason}",
            hint="Mend or remove the package.",
            id="chimera.W001",
        )
        for point, reason in registry.refused().items()
    ]
