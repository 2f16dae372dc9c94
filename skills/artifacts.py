"""Files that a skill made: kept with their digest when the result is, handed out unchanged or not at all.

Each claim of an execution has a folder of its own under the data directory, so a worker that was given
up and still writes cannot touch what its successor has delivered. With several machines the folder
`artifacts/` must be one that all of them share.
"""

import hashlib
import os
import re
from io import BufferedReader
from pathlib import Path
from typing import Any
from urllib.parse import quote

from django.conf import settings

from chimera.core.errors import ChimeraError
from skills.models import SkillExecution

MOST_BYTES = 100 * 1024 * 1024
MOST_FILES = 100
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")


def root() -> Path:
    """Where the files of all executions lie."""
    return Path(settings.CHIMERA.chimera_data_dir).resolve() / "artifacts"


def folder_of(execution: SkillExecution) -> Path:
    """The folder of the present claim of an execution; made when it is first asked for."""
    return root() / str(execution.id) / str(execution.claims)


def keep(execution: SkillExecution, paths: list[str]) -> list[dict[str, Any]]:
    """What is kept of the files of a result: `{name, size, sha256, folder}` each.

    SECURITY_VIOLATION for a file that is missing, no plain file, too large, or outside the
    execution's own folder, links followed.
    """
    if len(paths) > MOST_FILES:
        raise _refused(f"it names {len(paths)} files, more than {MOST_FILES}")
    return [_kept(folder_of(execution), Path(path)) for path in paths]


def _kept(folder: Path, path: Path) -> dict[str, Any]:
    if not path.is_absolute() or path.parent.resolve() != folder.resolve():
        raise _refused(f"{path.name} does not lie in the folder of the execution")
    if not _NAME.fullmatch(path.name):
        raise _refused(f"{path.name[:80]!r} is no plain file name")
    try:
        with _opened(path) as file:
            size, sha256 = _measured(file)
    except OSError:
        raise _refused(f"{path.name} does not exist or is no plain file") from None
    if size > MOST_BYTES:
        raise _refused(f"{path.name} has {size} bytes, more than {MOST_BYTES}")
    return {"name": path.name, "size": size, "sha256": sha256, "folder": folder.name}


def _refused(why: str) -> ChimeraError:
    return ChimeraError("SECURITY_VIOLATION", f"The skill's files were refused: {why}")


def _opened(path: Path) -> BufferedReader:
    """The file itself, never what a link or a pipe of its name leads to."""
    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        return os.fdopen(handle, "rb")
    except OSError:  # a folder
        os.close(handle)
        raise


def _measured(file: BufferedReader) -> tuple[int, str]:
    """(bytes, SHA-256 in hex) of a whole file, which is left at its beginning."""
    sha256 = hashlib.file_digest(file, "sha256").hexdigest()
    size = file.tell()
    file.seek(0)
    return size, sha256


def shown(execution: SkillExecution) -> list[dict[str, Any]]:
    """The files of an execution as the API shows them: name, size, sha256, url."""
    return [
        {
            "name": each["name"],
            "size": each["size"],
            "sha256": each["sha256"],
            "url": f"/api/v1/executions/{execution.id}/artifacts/{number}/",
        }
        for number, each in enumerate(execution.artifacts)
    ]


def open_artifact(execution: SkillExecution, number: int) -> tuple[dict[str, Any], BufferedReader]:
    """(what is kept of it, the open file). NOT_FOUND; ARTIFACT_CHANGED where it is not the one made."""
    if number >= len(execution.artifacts):
        raise ChimeraError("NOT_FOUND", f"The execution has {len(execution.artifacts)} files")
    kept = execution.artifacts[number]
    path = root() / str(execution.id) / kept["folder"] / kept["name"]
    gone = ChimeraError(
        "ARTIFACT_CHANGED", f"{kept['name']} was removed or changed after it had been made"
    )
    try:
        file = _opened(path)
    except OSError:
        raise gone from None
    if _measured(file) != (kept["size"], kept["sha256"]):
        file.close()
        raise gone
    return kept, file


def headers_of(kept: dict[str, Any]) -> dict[str, str]:
    """Headers of a download: saved, never shown, never run, never kept by a cache between."""
    return {
        "Content-Disposition": f"attachment; filename*=UTF-8''{quote(kept['name'])}",
        "Content-Length": str(kept["size"]),
        "Content-Security-Policy": "default-src 'none'; sandbox",
        "X-Content-Type-Options": "nosniff",
        "Cache-Control": "private, no-store",
        "Cross-Origin-Resource-Policy": "same-origin",
        "ETag": f'"{kept["sha256"]}"',
    }
