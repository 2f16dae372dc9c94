"""The publisher: a Grant in, at most one post out.

intent in the transaction of the grant -> files prepared -> armed -> one send -> remote id kept. A run
that finds the row armed looks the post up at the platform before anything else; what stays unknown
is a state. Every remote handle is committed before the next call, so a step is resumed, not repeated.

Fallback platforms are those that the approval names, in its order. The next one is taken only after
the one before has failed for good with PLATFORM_ERROR, when it is certain that nothing was posted
there. The text, the media and the handle are those of the action, which is what the reviewer saw.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TypeVar
from uuid import UUID

from django.db import transaction

from chimera.core.clock import now
from chimera.core.errors import CODES, ChimeraError
from chimera.core.killpoints import reach
from content.connections import credentials_refresh
from content.handles import handles_open
from content.intents import Overtaken, intent_of, keeper, lock, with_media
from content.models import Publication
from content.permits import publication_refusal
from content.platforms.base import (
    OutcomeUnknown,
    PlatformAdapter,
    PlatformFailure,
    Processing,
    PublishIntent,
    RemotePost,
)
from content.platforms.registry import adapter_for
from content.starting import fallback_begin
from content.verdicts import State, close, failed, processing, published, refused, unknown

MAX_SENDS = 4
FRESH = timedelta(seconds=5)
"""An armed send starts within this time or not at all: a worker that was held up leaves it alone."""
SURELY_SENT = timedelta(minutes=1)
"""No send takes that long: whoever armed it has ended."""
_DUPLICATE = "duplicate"
T = TypeVar("T")


def publication_carry_out(approval_id: UUID) -> Publication:
    """Publish what an approval was given for, on its platform or else on a fallback it names; errors
    are those of `publication_advance`."""
    publication = Publication.objects.filter(approval_id=approval_id).latest("id")
    while True:
        try:
            return publication_advance(publication.id)
        except ChimeraError:
            following = _fall_back(publication)
            if following is None:
                raise
            publication = following


def _fall_back(publication: Publication) -> Publication | None:
    """The publication on the next fallback platform that has room for it; None: there is none."""
    publication.refresh_from_db()
    if publication.state != State.PUBLISH_FAILED or publication.failure_code != "PLATFORM_ERROR":
        return None
    left = list(publication.fallbacks)
    while left:
        made = fallback_begin(publication, left.pop(0), left)
        if made:
            return made
    return None


@dataclass
class _Run:
    """One attempt to bring a publication forward, with its adapter and what is sent."""

    publication: Publication
    adapter: PlatformAdapter
    intent: PublishIntent

    def step(self, call: Callable[[PublishIntent], T]) -> T:
        """One step of the adapter; where the token has expired it is renewed once and the step resumed."""
        try:
            return call(self._current())
        except PlatformFailure as problem:
            if problem.kind != "auth_refresh":
                raise
        self.intent = credentials_refresh(self.publication.account, self.adapter, self._current())
        reach("publish.refreshed")
        try:
            return call(self._current())
        except PlatformFailure as problem:
            if problem.kind != "auth_refresh":
                raise
            message = f"A new access token is refused as well: {problem.message}"
            raise PlatformFailure("auth_dead", message) from None

    def _current(self) -> PublishIntent:
        row = self.publication
        return replace(
            self.intent, handles=handles_open(row.handles), begun_at=row.begun_at or row.armed_at
        )


def publication_advance(publication_id: UUID) -> Publication:
    """Bring the publication forward: look up what may have happened, else prepare and send once.

    Returns it published. Errors: OUTCOME_UNKNOWN (asked again later; details.processing: no doubt,
    the platform is at work), RATE_LIMITED, PUBLISH_FAILED, NETWORK_ERROR and TIMEOUT (safe to try
    again), SAFETY_VIOLATION, PLATFORM_ERROR, INVALID_TOKEN and FORBIDDEN (final, nothing posted).
    """
    publication = _loaded(publication_id)
    if publication.state in (State.PUBLISHED, State.WITHDRAWN):
        return publication
    if publication.state == State.PUBLISH_FAILED:
        code = publication.failure_code
        known = code if code in CODES else "PUBLISH_FAILED"
        raise ChimeraError(known, publication.error, final=True)
    adapter = adapter_for(publication.platform, publication.account.mode)
    run = _Run(publication, adapter, intent_of(publication, adapter))
    try:
        return _advance(run)
    except Overtaken:
        raise unknown(publication, "Another worker is sending this post") from None


def _loaded(publication_id: UUID) -> Publication:
    rows = Publication.objects.select_related("account", "content", "agent")
    return rows.get(id=publication_id)


def publication_look_up(publication_id: UUID) -> Publication:
    """Ask the platform about a post that may be out once more and send nothing: published where it
    shows the post, else OUTCOME_UNKNOWN with what it said."""
    publication = _loaded(publication_id)
    sent = publication.armed_at
    if publication.state not in (State.OUTCOME_UNKNOWN, State.PUBLISHING) or sent is None:
        return publication
    if publication.state == State.PUBLISHING and now() - sent < SURELY_SENT:
        raise ChimeraError("OUTCOME_UNKNOWN", "The post is being sent just now.")
    adapter = adapter_for(publication.platform, publication.account.mode)
    found = _look_up(_Run(publication, adapter, intent_of(publication, adapter)))
    if found is None:
        raise unknown(publication, "The platform does not show the post", person=True)
    return published(publication, found)


def _advance(run: _Run) -> Publication:
    publication = run.publication
    if publication.armed_at:
        found = _look_up(run)
        if found:
            return published(publication, found)
        _require_absence(run)
    _require_permission(publication)
    if publication.attempts >= MAX_SENDS:
        why = f"The platform did not take the post in {MAX_SENDS} attempts"
        failed(publication, "PUBLISH_FAILED", why)
    _prepare(run)
    reach("publish.prepared")
    return _send(run)


def _look_up(run: _Run) -> RemotePost | None:
    try:
        found = run.step(run.adapter.lookup)
    except Processing as step:
        raise processing(run.publication, step) from None
    except PlatformFailure as problem:
        if problem.kind in ("content_rejected", "permanent"):
            refused(run.publication, problem)
        dead = problem.kind == "auth_dead"
        why = f"The platform cannot be asked: {problem}"
        raise unknown(run.publication, why, person=dead, wait=problem.retry_after) from None
    except OutcomeUnknown as problem:
        raise unknown(run.publication, f"The platform cannot be asked: {problem}") from None
    if found and run.adapter.finds_by_text and _may_be_an_earlier_ones(run.publication):
        why = "A post with this text is there, but an earlier one with the same text is in doubt"
        raise unknown(run.publication, why)
    return found


def _may_be_an_earlier_ones(publication: Publication) -> bool:
    """One post stands for one publication, however alike their texts are: who sent first is first."""
    alike = Publication.objects.filter(account_id=publication.account_id, text=publication.text)
    doubtful = alike.filter(
        state__in=[State.PUBLISHING, State.OUTCOME_UNKNOWN],
        armed_at__isnull=False,
        begun_at__lt=publication.begun_at,
    )
    return doubtful.exclude(id=publication.id).exists()


def _require_absence(run: _Run) -> None:
    """The look-up has found nothing: go on only where that proves that there is no post."""
    publication, adapter = run.publication, run.adapter
    assert publication.armed_at  # only then it was looked up
    if now() - publication.armed_at < timedelta(seconds=adapter.settle_seconds):
        raise unknown(publication, "The platform does not show the post yet")
    duplicate = _DUPLICATE in publication.handles
    if duplicate and publication.attempts == 1:
        why = "The platform calls the post a duplicate of an older one of this account"
        failed(publication, "PLATFORM_ERROR", f"{why}; change the text")
    if duplicate or not adapter.absence_is_proof:
        raise unknown(publication, "The platform does not show the post", person=True)


def _require_permission(publication: Publication) -> None:
    refusal = publication_refusal(publication.id)
    if refusal:
        failed(publication, *refusal)


def _prepare(run: _Run) -> None:
    """Fetch the media once, check them against the approval, and let the adapter upload them."""
    publication = run.publication
    loaded = with_media(run.intent, publication)
    if loaded is None:
        failed(publication, "INVALID_TOKEN", "The media changed after the approval")
    run.intent, keep = loaded, keeper(publication, run.adapter)
    try:
        run.step(lambda intent: run.adapter.prepare(intent, keep))
    except Processing as step:
        raise processing(publication, step) from None
    except PlatformFailure as problem:
        refused(publication, problem)
    except OutcomeUnknown as problem:
        refused(publication, PlatformFailure("transient_before_mutation", str(problem)))


def _send(run: _Run) -> Publication:
    publication = run.publication
    _arm(publication)
    keep = keeper(publication, run.adapter)
    reach("publish.armed")
    try:
        post = run.step(lambda intent: _send_once(run, intent))
    except OutcomeUnknown as problem:
        raise unknown(publication, str(problem)) from None
    except Processing as step:
        raise processing(publication, step) from None
    except PlatformFailure as problem:
        if problem.kind == "duplicate_rejected":
            keep(_DUPLICATE, str(publication.attempts))
        refused(publication, problem)
    reach("publish.sent")
    return published(publication, post)


def _send_once(run: _Run, intent: PublishIntent) -> RemotePost:
    armed_at = run.publication.armed_at
    if armed_at is None or now() - armed_at > FRESH:
        raise OutcomeUnknown("The send was held up and left alone")
    return run.adapter.send(intent, keeper(run.publication, run.adapter))


def _arm(publication: Publication) -> None:
    """Commit that a send is under way, under the lock of the row, so that two workers cannot both
    send, unless it was forbidden during the uploads."""
    moment = now()
    with transaction.atomic():
        row = lock(publication)
        if row.state not in (State.PUBLISHING, State.SCHEDULED, State.OUTCOME_UNKNOWN):
            raise Overtaken
        refusal = publication_refusal(row.id)
        if refusal is None:
            row.armed_at, row.begun_at = moment, row.begun_at or moment
            row.attempts, row.state = row.attempts + 1, State.PUBLISHING
            row.save(update_fields=["armed_at", "begun_at", "attempts", "state"])
    if refusal:
        failed(publication, *refusal)
    publication.armed_at, publication.begun_at = row.armed_at, row.begun_at
    publication.attempts, publication.state = row.attempts, row.state


def publication_call_off(execution_id: UUID) -> None:
    """Close what an execution that has failed never sent, so that the content can be published anew.

    A post that may be on its way stays as it is: only the platform knows.
    """
    unsent = Publication.objects.filter(
        execution_id=execution_id,
        state__in=[State.PUBLISHING, State.SCHEDULED],
        armed_at__isnull=True,
    )
    for publication in unsent:
        why = publication.error or "The execution failed before a send"
        close(publication, "CALLED_OFF", why, armed_at__isnull=True)


def publication_under_way(execution_id: UUID) -> bool:
    """True once a send may have reached the platform: then only the platform can tell."""
    begun = Publication.objects.filter(execution_id=execution_id, armed_at__isnull=False)
    return begun.exclude(state=State.PUBLISH_FAILED).exists()
