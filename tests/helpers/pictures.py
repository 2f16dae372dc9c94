"""Screenshots for the documents."""

import io
from pathlib import Path

from PIL import Image
from playwright.sync_api import Page


def save_picture(page: Page, path: Path) -> None:
    """What is on screen, as a PNG without transparency, packed as tightly as it can be."""
    page.wait_for_load_state("networkidle")
    shot = Image.open(io.BytesIO(page.screenshot(animations="disabled")))
    shot.convert("RGB").save(path, optimize=True)
