"""Instagram: containers, which Instagram fills by fetching the files itself, then one media_publish.

A container can be published once and says so itself, so it is the guard: after an unknown outcome the
container is read, and it is never replaced unless it certainly was not published. The id of the post is
kept before its address is asked for. A post is never taken for ours because it is the newest.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

from chimera.core.clock import moment_of, now
from content.platforms.base import (
    Credentials,
    Engagement,
    Keep,
    Media,
    PlatformAdapter,
    PlatformFailure,
    Processing,
    PublishIntent,
    RemotePost,
)
from content.platforms.instagram import api, errors, rules

SEARCH_FOR = timedelta(minutes=10)
CLOCKS_DIFFER = timedelta(minutes=1)
RENEW_BEFORE = timedelta(days=10)
IMAGE_SEC, VIDEO_SEC, QUOTA_SEC = 3.0, 30.0, 3600.0
UNNAMED = "container:"


def make(platform: str) -> "InstagramAdapter":
    """The adapter; `platform` is always instagram."""
    return InstagramAdapter()


class InstagramAdapter(PlatformAdapter):
    """Posts to Instagram.

    Credentials: access_token (long-lived); extra: ig_user_id. Handles: child_0 ... of a carousel,
    container, media_id.
    """

    name = "instagram"
    base_url = "https://graph.instagram.com"
    settle_seconds = 60.0

    def check(self, text: str, media: tuple[Media, ...]) -> list[str]:
        return rules.problems(text, media)

    def prepare(self, intent: PublishIntent, keep: Keep) -> None:
        for problem in rules.problems(intent.text, intent.media):
            raise PlatformFailure("content_rejected", problem)
        if self.renewal_due(intent.credentials):
            raise PlatformFailure(
                "auth_refresh", "The token lapses soon; it can be renewed only before"
            )
        _require_own_account(intent)
        container = intent.handles.get("container", "")
        ready = bool(container) and _is_ready(intent, container)
        if api.quota_left(intent) <= 0:
            raise PlatformFailure(
                "quota_exhausted",
                "Instagram takes no more posts of this account within 24 hours",
                retry_after=QUOTA_SEC,
            )
        if ready:
            return
        container = api.container_create(intent, _body(intent, _children(intent, keep)))
        keep("container", container)
        if not _is_ready(intent, container):
            raise PlatformFailure("transient_before_mutation", "Instagram could not make the post")

    def send(self, intent: PublishIntent, keep: Keep) -> RemotePost:
        container = intent.handles["container"]
        state = api.container_get(intent, container)
        if state.status_code == "FINISHED":
            media_id = api.container_publish(intent, container)
            keep("media_id", media_id)
            with _published():
                return _post(intent, media_id)
        if state.status_code == "PUBLISHED":
            with _published():
                return _find(intent, container)
        raise PlatformFailure("transient_before_mutation", f"The container is {state.status_code}")

    def lookup(self, intent: PublishIntent) -> RemotePost | None:
        if intent.handles.get("media_id"):
            return _post(intent, intent.handles["media_id"])
        container = intent.handles.get("container", "")
        if not container:
            return None
        state = api.container_get(intent, container)
        if state.status_code == "PUBLISHED":
            return _find(intent, container)
        if state.status_code == "IN_PROGRESS":
            raise Processing("Instagram is still at work", retry_after=_wait(intent))
        _refuse(state)
        return None  # FINISHED, EXPIRED or failed: certainly not published

    def renewal_due(self, credentials: Credentials) -> bool:
        lapse = credentials.extra.get("expires_at")
        return bool(lapse) and now() < moment_of(lapse) < now() + RENEW_BEFORE

    def refresh(self, intent: PublishIntent) -> Credentials:
        return api.token_refresh(intent)

    def engagement(self, intent: PublishIntent, post_id: str) -> Engagement:
        if post_id.startswith(UNNAMED):
            raise PlatformFailure("permanent", "Instagram did not name the post it published")
        return api.counts_get(intent, post_id)


def _require_own_account(intent: PublishIntent) -> None:
    """Nothing goes out under another name than the one that was approved."""
    api.account_number(intent)
    name = api.username_get(intent)
    if name.lower() != intent.account.lower():
        raise PlatformFailure(
            "auth_dead", f"The token is for @{name}, not for @{intent.account}: connect it again"
        )


def _is_ready(intent: PublishIntent, container: str) -> bool:
    """True: can be published, or was. False: is of no use any more and was not published."""
    state = api.container_get(intent, container)
    if state.status_code == "IN_PROGRESS":
        raise Processing("Instagram is fetching the files", retry_after=_wait(intent))
    _refuse(state)
    return state.status_code in ("FINISHED", "PUBLISHED")


def _refuse(state: api.Container) -> None:
    """Raise what Instagram will not take in any container."""
    if state.status_code == "ERROR":
        failure = errors.of_container(state.status)
        if failure.kind in ("content_rejected", "permanent"):
            raise failure


def _children(intent: PublishIntent, keep: Keep) -> list[str]:
    """The containers of a carousel's files, all ready; none for a single file."""
    if len(intent.media) == 1:
        return []
    found, new = [], False
    for index, item in enumerate(intent.media):
        child = intent.handles.get(f"child_{index}", "")
        if not (child and _is_ready(intent, child)):
            child = api.container_create(intent, _file(item, alone=False))
            keep(f"child_{index}", child)
            new = True
        found.append(child)
    if new and not all(_is_ready(intent, child) for child in found):
        raise PlatformFailure("transient_before_mutation", "Instagram could not take a file")
    return found


