"""What needs a person: one item with its evidence, and the ways to settle it."""

from collections.abc import Callable
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_GET, require_POST

from approvals import escalations, troubles
from approvals.models import Escalation
from approvals.subjects import Subject, subject_of
from approvals.views import live, reviewers_only
from chimera.core.errors import ChimeraError
from content.publishing import publication_look_up
from content.settling import Verdict
from wallets.debits import debit_advance


@reviewers_only
@require_GET
def detail(request: HttpRequest, item_id: UUID) -> HttpResponse:
    """One item: what happened, the evidence, what a person can do."""
    return _page(request, _item(item_id))


@live
def state(request: HttpRequest, item_id: UUID) -> HttpResponse:
    """204 while the item is as the page shows it, else that it has changed."""
    item = _item(item_id)
    about = subject_of(item)
    now_shown = troubles.state_of(item, about)
    if now_shown == request.GET.get("shown"):
        return HttpResponse(status=204)
    context = {"item": item, "ended": about.ended, "state": now_shown}
    return render(request, "approvals/_trouble_state.html", context)


@reviewers_only
@require_POST
def settle(request: HttpRequest, item_id: UUID) -> HttpResponse:
    """Close the item with a note."""
    return _carry_out(
        request,
        item_id,
        "Settled.",
        lambda: escalations.escalation_settle(
            escalation_id=item_id, person=_person(request), note=request.POST.get("note", "")
        ),
    )


@reviewers_only
@require_POST
def live_post(request: HttpRequest, item_id: UUID) -> HttpResponse:
    """A person has seen the post."""
    done = "Kept as published. The execution that waits completes at its next look-up."
    return _outcome(request, item_id, Verdict.LIVE, done)


@reviewers_only
@require_POST
def absent_post(request: HttpRequest, item_id: UUID) -> HttpResponse:
    """A person has made sure that there is no post; it is given up, or sent again."""
    if request.POST.get("then") == "send_again":
        done = "It is sent again at the next look-up of the execution that waits, within a minute."
        return _outcome(request, item_id, Verdict.SEND_AGAIN, done)
    done = "Kept as not posted. The content can be approved and published anew."
    return _outcome(request, item_id, Verdict.NOT_POSTED, done)


@reviewers_only
@require_POST
def look(request: HttpRequest, item_id: UUID) -> HttpResponse:
    """Ask the platform or the chain once more; nothing new is sent."""
    try:
        found = _look(subject_of(_item(item_id)))
    except ChimeraError as error:
        messages.warning(request, f"Asked just now. {error.message}")
    else:
        messages.success(request, f"Asked just now. {found}")
    return redirect("desk:escalation", item_id)


def _look(about: Subject) -> str:
    if about.publication:
        return Subject(publication=publication_look_up(about.publication.id)).ended
    if about.debit is None:
        return "There is nothing to ask about."
    debit = debit_advance(about.debit.id)
    return Subject(debit=debit).ended or "The chain does not show a settled transaction yet."


def _outcome(request: HttpRequest, item_id: UUID, verdict: Verdict, done: str) -> HttpResponse:
    given = {name: request.POST.get(name, "") for name in ("note", "post_url", "post_id")}
    return _carry_out(
        request,
        item_id,
        done,
        lambda: escalations.outcome_settle(
            escalation_id=item_id, person=_person(request), verdict=verdict, **given
        ),
    )


def _carry_out(
    request: HttpRequest, item_id: UUID, done: str, act: Callable[[], Any]
) -> HttpResponse:
    """Do it and go back to the inbox; what is wrong is shown on the page, with what was typed."""
    item = _item(item_id)
    try:
        act()
    except ChimeraError as error:
        return _page(request, item, error)
    messages.success(request, done)
    return redirect("desk:inbox")


def _page(
    request: HttpRequest, item: Escalation, error: ChimeraError | None = None
) -> HttpResponse:
    context = {
        **troubles.page(item),
        "problem": error.message if error else "",
        "wrong": next(iter(error.errors or {}), "") if error else "",
        "given": request.POST,
        "tried": request.path.rstrip("/").rsplit("/", 1)[-1] if error else "",
    }
    status = error.http_status if error else 200
    return render(request, "approvals/escalation.html", context, status=status)


def _person(request: HttpRequest) -> User:
    assert isinstance(request.user, User)  # reviewers_only lets nobody else in
    return request.user


def _item(item_id: UUID) -> Escalation:
    rows = Escalation.objects.select_related("agent", "settled_by")
    return get_object_or_404(rows, id=item_id)
