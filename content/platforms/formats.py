"""The format of a media file, from its first bytes: names lie, bytes do not."""

_SIGNATURES = (
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"\x1aE\xdf\xa3", "video/webm"),
)


def mime_type(body: bytes) -> str:
    """`image/jpeg`, `image/png`, `image/gif`, `image/webp`, `video/mp4`, `video/quicktime`,
    `video/webm`; empty for anything else."""
    if body[:4] == b"RIFF" and body[8:12] == b"WEBP":
        return "image/webp"
    if body[4:8] == b"ftyp":
        return "video/quicktime" if body[8:12] == b"qt  " else "video/mp4"
    return next((kind for start, kind in _SIGNATURES if body.startswith(start)), "")
