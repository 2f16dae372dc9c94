"""Media tools: pictures and short clips drawn from a prompt; the same prompt, the same bytes."""

from io import BytesIO
from pathlib import Path
from typing import Any
from uuid import NAMESPACE_URL, uuid5

from PIL import Image
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import Route

from chimera.sandbox.drawing import draw
from chimera.sandbox.replies import Refused
from chimera.sandbox.store import Store
from content.mediatools.shapes import ClipOrder, PictureOrder

FRAMES_PER_SEC = 6
CLIP_FRAMES = 18  # a clip of any length shows these in a loop that fills it
SIZES = {
    "1:1": (1080, 1080),
    "4:5": (1080, 1350),
    "16:9": (1280, 720),
    "9:16": (720, 1280),
    "3:2": (1200, 800),
}
CLIP_SIZES = {"9:16": (432, 768), "16:9": (768, 432), "1:1": (540, 540)}
_UNSAFE = frozenset(("nude", "naked", "nsfw", "gore", "porn", "beheading"))
_TYPES = {"jpg": "image/jpeg", "webp": "image/webp"}


class Studio:
    """Draws and keeps media. base_url: where the world is reached, without a final slash."""

    def __init__(self, store: Store, base_url: str) -> None:
        self._store = store
        self._base_url = base_url

    def ideogram(self, order: PictureOrder) -> dict[str, Any]:
        """Pictures; an unsafe prompt yields entries without a url, marked not safe."""
        size = SIZES[order.aspect_ratio]
        images = [self._picture(order.prompt, size, number) for number in range(order.count)]
        return {"task_id": _task_id(order), "images": images}

    def runwayml(self, order: ClipOrder) -> dict[str, Any]:
        """A clip, or status FAILED for an unsafe prompt."""
        task_id = _task_id(order)
        if _unsafe(order.prompt):
            return {"task_id": task_id, "status": "FAILED", "video": None}
        data = _clip(order.prompt, CLIP_SIZES[order.ratio], order.duration_sec)
        video = self._described(self._store.media_put(data, "webp"))
        video["duration_sec"] = order.duration_sec
        return {"task_id": task_id, "status": "SUCCEEDED", "video": video}

    def routes(self) -> list[Route]:
        async def serve(request: Request) -> Response:
            name = Path(request.path_params["name"])
            path = self._store.media_file(name.stem)
            if path is None or path.name != name.name:
                raise Refused(404, "no such media file")
            caching = {"Cache-Control": "public, max-age=31536000, immutable"}
            return FileResponse(path, media_type=_TYPES[path.suffix[1:]], headers=caching)

        return [Route("/media/{name}", serve)]

    def _picture(self, prompt: str, size: tuple[int, int], number: int) -> dict[str, Any]:
        described: dict[str, Any] = {"width": size[0], "height": size[1]}
        if _unsafe(prompt):
            empty = {"url": None, "sha256": None, "size_bytes": 0}
            return described | empty | {"is_image_safe": False}
        target = BytesIO()
        draw(prompt, size, variant=number).save(target, "JPEG", quality=88)
        path = self._store.media_put(target.getvalue(), "jpg")
        return described | self._described(path) | {"is_image_safe": True}

    def _described(self, path: Path) -> dict[str, Any]:
        url = f"{self._base_url}/media/{path.name}"
        return {"url": url, "sha256": path.stem, "size_bytes": path.stat().st_size}


def _clip(prompt: str, size: tuple[int, int], duration_sec: int) -> bytes:
    frames: list[Image.Image] = [
        draw(prompt, size, phase=number / CLIP_FRAMES) for number in range(CLIP_FRAMES)
    ]
    # A file stores its frame time, not its length: spread the frames over the asked duration.
    pause = max(1000 // FRAMES_PER_SEC, duration_sec * 1000 // CLIP_FRAMES)
    target = BytesIO()
    frames[0].save(
        target,
        "WEBP",
        save_all=True,
        append_images=frames[1:],
        duration=pause,
        loop=0,
        quality=70,
        method=2,
    )
    return target.getvalue()


def _unsafe(prompt: str) -> bool:
    return not _UNSAFE.isdisjoint(prompt.lower().split())


def _task_id(order: PictureOrder | ClipOrder) -> str:
    return str(uuid5(NAMESPACE_URL, repr(order)))
