"""Drives an adapter as the publisher does: handles kept, armed before a send, looked up when armed.

A crash is a `keep` that commits and then raises `Killed`, so nothing after that line has happened.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from chimera.core.clock import now
from chimera.core.digest import sha256_hex
from chimera.core.ids import new_id
from content.platforms.base import (
    Credentials,
    Media,
    OutcomeUnknown,
    PlatformAdapter,
    PlatformFailure,
    Processing,
    PublishIntent,
    RemotePost,
)
from tests.fakes.fixtures import FakeServer

JPEG, PNG = b"\xff\xd8\xff\xe0", b"\x89PNG\r\n\x1a\n"
FAULTS = (
    *("429", "429_seconds", "429_date", "429_bare", "500_before_effect", "500_after_effect"),
    *("cut_before_effect", "cut_after_effect", "html_error", "html_after_effect", "slow_drip"),
)
"""What may happen to any call; tests.fakes.faults says what each is."""
PASSING = ("transient_before_mutation", "rate_limited")


class Killed(Exception):
    """The worker died right after this handle was committed."""


@dataclass
class Post:
    """One post on its way. kill_after: the number of the commit after which the worker dies."""

    adapter: PlatformAdapter
    intent: PublishIntent
    armed: bool = False
    kill_after: int = 0
    kept: list[str] = field(default_factory=list)

    def keep(self, name: str, value: str) -> None:
        handles = {**self.intent.handles, name: value}
        self.intent = replace(self.intent, handles=handles)
        self.kept.append(name)
        if len(self.kept) == self.kill_after:
            raise Killed

    def advance(self) -> RemotePost:
        """One run; what it raises is what the publisher sees."""
        if self.armed:
            found = self._step(lambda intent: self.adapter.lookup(bare(intent)))
            if found:
                return found
        self._step(lambda intent: self.adapter.prepare(intent, self.keep))
        self.armed = True
        try:
            return self._step(lambda intent: self.adapter.send(intent, self.keep))
        except PlatformFailure:
            self.armed = False
            raise

    def _step(self, call: Callable[[PublishIntent], Any]) -> Any:
        try:
            return call(self.intent)
        except PlatformFailure as problem:
            if problem.kind != "auth_refresh":
                raise
        self.intent = replace(self.intent, credentials=self.adapter.refresh(self.intent))
        return call(self.intent)

    def to_the_end(self, runs: int = 8) -> RemotePost:
        """Run until it is published, as after any number of failures that pass."""
        last: Exception | None = None
        for _ in range(runs):
            try:
                return self.advance()
            except (Processing, OutcomeUnknown, Killed) as pause:
                last = pause
            except PlatformFailure as problem:
                assert problem.kind in PASSING, problem
                last = problem
        raise AssertionError(f"not published in {runs} runs: {last!r}")


def bare(intent: PublishIntent) -> PublishIntent:
    """The intent of a look-up, whose media have no bytes."""
    return replace(intent, media=tuple(replace(item, body=b"") for item in intent.media))


def photo(name: str = "a.jpg", body: bytes = JPEG) -> Media:
    """A picture of a few bytes."""
    return Media(f"https://media.example/{name}", sha256_hex(body), "image", body)


def post_on(
    adapter: PlatformAdapter, server: FakeServer, text: str, media: tuple[Media, ...], **wanted: Any
) -> Post:
    """A post that begins now, from a new account on the server. wanted: what the account is like."""
    given = server.account(**wanted)
    intent = PublishIntent(
        intent_id=new_id(),
        platform=server.name,
        account=given["handle"],
        text=text,
        media=media,
        base_url=server.url,
        credentials=Credentials(given["access_token"], given["refresh_token"], given["extra"]),
        begun_at=now(),
    )
    return Post(adapter, intent)
