"""TikTok under contract, with a video."""

from tests.content.platforms.cases import Case

CASE = Case(
    platform="tiktok",
    files=("mp4",),
    prepare=(("POST", "/creator_info/query/"), ("POST", "/video/init/")),
    send=("PUT", "/video/"),
    lookup=("POST", "/status/fetch/"),
    once=(("POST", "/video/init/"),),
)
