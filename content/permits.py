"""May this still be posted? Asked anew before anything is uploaded and again when the send is armed.

Since the signature an agent or an account may have been disabled, the content edited, the account
given another name. What would be sent must still be exactly the action that was approved.
"""

from typing import Any

from chimera.core.clock import iso
from chimera.core.digest import digest
from content.connections import account_refusal
from content.execution_intents import as_intent
from content.models import Publication
from content.services import content_sha256

Refusal = tuple[str, str]
"""An error code and why, as a sentence."""


def publication_refusal(publication_id: Any) -> Refusal | None:
    """Why the publication must not go out any more; None where it may. Reads every row afresh."""
    rows = Publication.objects.select_related("account", "content", "agent")
    publication = rows.get(id=publication_id)
    if not publication.agent.enabled:
        return "FORBIDDEN", "The agent has been disabled"
    refusal = account_refusal(publication.account)
    if refusal:
        return "FORBIDDEN", refusal
    if _is_edited(publication):
        return "INVALID_TOKEN", "The content was edited after the approval; ask for a new one"
    if digest(_action_of(publication)) != publication.action_digest:
        return "INVALID_TOKEN", "What would be posted is not what was approved; ask for a new one"
    return None


def _is_edited(publication: Publication) -> bool:
    content = publication.content
    if content.revision == publication.revision:
        return False
    approved = content.revisions.get(number=publication.revision)
    return bool(content.current.sha256 != approved.sha256)


def _action_of(publication: Publication) -> dict[str, Any]:
    """The approved action, made anew from what is stored; a fallback has that of its first one."""
    same = Publication.objects.filter(approval_id=publication.approval_id)
    first = same.select_related("account").earliest("created_at", "id")
    package = publication.content.revisions.get(number=publication.revision).data
    hashes = [item["sha256"] for item in publication.media]
    post = {
        "type": "publish_content",
        "content_id": str(publication.content_id),
        "content_sha256": content_sha256(package, hashes),
        "revision": publication.revision,
        "platform": first.platform,
        "account": publication.account.handle,
        "text": publication.text,
        "media": hashes,
        "schedule_time": iso(publication.scheduled_for),
        "fallback_platforms": first.fallbacks,
    }
    return as_intent(post, package)
