"""Writes across agents, personas and credentials."""

import secrets
from dataclasses import dataclass
from typing import Any

from django.db import transaction
from oauth2_provider.models import Application

from agents.models import Agent, Campaign, Credential, HeardHour, Persona
from agents.roles import CAPABILITIES, Role, scopes_of
from chimera.core import audit
from chimera.core.errors import ChimeraError


@dataclass(frozen=True)
class IssuedCredential:
    """A fresh OAuth2 client; the secret is shown here and never again."""

    client_id: str
    client_secret: str


def agent_create(*, name: str, role: str, actor: str, platforms: list[str] | None = None) -> Agent:
    """A new agent with a default persona. INVALID_INPUT for an unknown role or a bad name."""
    if role not in Role.values:
        raise ChimeraError("INVALID_INPUT", f"Unknown role {role}; one of {', '.join(Role.values)}")
    if not 3 <= len(name) <= 100:
        raise ChimeraError("INVALID_INPUT", "An agent's name has 3 to 100 characters")
    with transaction.atomic():
        agent = Agent.objects.create(
            name=name,
            type=role,
            capabilities=CAPABILITIES[role],
            supported_platforms=platforms or ["twitter", "tiktok", "instagram", "youtube", "news"],
        )
        Persona.objects.create(agent=agent, data=default_persona(name))
        HeardHour.objects.create(
            agent=agent, hour=agent.created_at.replace(minute=0, second=0, microsecond=0)
        )
        audit.record(
            actor=actor,
            action="agent.created",
            object_type="agent",
            object_id=agent.id,
            data={"name": name, "type": role},
        )
    return agent


def credential_issue(
    *, agent: Agent, actor: str, scopes: list[str] | None = None
) -> IssuedCredential:
    """A new OAuth2 client-credentials client of the agent, with every scope of its role by default."""
    secret = secrets.token_urlsafe(32)
    with transaction.atomic():
        application = Application.objects.create(
            name=agent.name,
            client_type=Application.CLIENT_CONFIDENTIAL,
            authorization_grant_type=Application.GRANT_CLIENT_CREDENTIALS,
            client_secret=secret,
        )
        granted = scopes or scopes_of(agent.type)
        Credential.objects.create(application=application, agent=agent, scopes=granted)
        audit.record(
            actor=actor,
            action="credential.issued",
            object_type="agent",
            object_id=agent.id,
            data={"client_id": application.client_id, "scopes": granted},
        )
    return IssuedCredential(application.client_id, secret)


def persona_set(*, agent: Agent, data: dict[str, Any], actor: str) -> Persona:
    """Replace the agent's persona (validated Persona fields without agent_id, version and times)."""
    with transaction.atomic():
        persona = Persona.objects.select_for_update().get(agent=agent)
        persona.data, persona.version = data, persona.version + 1
        persona.save()
        audit.record(
            actor=actor,
            action="persona.changed",
            object_type="agent",
            object_id=agent.id,
            data={"version": persona.version},
        )
    return persona


def campaign_create(*, agent: Agent, actor: str, **fields: Any) -> Campaign:
    """A new campaign of the agent."""
    with transaction.atomic():
        campaign: Campaign = Campaign.objects.create(agent=agent, **fields)
        audit.record(
            actor=actor,
            action="campaign.created",
            object_type="campaign",
            object_id=campaign.id,
            data={"name": campaign.name},
        )
    return campaign


def default_persona(name: str) -> dict[str, Any]:
    """A usable persona for an agent that has none of its own yet."""
    return {
        "name": name,
        "bio": f"{name} shares what is new and worth knowing, in plain words.",
        "voice_tone": "casual",
        "target_audience": {"age_range": "all", "interests": [], "regions": ["global"]},
        "vocabulary": {"preferred_words": [], "forbidden_words": [], "jargon_level": "beginner"},
        "content_style": {
            "post_length_preference": "concise",
            "emoji_usage": "minimal",
            "hashtag_strategy": "mix_popular_niche",
            "media_preference": "text_images",
            "storytelling_style": "narrative",
        },
        "engagement_strategy": {
            "goal": "authentic",
            "call_to_action": "like_comment_share",
            "controversy_level": "safe",
            "authenticity_weight": 0.7,
        },
        "platform_preferences": {
            "twitter": 0.8,
            "tiktok": 0.6,
            "instagram": 0.8,
            "youtube": 0.4,
            "linkedin": 0.2,
        },
        "values": {"core_values": ["honesty"]},
    }
