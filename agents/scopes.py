"""OAuth2 scopes: what a credential was granted; asking for nothing gives all of it."""

from typing import Any

from oauth2_provider.scopes import BaseScopes

from agents.models import Credential
from agents.roles import SCOPES


def _granted(application: Any) -> list[str]:
    found = (
        Credential.objects.filter(application=application).values_list("scopes", flat=True).first()
    )
    return list(found or [])


class AgentScopes(BaseScopes):  # type: ignore[misc]  # the package has no types
    """Scopes backend of the OAuth2 server."""

    def get_all_scopes(self) -> dict[str, str]:
        return dict(SCOPES)

    def get_available_scopes(
        self, application: Any = None, request: Any = None, *_: Any, **__: Any
    ) -> list[str]:
        granted = _granted(application)
        asked = getattr(request, "scopes", None) or []
        narrower = (
            [scope for scope in asked if scope.startswith("skills:")]
            if "skills:*" in granted
            else []
        )
        return granted + narrower

    def get_default_scopes(
        self, application: Any = None, request: Any = None, *_: Any, **__: Any
    ) -> list[str]:
        return _granted(application)
