"""YouTube: one video a post, uploaded in a session that can be asked and gone on with.

The session's URI is kept before the first byte. A session makes one video and no more: after a lost
reply it is asked, and either names its video or takes the bytes that are missing. A second session is
opened only where the first is gone and certain not to have made a video.
"""

from content.platforms.base import (
    Credentials,
    Engagement,
    Keep,
    Media,
    OutcomeUnknown,
    PlatformAdapter,
    PlatformFailure,
    Processing,
    PublishIntent,
    RemotePost,
)
from content.platforms.formats import mime_type
from content.platforms.youtube import api, errors, texts
from content.platforms.youtube.resource import video_resource

PROCESSING_SEC = 15.0  # asking costs quota: one unit of 10,000 a day


def make(platform: str) -> "YouTubeAdapter":
    """The adapter; `platform` is always youtube."""
    return YouTubeAdapter()


class YouTubeAdapter(PlatformAdapter):
    """Posts to YouTube.

    Credentials: access_token, refresh_token; extra: client_id, client_secret, privacy_status (public
    if unset), made_for_kids ("yes" if so), category_id (22 if unset). Handles: session, size; sent,
    once bytes may have gone; video, once YouTube has named it.
    """

    name = "youtube"
    base_url = api.BASE_URL
    secret_handles = frozenset({"session"})
    settle_seconds = 15.0  # the same bytes may go into the same session once more

    def check(self, text: str, media: tuple[Media, ...]) -> list[str]:
        return texts.problems(text, media)

    def prepare(self, intent: PublishIntent, keep: Keep) -> None:
        if intent.handles.get("session") and not _is_void(intent, keep):
            return
        body = _body(intent)
        _require_own_channel(intent)
        uri = api.session_open(intent, video_resource(intent), mime_type(body), len(body))
        keep("size", str(len(body)))
        keep("session", uri)

    def send(self, intent: PublishIntent, keep: Keep) -> RemotePost:
        if intent.handles.get("video"):
            raise Processing("YouTube has the video already")
        begun = bool(intent.handles.get("sent"))
        progress = _asked(intent) if begun else api.Progress()
        if not progress.video:
            keep("sent", "yes")
            uri, mime = intent.handles["session"], mime_type(_body(intent))
            progress = api.bytes_put(intent, uri, progress.arrived, mime)
        if progress.gone:
            raise _closed(begun, keep)
        assert progress.video  # what is neither gone nor complete has been raised
        keep("video", progress.video.id)
        return _confirmed(intent, progress.video)

    def lookup(self, intent: PublishIntent) -> RemotePost | None:
        video_id = intent.handles.get("video", "")
        if not video_id and intent.handles.get("sent"):
            made = _asked(intent).video
            video_id = made.id if made else ""
        if not video_id:
            return None
        # The session tells for ever how the video stood when the last byte had arrived.
        return _confirmed(intent, api.video_fetch(intent, video_id))

    def refresh(self, intent: PublishIntent) -> Credentials:
        return api.token_refresh(intent)

    def engagement(self, intent: PublishIntent, post_id: str) -> Engagement:
        return api.counts_fetch(intent, post_id)


def _is_void(intent: PublishIntent, keep: Keep) -> bool:
    """True where YouTube no longer knows a session that bytes have gone into.

    Only what is certain not to have been posted comes back to `prepare`: the session said last that it
    was not complete, or a person has looked. So a new one is safe.
    """
    if not intent.handles.get("sent"):
        return False
    size = int(intent.handles["size"])
    if not api.session_ask(intent, intent.handles["session"], size).gone:
        return False
    keep("sent", "")
    keep("session", "")
    return True


def _require_own_channel(intent: PublishIntent) -> None:
    """Nothing goes out under another name than the one that was approved."""
    names = api.channel_names(intent)
    if intent.account.lower() not in names:
        whose = " or ".join(sorted(names)) or "no channel"
        raise PlatformFailure(
            "auth_dead",
            f"The token is for {whose}, not for @{intent.account}; connect the YouTube account again",
        )


def _body(intent: PublishIntent) -> bytes:
    if not intent.media or not intent.media[0].body:
        raise PlatformFailure("content_rejected", "A post on youtube is exactly one video")
    return intent.media[0].body


def _asked(intent: PublishIntent) -> api.Progress:
    """How far the session is that bytes have gone into: complete, or so many bytes."""
    size = int(intent.handles["size"])
    progress = api.session_ask(intent, intent.handles["session"], size)
    if progress.gone:
        raise OutcomeUnknown(
            "YouTube no longer knows the upload: "
            f"look at the channel @{intent.account} whether the video is there"
        )
    if progress.arrived >= size:
        raise Processing("YouTube has every byte and has not named the video yet")
    return progress


def _closed(begun: bool, keep: Keep) -> Exception:
    """YouTube no longer knows the session. Had bytes gone in before, it may have made a video."""
    if begun:
        return OutcomeUnknown("YouTube has closed the upload")
    keep("session", "")
    keep("sent", "")
    return PlatformFailure("transient_before_mutation", "YouTube has closed the upload session")


def _confirmed(intent: PublishIntent, video: api.Video | None) -> RemotePost:
    """A video counts as posted once it is processed and not rejected."""
    if video is None:
        raise Processing("YouTube does not show the video yet", retry_after=PROCESSING_SEC)
    if video.upload_status == "uploaded":
        raise Processing("YouTube is processing the video", retry_after=PROCESSING_SEC)
    if video.upload_status != "processed":
        raise errors.of_video(video.upload_status, video.reason)
    return RemotePost(video.id, _watch_url(intent, video.id), video.published_at)


def _watch_url(intent: PublishIntent, video_id: str) -> str:
    live = intent.base_url.rstrip("/") == api.BASE_URL
    site = "https://www.youtube.com" if live else intent.base_url.rstrip("/")
    return f"{site}/watch?v={video_id}"
