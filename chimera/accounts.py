"""People are created by an admin, never by signing up."""

from typing import NoReturn

from allauth.account.adapter import DefaultAccountAdapter
from django.apps import apps
from django.contrib import admin
from django.http import Http404, HttpRequest

CLOSED = ("signup", "email", "set_password", "inactive", "reset_password")
"""Pages of the sign-in package that its own templates link to and that do not exist here."""


def absent(request: HttpRequest) -> NoReturn:
    """404."""
    raise Http404


KEPT_FROM_ADMIN = (
    "oauth2_provider.AccessToken",
    "oauth2_provider.Application",
    "oauth2_provider.Grant",
    "oauth2_provider.IDToken",
    "oauth2_provider.RefreshToken",
    "mfa.Authenticator",
    "account.EmailAddress",
    "django_celery_results.GroupResult",
)
"""Libraries register these with the admin by themselves; they show tokens and second factors, or are
never used. Credentials of agents are made on the agent's own page."""


def prune_admin() -> None:
    """Take the pages away that show what nobody should read."""
    for label in KEPT_FROM_ADMIN:
        model = apps.get_model(label)
        if admin.site.is_registered(model):
            admin.site.unregister(model)


class NoSignupAdapter(DefaultAccountAdapter):
    """Closes the sign-up page."""

    def is_open_for_signup(self, request: HttpRequest) -> bool:
        return False
