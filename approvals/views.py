"""The reviewer desk: read, show, and hand the decision to the services."""

from collections.abc import Callable
from datetime import datetime
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.contrib.auth import authenticate
from django.contrib.auth.decorators import login_required, permission_required
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from approvals import dashboard as figures
from approvals import inbox as lists
from approvals import presenters, services
from approvals.models import ApprovalRequest, Kind
from approvals.outcomes import outcome
from chimera.core import ratelimit
from chimera.core.clock import moment_of, now
from chimera.core.errors import ChimeraError

View = Callable[..., HttpResponse]
PASSWORD_TRIES, PASSWORD_WINDOW = 5, 300


def reviewers_only(view: View) -> View:
    """Signed in, allowed to decide, and never cached."""
    allowed = permission_required("approvals.decide", raise_exception=True)(view)
    guarded: View = never_cache(login_required(allowed))
    return guarded


def live(view: View) -> View:
    """A part that a page asks for again and again: 401, not a sign-in page, for strangers."""

    def part(request: HttpRequest, *args: Any, **parameters: Any) -> HttpResponse:
        if not request.user.has_perm("approvals.decide"):
            return HttpResponse(status=401)
        return view(request, *args, **parameters)

    guarded: View = never_cache(require_GET(part))
    return guarded


@never_cache
@login_required
@require_GET
def dashboard(request: HttpRequest) -> HttpResponse:
    """Four figures, what waits, what happened last."""
    waiting = ApprovalRequest.objects.waiting().select_related("agent").in_inbox_order()
    may_decide = request.user.has_perm("approvals.decide")
    rows = [presenters.inbox_row(item) for item in waiting[:5]] if may_decide else []
    return render(
        request,
        "dashboard.html",
        {"tiles": figures.tiles(), "events": figures.events(), "rows": rows},
    )


@reviewers_only
@require_GET
def inbox(request: HttpRequest) -> HttpResponse:
    """What waits, by lane and time left; or what was decided."""
    return render(request, "approvals/inbox.html", lists.page_of(request.GET))


@live
def inbox_count(request: HttpRequest) -> HttpResponse:
    """How many arrived since the list was drawn; 204 when none did, or `after` is no time."""
    try:
        number = lists.arrived_since(moment_of(request.GET.get("after")))
    except ValueError:
        number = 0
    return (
        render(request, "approvals/_news.html", {"number": number})
        if number
        else HttpResponse(status=204)
    )


@reviewers_only
@require_GET
def request_detail(request: HttpRequest, request_id: UUID) -> HttpResponse:
    """One request, exactly as it was frozen."""
    item = _item(request_id)
    context = {**presenters.page(item), **lists.neighbours(item), **outcome(item)}
    return render(request, "approvals/request.html", context)


@live
def request_state(request: HttpRequest, request_id: UUID) -> HttpResponse:
    """204 while the request is as the page shows it, else what became of it."""
    item = _item(request_id)
    status = presenters.shown_status(item)
    if status == request.GET.get("shown"):
        return HttpResponse(status=204)
    return render(
        request, "approvals/_state.html", {"item": item, "state": presenters.STATES[status]}
    )


@reviewers_only
@require_http_methods(["GET", "POST"])
def sign(request: HttpRequest, request_id: UUID) -> HttpResponse:
    """The sign step: the sentence, the digest, the reviewer's password."""
    item = _item(request_id)
    shown = request.POST.get("digest") or request.GET.get("digest", item.action_digest)
    if shown != item.action_digest or not item.is_open:
        messages.error(
            request,
            "This request is no longer open, or not what you were shown. Read it again below.",
        )
        return redirect("desk:request", request_id)
    if request.method == "GET":
        return render(request, "approvals/sign.html", {"item": item})
    return _sign(request, item, shown)


def _sign(request: HttpRequest, item: ApprovalRequest, shown: str) -> HttpResponse:
    try:
        confirmed_at = _confirm_password(request)
        services.request_approve(
            request_id=item.id,
            reviewer=_reviewer(request),
            password_confirmed_at=confirmed_at,
            shown_digest=shown,
        )
    except ChimeraError as error:
        return render(
            request,
            "approvals/sign.html",
            {"item": item, "error": error.message},
            status=error.http_status,
        )
    done = (
        "The answer is on its way."
        if item.kind == Kind.QUESTION
        else "It is carried out once, exactly as shown."
    )
    messages.success(request, f"Signed. {done}")
    return redirect("desk:request", item.id)


def _confirm_password(request: HttpRequest) -> datetime:
    """When the password was checked; FORBIDDEN if it is wrong, RATE_LIMITED after many wrong ones."""
    key = f"sign:{request.user.pk}"
    ratelimit.hit(key, PASSWORD_TRIES, PASSWORD_WINDOW)
    person = authenticate(
        request, username=request.user.get_username(), password=request.POST.get("password", "")
    )
    if person is None or person.pk != request.user.pk:
        raise ChimeraError("FORBIDDEN", "The password is not right. Nothing was signed.")
    ratelimit.forget(key, PASSWORD_TRIES, PASSWORD_WINDOW)
    return now()


@reviewers_only
@require_POST
def reject(request: HttpRequest, request_id: UUID) -> HttpResponse:
    """Say no, with a reason."""
    return _refuse(
        request, request_id, services.request_reject, "Rejected. The agent can read your reason."
    )


@reviewers_only
@require_POST
def request_changes(request: HttpRequest, request_id: UUID) -> HttpResponse:
    """Send it back, with what to change."""
    return _refuse(
        request,
        request_id,
        services.request_changes,
        "Sent back. The agent can read what to change.",
    )


def _refuse(
    request: HttpRequest, request_id: UUID, decide: Callable[..., Any], done: str
) -> HttpResponse:
    reason = request.POST.get("reason", "").strip()
    try:
        if not reason:
            raise ChimeraError("INVALID_INPUT", "Give a reason; nothing was decided.")
        decide(
            request_id=request_id,
            reviewer=_reviewer(request),
            reason=reason,
            shown_digest=request.POST.get("digest", ""),
        )
    except ChimeraError as error:
        messages.error(request, error.message)
    else:
        messages.success(request, done)
    return redirect("desk:request", request_id)


def _reviewer(request: HttpRequest) -> User:
    assert isinstance(request.user, User)  # reviewers_only lets nobody else in
    return request.user


def _item(request_id: UUID) -> ApprovalRequest:
    return get_object_or_404(ApprovalRequest.objects.select_related("agent"), id=request_id)
