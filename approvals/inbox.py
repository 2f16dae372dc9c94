"""The list of the inbox: filters, groups by lane, pages."""

import re
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import urlencode

from django.db.models import QuerySet
from django.http import QueryDict

from approvals import troubles
from approvals.models import ApprovalRequest, Kind, Lane, Status
from approvals.presenters import LANES, Row, inbox_row
from chimera.core.clock import iso, now

PAGE = 50
PAGE_NUMBER = re.compile("[0-9]{1,6}")
CAP = 999


@dataclass(frozen=True)
class Filter:
    """One choice above the list."""

    word: str
    query: str
    here: bool
    apart: bool = False


@dataclass(frozen=True)
class Group:
    """Rows under one heading; no heading for the decided ones."""

    word: str
    rows: list[Row]


def page_of(query: QueryDict) -> dict[str, Any]:
    """Everything the inbox template shows for the query (`lane`, `kind`, `show`, `page`).

    `show=settled` lists what needed a person before.
    """
    show = str(query.get("show", ""))
    if show == "settled":
        return _settled()
    decided = show == "decided"
    given = {name: str(value) for name, value in query.items()}
    chosen = {name: given[name] for name, allowed in _FILTERS.items() if given.get(name) in allowed}
    number = int(given["page"]) if PAGE_NUMBER.fullmatch(given.get("page", "")) else 0
    found = _decided(chosen) if decided else _waiting(chosen)
    items = list(found[number * PAGE : number * PAGE + PAGE + 1])
    rows = [inbox_row(item) for item in items[:PAGE]]
    more = {**chosen, **({"show": "decided"} if decided else {}), "page": number + 1}
    return {
        "troubles": troubles.rows(troubles.open_items())
        if not (decided or chosen or number)
        else [],
        "troubles_word": "Needs a person",
        "groups": [Group("", rows)] if decided and rows else _by_lane(rows),
        "filters": _filters(chosen, show="decided" if decided else ""),
        "summary": _summary(),
        "newest": iso(now()),
        "next_query": urlencode(more) if len(items) > PAGE else "",
        "empty_title": "Nothing was decided yet." if decided else "Nothing waits for you.",
        "empty_note": _empty_note(decided),
    }


def _settled() -> dict[str, Any]:
    """The newest items that a person has settled."""
    return {
        "troubles": troubles.rows(troubles.settled_items()),
        "troubles_word": "Settled",
        "groups": [],
        "filters": _filters({}, show="settled"),
        "summary": _summary(),
        "newest": iso(now()),
        "empty_title": "Nothing was settled yet.",
        "empty_note": "What needed a person appears here with the note that settled it.",
    }


_FILTERS = {"lane": Lane.values, "kind": Kind.values}


def _waiting(chosen: dict[str, str]) -> QuerySet[ApprovalRequest]:
    return (
        ApprovalRequest.objects.waiting().filter(**chosen).select_related("agent").in_inbox_order()
    )


def _decided(chosen: dict[str, str]) -> QuerySet[ApprovalRequest]:
    decided = ApprovalRequest.objects.exclude(status=Status.PENDING)
    return decided.filter(**chosen).select_related("agent").order_by("-decided_at", "-id")


def _by_lane(rows: list[Row]) -> list[Group]:
    groups = [
        Group(f"{word} lane", [row for row in rows if row.lane == lane])
        for lane, word in LANES.items()
    ]
    return [group for group in groups if group.rows]


def _filters(chosen: dict[str, str], show: str) -> list[Filter]:
    choices: list[tuple[str, dict[str, str], bool]] = [("All waiting", {}, False)]
    choices += [(word, {"lane": lane}, lane == "fast") for lane, word in LANES.items()]
    choices += [("Posts", {"kind": Kind.PUBLISH}, True), ("Payments", {"kind": Kind.DEBIT}, False)]
    choices += [(f"{kind.label}s", {"kind": kind}, False) for kind in (Kind.INTENT, Kind.QUESTION)]
    waiting = [
        Filter(word, urlencode(query), not show and chosen == query, apart)
        for word, query, apart in choices
    ]
    past = [
        Filter("Decided", "show=decided", show == "decided", apart=True),
        Filter("Settled", "show=settled", show == "settled"),
    ]
    return [*waiting, *past]


def _summary() -> str:
    waiting = ApprovalRequest.objects.waiting()
    number = waiting[: CAP + 1].count()
    oldest = waiting.order_by("created_at").values_list("created_at", flat=True).first()
    parts = []
    if oldest:
        minutes = int((now() - oldest).total_seconds() // 60)
        age = f"{minutes} min" if minutes < 120 else f"{minutes // 60} h"
        parts += [f"{f'{CAP}+' if number > CAP else number} waiting", f"oldest {age}"]
    people = troubles.waiting_count()
    if people:
        parts.append(f"{people} {'needs' if people == 1 else 'need'} a person")
    return " · ".join(parts)


def _empty_note(decided: bool) -> str:
    if decided:
        return "Decisions appear here with their record."
    today = now().replace(hour=0, minute=0, second=0, microsecond=0)
    number = ApprovalRequest.objects.filter(decided_at__gte=today)[: CAP + 1].count()
    return f"{number} decided today." if number else "New posts and payments of agents appear here."


def arrived_since(moment: datetime) -> int:
    """How many requests that still wait, and items that need a person, are newer; capped."""
    requests = ApprovalRequest.objects.waiting().filter(created_at__gt=moment)[: CAP + 1].count()
    return requests + troubles.arrived_since(moment)


def neighbours(request: ApprovalRequest) -> dict[str, Any]:
    """`previous_id` and `next_id` in inbox order; after a decided request the first that waits."""
    ids = list(
        ApprovalRequest.objects.waiting().in_inbox_order().values_list("id", flat=True)[:CAP]
    )
    if request.id not in ids:
        return {"previous_id": None, "next_id": ids[0] if ids else None}
    at = ids.index(request.id)
    return {
        "previous_id": ids[at - 1] if at else None,
        "next_id": ids[at + 1] if at + 1 < len(ids) else None,
    }
