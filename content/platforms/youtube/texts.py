"""What a video on YouTube is called and described as, and what YouTube would refuse about it.

Limits of the `video` resource: title 100 characters, description 5000 bytes of UTF-8, neither with
`<` or `>` (developers.google.com/youtube/v3/docs/videos).
"""

from content.platforms.base import Media
from content.platforms.formats import mime_type

MAX_TITLE = 100
MAX_DESCRIPTION_BYTES = 5000
_FORMATS = ("video/mp4", "video/quicktime", "video/webm")


def title_and_description(text: str) -> tuple[str, str]:
    """The first paragraph of the approved text and the rest; what the reviewer saw, nothing else."""
    title, _, description = text.strip().partition("\n\n")
    return title.strip(), description.strip()


def problems(text: str, media: tuple[Media, ...]) -> list[str]:
    """What YouTube would refuse, as sentences; empty when it is fine."""
    title, description = title_and_description(text)
    return [*_title_problems(title), *_description_problems(description), *_media_problems(media)]


def _title_problems(title: str) -> list[str]:
    found = []
    if not title:
        found.append("a video on youtube needs a title")
    if "\n" in title:
        found.append("the title of a video has one line, followed by an empty one")
    if len(title) > MAX_TITLE:
        found.append(f"the title has {len(title)} characters, youtube allows {MAX_TITLE}")
    return found + _brackets("title", title)


def _description_problems(description: str) -> list[str]:
    size = len(description.encode("utf-8", "surrogatepass"))
    found = []
    if size > MAX_DESCRIPTION_BYTES:
        found.append(f"the description has {size} bytes, youtube allows {MAX_DESCRIPTION_BYTES}")
    return found + _brackets("description", description)


def _brackets(name: str, text: str) -> list[str]:
    return [f"the {name} has a < or >, which youtube refuses"] if set(text) & set("<>") else []


def _media_problems(media: tuple[Media, ...]) -> list[str]:
    if len(media) != 1 or media[0].type != "video":
        return ["a post on youtube is exactly one video"]
    body = media[0].body
    if body and mime_type(body) not in _FORMATS:
        return [f"the file {media[0].url} is none of {', '.join(_FORMATS)}"]
    return []
