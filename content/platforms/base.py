"""The shape of every platform adapter: six steps, each handle kept before the next call.

prepare (media, containers, sessions: may be repeated) -> send (the one call that makes a post) ->
lookup (reads only, as often as needed) -> engagement. An adapter acts once and never repeats: `send`
makes exactly one attempt that changes anything, and no library under it retries.
What it cannot know (a timeout, a reset, a 5xx once the bytes may have left) is `OutcomeUnknown`;
the caller then asks `lookup`. Everything else that goes wrong is a `PlatformFailure` with one of a
few kinds, the only vocabulary the rest of the platform sees.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal
from uuid import UUID

FailureKind = Literal[
    "auth_refresh",  # the access token has expired: refresh once, then resume the same handle
    "auth_dead",  # revoked, suspended or lacking a scope: a person must connect the account again
    "rate_limited",  # not before `retry_after`
    "quota_exhausted",  # the day's or the application's share is used up
    "transient_before_mutation",  # nothing was sent; a later try is safe
    "duplicate_rejected",  # evidence that an earlier attempt is live: look it up
    "content_rejected",  # policy, format or size
    "permanent",  # everything else
]


@dataclass(frozen=True)
class Media:
    """A media file of a post. type: image or video; sha256: lower-case hex over the bytes.

    body: the bytes, checked against sha256; empty in a look-up and where they are not at hand.
    seconds: length of a video, where the package states it. `formats.mime_type(body)` tells the format.
    """

    url: str
    sha256: str
    type: str = "image"
    body: bytes = field(default=b"", repr=False)
    seconds: float | None = None


Keep = Callable[[str, str], None]
"""`keep(name, value)` commits a remote handle (a media id, a session URI) before the next call.

It raises where another worker has gone on with the post in the meantime: let it pass through."""


@dataclass(frozen=True)
class Credentials:
    """What an account is connected with. extra: further secrets and ids by the adapter's names;
    connection: stays while tokens are renewed, another one once a person connects the account anew."""

    access_token: str = field(repr=False, default="")
    refresh_token: str = field(repr=False, default="")
    extra: Mapping[str, str] = field(repr=False, default_factory=dict)
    connection: str = ""


@dataclass(frozen=True)
class PublishIntent:
    """What will be posted, where, and with whose token; stored before it is sent.

    intent_id is also the reference by which a platform's timeline is searched. text: exactly what
    the reviewer saw. variant: the texts of the approved revision for this platform (title,
    description, sound_id ...). made_by_ai: to be declared where the platform has a flag for it.
    handles: what earlier steps have kept. begun_at: when the post was first armed, None before.
    taken: ids of the account's posts that are known to stand for other intents.
    """

    intent_id: UUID
    platform: str
    account: str
    text: str
    media: tuple[Media, ...]
    base_url: str
    credentials: Credentials = field(repr=False, default_factory=Credentials)
    variant: Mapping[str, str] = field(default_factory=dict)
    made_by_ai: bool = True
    handles: Mapping[str, str] = field(default_factory=dict)
    begun_at: datetime | None = None
    taken: frozenset[str] = frozenset()


@dataclass(frozen=True)
class RemotePost:
    """A post that is known to exist on the platform."""

    post_id: str
    post_url: str
    published_at: datetime


@dataclass(frozen=True)
class Engagement:
    """Counts as the platform reports them."""

    likes: int
    comments: int
    shares: int


class Processing(Exception):
    """The platform has taken the post (its handle is kept) and is still working on it.

    retry_after: seconds until it is worth asking again, where the platform says so.
    """

    def __init__(self, message: str, *, retry_after: float | None = None) -> None:
        self.message = message
        self.retry_after = retry_after
        super().__init__(message)


class OutcomeUnknown(Exception):
    """The attempt may or may not have taken effect; only `lookup` can tell."""


class PlatformFailure(Exception):
    """A failure that is certain to have left no new post behind.

    retry_after: seconds the platform asked to wait, where it did.
    """

    def __init__(
        self, kind: FailureKind, message: str, *, retry_after: float | None = None
    ) -> None:
        self.kind = kind
        self.message = message
        self.retry_after = retry_after
        super().__init__(message)


class PlatformAdapter(ABC):
    """One network. Stateless: everything a call needs is in the intent.

    Any step may raise PlatformFailure("auth_refresh"): the token is renewed once and the same step
    is called again with the same handles.
    """

    name: str
    base_url: str = ""
    """The network's own address, where the account names none."""

    settle_seconds: float = 60.0
    """After how long a post that `lookup` does not find was certainly not made."""

    absence_is_proof: bool = True
    """Whether a look-up that finds nothing proves, after `settle_seconds`, that there is no post.
    Where it does not, nothing is sent again and a person decides."""

    finds_by_text: bool = False
    """Whether `lookup` knows the post by its text alone, as another intent's may be as well."""

    secret_handles: frozenset[str] = frozenset()
    """Handles that let anybody go on with the post, such as an upload's address: kept sealed."""

    @abstractmethod
    def check(self, text: str, media: tuple[Media, ...]) -> list[str]:
        """What the platform would refuse about this content; empty when it is fine."""

    def prepare(self, intent: PublishIntent, keep: Keep) -> None:  # noqa: B027  a platform may need nothing
        """Everything before the post: uploads, containers, sessions. Safe to repeat after a crash:
        what `intent.handles` names is used again. Raises PlatformFailure or Processing."""

    @abstractmethod
    def send(self, intent: PublishIntent, keep: Keep) -> RemotePost:
        """Post it: one attempt. Raises OutcomeUnknown, Processing or PlatformFailure."""

    @abstractmethod
    def lookup(self, intent: PublishIntent) -> RemotePost | None:
        """The post this intent has made, None when there is none. Reads only; media have no bodies.

        Raises Processing while the platform works on it. PlatformFailure: content_rejected and
        permanent say that the platform has refused the post for good; every other kind says only
        that it could not be asked.
        """

    def renewal_due(self, credentials: Credentials) -> bool:
        """Whether a token must be renewed now, as it could not be once it has lapsed."""
        return False

    def refresh(self, intent: PublishIntent) -> Credentials:
        """New credentials from the refresh token, all of them (a token that stays, too).

        Raises PlatformFailure("auth_dead"), or another kind when it could not be asked.
        """
        raise PlatformFailure("auth_dead", "The account must be connected again")

    @abstractmethod
    def engagement(self, intent: PublishIntent, post_id: str) -> Engagement:
        """Current counts of a post. Reads only; raises PlatformFailure."""
