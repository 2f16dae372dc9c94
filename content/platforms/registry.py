"""Finds the adapter of a platform; a new folder is a new adapter, nothing else is edited.

A folder `content/platforms/<name>/` has a module `adapter` with a function
`make(platform: str) -> PlatformAdapter`. The folder `sandbox` serves every platform.
"""

from importlib import import_module
from pathlib import Path

from chimera.core.errors import ChimeraError
from content.platforms.base import PlatformAdapter
from content.platforms.limits import LIMITS

SANDBOX = "sandbox"


def adapter_for(platform: str, mode: str) -> PlatformAdapter:
    """The adapter of a platform. mode "sandbox": its stand-in, anything else: the real network.

    Raises ChimeraError INVALID_PLATFORM for an unknown platform and PLATFORM_UNAVAILABLE for one
    that this installation cannot reach.
    """
    if platform not in LIMITS:
        known = ", ".join(LIMITS)
        raise ChimeraError("INVALID_PLATFORM", f"{platform!r} is not one of {known}")
    folder = SANDBOX if mode == SANDBOX else platform
    if not (Path(__file__).parent / folder / "adapter.py").is_file():
        raise ChimeraError(
            "PLATFORM_UNAVAILABLE",
            f"{platform} is not connected: connect it by adding its adapter, "
            "or set CHIMERA_PLATFORM=sandbox",
            details={"platform": platform, "mode": mode},
        )
    adapter = import_module(f"content.platforms.{folder}.adapter").make(platform)
    assert isinstance(adapter, PlatformAdapter)
    return adapter
