"""The numbers and the last events of the dashboard."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.contrib.auth.models import User
from django.urls import Resolver404, resolve

from agents.models import Agent
from approvals.cards import money
from approvals.models import ApprovalRequest
from approvals.troubles import waiting_count
from chimera.core.clock import now
from chimera.core.models import AuditEntry
from chimera.core.money import from_units
from content.models import Publication
from wallets.models import Debit

VERBS = {
    "publication.started": "began to publish",
    "publication.published": "published",
    "publication.failed": "could not publish",
    "publication.settled": "settled",
    "escalation.settled": "settled",
    "debit.begin": "began to pay",
    "debit.posted": "paid",
    "debit.failed": "could not pay",
    "content.stored": "wrote",
    "content.revised": "rewrote",
    "approval.requested": "asked for a signature",
    "approval.approved": "signed",
    "approval.rejected": "rejected",
    "approval.changes_requested": "asked for changes",
    "approval.consumed": "used the signature",
    "approval.expired": "let it expire",
    "approval.revoked": "took the signature back",
}
BACKGROUND = ("executions.sealed",)
INBOX, DECIDED = "/review/", "/review/?show=decided"
CAP = 999


@dataclass(frozen=True)
class Tile:
    """One figure that leads to the page behind it; `tone` colours it when it needs attention."""

    url: str
    icon: str
    label: str
    figure: str
    note: str
    unit: str = ""
    tone: str = ""


@dataclass(frozen=True)
class Event:
    """One line of what happened last."""

    at: datetime
    text: str


def tiles() -> list[Tile]:
    """Waiting, out today, spent today, trouble."""
    today = now().replace(hour=0, minute=0, second=0, microsecond=0)
    return [_waiting(), _published(today), _spent(today), _trouble(today)]


def _waiting() -> Tile:
    waiting = ApprovalRequest.objects.waiting()
    number = waiting[: CAP + 1].count()
    oldest = waiting.order_by("created_at").values_list("created_at", flat=True).first()
    note = f"oldest {_minutes(now() - oldest)}" if oldest else "nothing needs you"
    return Tile(INBOX, "inbox", "Waiting", f"{CAP}+" if number > CAP else str(number), note)


def _published(today: datetime) -> Tile:
    published = Publication.objects.filter(state=Publication.State.PUBLISHED)
    number = published.filter(published_at__gte=today).count()
    week = today - timedelta(days=7)
    before = published.filter(published_at__gte=week, published_at__lt=today).count()
    note = f"{before / 7:.1f} a day in the week before" if before else "none in the week before"
    unit = "post" if number == 1 else "posts"
    return Tile(_page("/content/", DECIDED), "send", "Out today", str(number), note, unit)


def _spent(today: datetime) -> Tile:
    debits = Debit.objects.filter(created_at__gte=today, currency="USDC").exclude(
        status=Debit.Status.FAILED
    )
    amounts = list(debits.values_list("amount", flat=True))
    note = f"{len(amounts)} payment{'' if len(amounts) == 1 else 's'}, each signed"
    return Tile(
        _page("/wallets/", DECIDED),
        "coin",
        "Spent today",
        money(from_units(sum(amounts), "USDC")),
        note,
        "USDC",
    )


def _trouble(today: datetime) -> Tile:
    posts, debits = Publication.State, Debit.Status
    unknown = Publication.objects.filter(state=posts.OUTCOME_UNKNOWN).count()
    unknown += Debit.objects.filter(status=debits.OUTCOME_UNKNOWN).count()
    failed = Publication.objects.filter(state=posts.PUBLISH_FAILED, created_at__gte=today).count()
    failed += Debit.objects.filter(status=debits.FAILED, created_at__gte=today).count()
    people = waiting_count()
    if people:
        note = f"{people} {'needs' if people == 1 else 'need'} a person, {failed} failed today"
        return Tile(INBOX, "alert-triangle", "Trouble", str(people + failed), note, tone="bad")
    note = (
        f"{unknown} unknown, {failed} failed today"
        if unknown or failed
        else "no unknown outcome, nothing failed"
    )
    return Tile(
        _page("/executions/", DECIDED),
        "alert-triangle",
        "Trouble",
        str(unknown + failed),
        note,
        tone="bad" if unknown or failed else "",
    )


def _page(wanted: str, otherwise: str) -> str:
    try:
        resolve(wanted)
    except Resolver404:
        return otherwise
    return wanted


def _minutes(span: timedelta) -> str:
    minutes = int(span.total_seconds() // 60)
    return f"{minutes} min" if minutes < 120 else f"{minutes // 60} h"


def events(limit: int = 7) -> list[Event]:
    """The newest entries of the audit log, in words."""
    told = AuditEntry.objects.exclude(action__in=BACKGROUND)
    newest = list(told.order_by("-sequence")[:limit])
    names, sentences = _names(newest), _sentences(newest)
    return [
        Event(entry.at, f"{names.get(entry.actor, 'Chimera')} {_did(entry, sentences)}")
        for entry in newest
    ]


def _names(entries: list[AuditEntry]) -> dict[str, str]:
    actors = {entry.actor for entry in entries}
    agents = Agent.objects.filter(
        pk__in=[actor[6:] for actor in actors if actor.startswith("agent:")]
    )
    people = User.objects.filter(
        pk__in=[
            actor[7:] for actor in actors if actor.startswith("person:") and actor[7:].isdigit()
        ]
    )
    return {f"agent:{agent.pk}": agent.name for agent in agents} | {
        f"person:{one.pk}": one.username for one in people
    }


def _sentences(entries: list[AuditEntry]) -> dict[str, str]:
    ids = [entry.object_id for entry in entries if entry.object_type == "approval"]
    return {
        str(pk): sentence
        for pk, sentence in ApprovalRequest.objects.filter(pk__in=ids).values_list("pk", "sentence")
    }


def _did(entry: AuditEntry, sentences: dict[str, str]) -> str:
    about = (
        sentences.get(entry.object_id)
        or f"{entry.object_type.replace('_', ' ')} …{entry.object_id[-8:]}"
    )
    return f"{VERBS.get(entry.action) or entry.action.replace('_', ' ').replace('.', ' ')}: {about}"
