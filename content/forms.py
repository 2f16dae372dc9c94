"""The form by which a person connects an account: secrets go in and never come out again."""

from typing import Any

from django import forms
from django.conf import settings
from unfold.widgets import (
    UnfoldAdminPasswordWidget,
    UnfoldAdminTextareaWidget,
    UnfoldAdminURLInputWidget,
)

from content.connections import base_url_refusal
from content.models import PlatformAccount
from content.platforms.base import Credentials

_KEPT = "Leave empty to keep what is connected now."


class AccountForm(forms.ModelForm):  # type: ignore[type-arg]  # no subscript at run time
    """An account and, write-only, its credentials. Whatever is given replaces all that was there."""

    base_url = forms.URLField(
        required=False,
        assume_scheme="https",
        widget=UnfoldAdminURLInputWidget(),
        help_text="Empty: the network's own address.",
    )
    access_token = forms.CharField(
        required=False, widget=UnfoldAdminPasswordWidget(), strip=True, help_text=_KEPT
    )
    refresh_token = forms.CharField(
        required=False, widget=UnfoldAdminPasswordWidget(), strip=True, help_text=_KEPT
    )
    extra = forms.CharField(
        required=False,
        widget=UnfoldAdminTextareaWidget(),
        help_text="One name=value per line; docs/platforms.md says what each platform needs.",
    )

    class Meta:
        model = PlatformAccount
        fields = ["platform", "handle", "mode", "agent", "base_url", "enabled"]

    def clean_handle(self) -> str:
        return str(self.cleaned_data["handle"]).strip().removeprefix("@")

    def clean_base_url(self) -> str:
        url = str(self.cleaned_data["base_url"] or "")
        refusal = base_url_refusal(url)
        if refusal:
            raise forms.ValidationError(refusal)
        return url

    def clean_mode(self) -> str:
        mode = str(self.cleaned_data["mode"])
        if settings.CHIMERA.environment == "production" and mode != PlatformAccount.Mode.LIVE:
            raise forms.ValidationError("Production posts to the real networks alone; choose live")
        return mode

    def clean_extra(self) -> dict[str, str]:
        lines = [line.strip() for line in self.cleaned_data["extra"].splitlines() if line.strip()]
        pairs = [line.partition("=") for line in lines]
        if not all(equals and name.strip() for name, equals, _ in pairs):
            raise forms.ValidationError("Write one name=value per line")
        return {name.strip(): value.strip() for name, _, value in pairs}

    def clean(self) -> dict[str, Any]:
        cleaned: dict[str, Any] = super().clean() or self.cleaned_data
        others = cleaned.get("refresh_token") or cleaned.get("extra")
        if others and not cleaned.get("access_token"):
            self.add_error("access_token", "Give the access token as well; all is replaced at once")
        if cleaned.get("mode") == PlatformAccount.Mode.LOCAL and not cleaned.get("base_url"):
            self.add_error("base_url", "Say where the local server listens")
        return cleaned

    def credentials(self) -> Credentials | None:
        """What was given; None when nothing was."""
        given = self.cleaned_data
        if not given.get("access_token"):
            return None
        return Credentials(given["access_token"], given["refresh_token"], given["extra"])
