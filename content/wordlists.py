"""The word lists of data/: sections in square brackets, one entry a line, # for comments."""

from functools import cache
from pathlib import Path

_FOLDER = Path(__file__).parent / "data"


@cache
def sections(name: str) -> dict[str, tuple[str, ...]]:
    """Section -> entries of data/<name>.txt, in their order. An empty list is an error, not a pass."""
    found: dict[str, list[str]] = {}
    current: list[str] = []
    for line in (_FOLDER / f"{name}.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("["):
            current = found.setdefault(line.strip("[]"), [])
        elif line and not line.startswith("#"):
            current.append(line)
    if not found or not all(found.values()):
        raise ValueError(f"the word list {name}.txt is empty or has an empty section")
    return {section: tuple(entries) for section, entries in found.items()}


def word_set(name: str, section: str) -> frozenset[str]:
    """The single words of a section, however many stand on a line."""
    return frozenset(" ".join(sections(name)[section]).split())
