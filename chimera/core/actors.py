"""Who is acting now: set at every door, read by the history rows."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from django.contrib.auth.models import User
from django.db import models
from django.http import HttpRequest, HttpResponse
from simple_history.models import HistoricalRecords

_actor: ContextVar[str] = ContextVar("chimera_actor", default="system:command")


def current_actor() -> str:
    """`agent:<id>`, `person:<id>` or `system:<part>`."""
    return _actor.get()


@contextmanager
def acting(actor: str) -> Iterator[None]:
    """Everything inside is done by this actor."""
    token = _actor.set(actor)
    try:
        yield
    finally:
        _actor.reset(token)


def act_as(actor: str) -> None:
    """The rest of this request is done by this actor; `ActorMiddleware` ends it."""
    _actor.set(actor)


class ActorMiddleware:
    """A request is done by the person who is signed in, until an access token says otherwise."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        user = getattr(request, "user", None)
        signed_in = user is not None and user.is_authenticated
        with acting(f"person:{user.pk}" if signed_in and user else "system:anonymous"):
            return self.get_response(request)


class ActedHistory(models.Model):
    """Columns that every history row has beside those of its table."""

    actor = models.CharField(max_length=200, default=current_actor)

    class Meta:
        abstract = True


def _person(request: Any = None, **_: Any) -> User | None:
    user = getattr(request, "user", None)
    return user if isinstance(user, User) else None


def history(**options: Any) -> HistoricalRecords:
    """History of a table in which every row names its actor, in Celery too."""
    return HistoricalRecords(bases=[ActedHistory], get_user=_person, **options)
