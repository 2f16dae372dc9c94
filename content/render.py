"""What exactly is posted: the text of a package on a platform."""

from typing import Any

from chimera.core.digest import nfc

_VARIANT_FIELD = {
    "twitter": "text",
    "tiktok": "description",
    "instagram": "caption",
    "youtube": "description",
}


def post_text(package: dict[str, Any], platform: str) -> str:
    """The platform's own variant if the package has one, else captions and hashtags; NFC.

    A YouTube variant is its title, a blank line and the description.
    """
    variant = (package.get("platform_variants") or {}).get(platform) or {}
    text = variant.get(_VARIANT_FIELD[platform]) or ""
    if platform == "youtube" and variant.get("title"):
        text = f"{variant['title']}\n\n{text}".strip()
    if not text:
        text = "\n\n".join(filter(None, [package["captions"], " ".join(package["hashtags"])]))
    return nfc(text)
