"""Celery tasks of content: shells round the services. Each may be lost or doubled without harm."""

from celery import shared_task

from content.engagement import engagement_refresh_due
from content.renewing import credentials_renew_due


@shared_task(name="content.refresh_engagement")
def refresh_engagement() -> None:
    """Take the counts of posts that have reached an age at which they are wanted."""
    engagement_refresh_due()


@shared_task(name="content.renew_credentials")
def renew_credentials() -> None:
    """Renew the tokens of accounts that would lapse unless somebody posted."""
    credentials_renew_due()
