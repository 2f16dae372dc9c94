"""Named places between two steps where a test kills the process, as a power cut would.

Inert unless CHIMERA_KILL_AT names a folder, which `chimera.env` refuses outside the sandbox. A file
of the point's name in that folder arms it once: whoever reaches the point first dies by SIGKILL,
alone, or with its whole process group where the file says `group`. What is left of the file is
`<point>.hit`, the proof that the point was reached.
"""

import os
import signal
from pathlib import Path

from django.conf import settings

GROUP = "group"


def reach(point: str) -> None:
    """Die here if a test has asked for it."""
    folder: Path | None = settings.CHIMERA.chimera_kill_at
    if folder is None:
        return
    hit = folder / f"{point}.hit"
    try:
        (folder / point).rename(hit)  # of two processes one succeeds
    except FileNotFoundError:
        return
    os.kill(0 if hit.read_text() == GROUP else os.getpid(), signal.SIGKILL)
