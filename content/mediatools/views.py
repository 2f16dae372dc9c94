"""Generated media for everybody: a file never changes, so it may be kept for ever."""

import re
from io import BytesIO

from django.http import FileResponse, Http404, HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from content.mediatools import store

_HEADERS = {
    "Cache-Control": "public, max-age=31536000, immutable",
    "X-Content-Type-Options": "nosniff",
    "Accept-Ranges": "bytes",
    "Cross-Origin-Resource-Policy": "cross-origin",
}


_RANGE = re.compile(r"bytes=(\d{0,12})-(\d{0,12})")


@require_safe
def generated(request: HttpRequest, name: str) -> FileResponse | HttpResponse:
    """One file by its name, or the part of it that is asked for: players fetch videos in parts."""
    path = store.find(name)
    if path is None:
        raise Http404
    kind, size = store.TYPES[path.suffix[1:]], path.stat().st_size
    asked = _RANGE.fullmatch(request.headers.get("Range", ""))
    if asked is None:
        return FileResponse(path.open("rb"), content_type=kind, headers=_HEADERS)
    first, last = _part(asked, size)
    if first > last:
        return HttpResponse(status=416, headers={"Content-Range": f"bytes */{size}"})
    with path.open("rb") as file:
        file.seek(first)
        part = BytesIO(file.read(last - first + 1))
    headers = _HEADERS | {"Content-Range": f"bytes {first}-{last}/{size}"}
    return FileResponse(part, status=206, content_type=kind, headers=headers)


def _part(asked: re.Match[str], size: int) -> tuple[int, int]:
    """First and last byte of `bytes=A-B`, `bytes=A-` or `bytes=-N`; first beyond last: there is none."""
    first, last = asked.groups()
    if not first:
        return (max(0, size - int(last)), size - 1) if last else (size, 0)
    return int(first), min(int(last), size - 1) if last else size - 1
