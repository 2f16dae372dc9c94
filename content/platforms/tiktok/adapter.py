"""TikTok: direct posts of a video, uploaded in pieces, or of photos, which TikTok fetches itself.

A video's init makes nothing yet: its publish_id and upload URL are kept, and the last byte makes the
post. So the same publish_id is gone on with after a crash or a new token, and a second init follows only
where the first can no longer complete. For photos the init itself makes the post; if its reply is lost,
nothing names the post, and a person has to look.
"""

from datetime import timedelta

from chimera.core.clock import iso, moment_of, now
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
from content.platforms.tiktok import api, bodies, errors, rules
from content.platforms.tiktok.upload import plan

UPLOAD_TTL = timedelta(minutes=55)  # an upload URL lives for an hour
PROCESSING_SEC = 10.0


def make(platform: str) -> "TikTokAdapter":
    """The adapter; `platform` is always tiktok."""
    return TikTokAdapter()


class TikTokAdapter(PlatformAdapter):
    """Posts to TikTok.

    Credentials: access_token, refresh_token; extra: client_key, client_secret, privacy_level
    (PUBLIC_TO_EVERYONE if unset). Handles: publish_id; of a video upload_url, upload_until, size and
    final_sent: "yes" before the last piece leaves, "lost" when its upload can no longer be repeated.
    """

    name = "tiktok"
    base_url = "https://open.tiktokapis.com"
    secret_handles = frozenset({"upload_url"})
    settle_seconds = 30.0  # the same bytes may go to the same publish_id once more

    def check(self, text: str, media: tuple[Media, ...]) -> list[str]:
        return rules.problems(text, media)

    def prepare(self, intent: PublishIntent, keep: Keep) -> None:
        if intent.handles.get("publish_id") and not _is_void(intent):
            return
        creator = api.creator_query(intent)
        bodies.refuse(intent, creator)
        keep("publish_id", "")  # first: what follows must not be taken for a part of the old one
        if not rules.is_video(intent.media):
            keep("comment_disabled", "yes" if creator.comment_disabled else "")
            return
        cut = plan(len(intent.media[0].body))
        publish_id, upload_url = api.video_init(intent, bodies.of_video(intent, creator, cut))
        keep("final_sent", "")
        keep("size", str(cut.size))
        keep("upload_until", str(iso(now() + UPLOAD_TTL)))
        keep("upload_url", upload_url)
        keep("publish_id", publish_id)  # last: only a whole session is gone on with

    def send(self, intent: PublishIntent, keep: Keep) -> RemotePost:
        publish_id = intent.handles.get("publish_id", "")
        if publish_id:
            status = api.status_fetch(intent, publish_id)
            if status.name == "FAILED":
                raise errors.of_reason(status.reason)
            post = _outcome(intent, status)
            if post:
                return post
            _upload(intent, keep, status.arrived)
        elif rules.is_video(intent.media):
            raise PlatformFailure("transient_before_mutation", "The upload has not been opened")
        else:
            keep("publish_id", api.photos_init(intent, bodies.of_photos(intent)))
        raise Processing("TikTok has the post and is processing it", retry_after=PROCESSING_SEC)

    def lookup(self, intent: PublishIntent) -> RemotePost | None:
        publish_id = intent.handles.get("publish_id", "")
        if publish_id:
            return _outcome(intent, api.status_fetch(intent, publish_id))
        if rules.is_video(intent.media):
            return None
        raise OutcomeUnknown(
            "TikTok's answer was lost, so nothing names the post: "
            f"look at @{intent.account} whether the photos are there"
        )

    def refresh(self, intent: PublishIntent) -> Credentials:
        return api.token_refresh(intent)

    def engagement(self, intent: PublishIntent, post_id: str) -> Engagement:
        public_id = post_id
        if not post_id.isdecimal():
            public_id = api.status_fetch(intent, post_id).public_id
        if not public_id:
            raise PlatformFailure(
                "transient_before_mutation", "TikTok shows the post to the public later"
            )
        return api.counts_query(intent, public_id)


def _is_void(intent: PublishIntent) -> bool:
    """True where what was begun can no longer become a post, so that a new start is safe.

    Raises PlatformFailure when TikTok has refused the post for good.
    """
    status = api.status_fetch(intent, intent.handles["publish_id"])
    if status.name == "FAILED":
        _outcome(intent, status)
        return True
    if not _lacks_bytes(intent, status):
        return False
    final_sent = intent.handles.get("final_sent")
    if final_sent:  # a lost one comes here only after a person has seen that there is no post
        return final_sent == "lost"
    return now() >= moment_of(intent.handles["upload_until"])


def _outcome(intent: PublishIntent, status: api.Status) -> RemotePost | None:
    """The post; None when there is none and, as things are, will be none."""
    if status.name == "PUBLISH_COMPLETE":
        return _post(intent, status)
    if status.name == "FAILED":
        failure = errors.of_reason(status.reason)
        if failure.kind in ("content_rejected", "permanent"):
            raise failure
        return None
    if not _lacks_bytes(intent, status):
        raise Processing(f"TikTok says {status.name}", retry_after=PROCESSING_SEC)
    if intent.handles.get("final_sent") == "lost":
        raise OutcomeUnknown("TikTok does not say whether the last bytes of the video arrived")
    return None


def _lacks_bytes(intent: PublishIntent, status: api.Status) -> bool:
    size = int(intent.handles.get("size") or 0)
    return status.name == "PROCESSING_UPLOAD" and status.arrived < size


def _post(intent: PublishIntent, status: api.Status) -> RemotePost:
    """Published. Before moderation has ended, TikTok gives no public id: then the publish_id stands."""
    profile = f"https://www.tiktok.com/@{intent.account}"
    if not status.public_id:
        return RemotePost(intent.handles["publish_id"], profile, now())
    kind = "video" if rules.is_video(intent.media) else "photo"
    return RemotePost(status.public_id, f"{profile}/{kind}/{status.public_id}", now())


def _upload(intent: PublishIntent, keep: Keep, arrived: int) -> None:
    """Send what has not arrived yet, in order. The final piece makes the post.

    It may go to the same upload again, which takes it once. But a URL that no longer takes it after an
    earlier attempt may have been closed because that one arrived: then nothing is begun anew.
    """
    body, url = intent.media[0].body, intent.handles["upload_url"]
    before = intent.handles.get("final_sent", "")
    for first, last in plan(len(body)).pieces_from(arrived):
        final = last == len(body) - 1
        if final:
            keep("final_sent", "yes")
        piece = body[first : last + 1]
        if api.piece_put(url, piece, first, len(body), mime_type(body), final=final):
            continue
        if before:
            keep("final_sent", "lost")
            raise OutcomeUnknown("TikTok no longer takes the last bytes: they may have arrived")
        keep("final_sent", "")
        keep("upload_until", str(iso(now())))
        raise PlatformFailure("transient_before_mutation", "TikTok has closed the upload")
