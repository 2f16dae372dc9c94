"""Tokens that can be renewed only while they hold are renewed although nobody posts."""

import logging

from django.conf import settings

from chimera.core.errors import ChimeraError
from content.connections import account_refusal, credentials_open, credentials_refresh
from content.intents import base_url_of
from content.models import PlatformAccount
from content.platforms.base import PlatformFailure, PublishIntent
from content.platforms.registry import SANDBOX, adapter_for

log = logging.getLogger(__name__)


def credentials_renew_due() -> int:
    """Renew what would lapse soon; how many were. One that fails is tried again the next time.

    Only accounts of the networks that this deployment posts to: a copy of its data elsewhere must
    not use up their tokens.
    """
    posted_to = PlatformAccount.objects.filter(enabled=True, mode=settings.CHIMERA.chimera_platform)
    return sum(_renewed(account) for account in posted_to.exclude(mode=SANDBOX))


def _renewed(account: PlatformAccount) -> bool:
    try:
        adapter = adapter_for(account.platform, account.mode)
        credentials = credentials_open(account)
        if account_refusal(account) or not adapter.renewal_due(credentials):
            return False
        intent = PublishIntent(
            intent_id=account.id,
            platform=account.platform,
            account=account.handle,
            text="",
            media=(),
            base_url=base_url_of(account, adapter),
            credentials=credentials,
        )
        credentials_refresh(account, adapter, intent)
    except (PlatformFailure, ChimeraError) as problem:
        log.warning("the token of %s was not renewed: %s", account, problem)
        return False
    return True