def _body(intent: PublishIntent, children: list[str]) -> dict[str, Any]:
    """What the container of the post is made from. The AI label goes on it alone, not on children."""
    body: dict[str, Any] = {"caption": intent.text}
    if intent.made_by_ai:
        body["is_ai_generated"] = True
    if children:
        return body | {"media_type": "CAROUSEL", "children": ",".join(children)}
    return body | _file(intent.media[0], alone=True)


def _file(item: Media, *, alone: bool) -> dict[str, Any]:
    body: dict[str, Any] = {} if alone else {"is_carousel_item": True}
    if item.type == "image":
        return body | {"image_url": item.url}
    return body | {"video_url": item.url, "media_type": "REELS" if alone else "VIDEO"}


def _wait(intent: PublishIntent) -> float:
    return VIDEO_SEC if any(item.type == "video" for item in intent.media) else IMAGE_SEC


@contextmanager
def _published() -> Iterator[None]:
    """The post is certain to exist: what goes wrong in reading about it is only a wait."""
    try:
        yield
    except PlatformFailure as failure:
        why = (
            f"Instagram has published the post; its address is still to be read ({failure.message})"
        )
        raise Processing(why, retry_after=IMAGE_SEC) from failure


def _post(intent: PublishIntent, media_id: str) -> RemotePost:
    item = api.media_get(intent, media_id)
    return RemotePost(item.media_id, item.permalink, item.at)


def _find(intent: PublishIntent, container: str) -> RemotePost:
    """The post of a published container whose id was lost: the one post since then with its caption.

    Where no post or several fit, none is taken: the container stands for it, without an address.
    """
    since = intent.begun_at or now()
    fit = [
        item
        for item in api.media_list(intent)
        if item.media_id not in intent.taken
        and item.at >= since - CLOCKS_DIFFER
        and _plain(item.caption) == _plain(intent.text) != ""
    ]
    if len(fit) == 1:
        return RemotePost(fit[0].media_id, fit[0].permalink, fit[0].at)
    if now() < since + SEARCH_FOR:
        raise Processing(
            "Instagram has published the post and does not list it yet", retry_after=30
        )
    profile = f"https://www.instagram.com/{intent.account}/"
    return RemotePost(f"{UNNAMED}{container}", profile, since)


def _plain(caption: str) -> str:
    """Instagram leaves out @ and outer space in the captions it gives back."""
    return " ".join(caption.replace("@", "").split())
