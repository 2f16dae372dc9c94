"""Who acts: agents, personas, campaigns, credentials."""

from django.apps import AppConfig


class AgentsConfig(AppConfig):
    name = "agents"
    verbose_name = "Agents"
