"""YouTube under contract. The last byte makes the video; what became of it is asked at two places."""

from tests.content.platforms.cases import Case

UPLOAD = "/upload/youtube/v3/videos"

CASE = Case(
    platform="youtube",
    files=("mp4",),
    prepare=(("GET", "/youtube/v3/channels"), ("POST", UPLOAD)),
    send=("PUT", UPLOAD),
    lookup=("GET", "/youtube/youtube/v3/videos"),
    once=(("POST", UPLOAD),),
)
