"""Who said yes: requests, decisions, tokens, the reviewer desk."""

from django.apps import AppConfig


class ApprovalsConfig(AppConfig):
    name = "approvals"
    verbose_name = "Approvals"
