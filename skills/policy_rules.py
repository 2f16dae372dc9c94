"""The deployment's rules, one verdict per skill: read from a file, checked against every skill.

A file that cannot be read, names no skill or loosens is no policy at all: then every call is denied.
"""

from functools import lru_cache
from pathlib import Path

from django.conf import settings

from chimera.core.jsontext import loads
from skills.catalogue import registry
from skills.policy import Verdict, decide

Rules = dict[str, Verdict]


class Unusable(Exception):
    """The rules cannot be evaluated; the text says why."""


def rules() -> Rules:
    """The rules of CHIMERA_APPROVAL_RULES as they are now. Unusable."""
    path: Path = settings.CHIMERA.chimera_approval_rules
    try:
        facts = path.stat()
        return _read(path, facts.st_mtime_ns, facts.st_size)
    except OSError as problem:
        raise Unusable(f"{path}: {problem.strerror}") from None
    except ValueError as problem:
        raise Unusable(f"{path}: {problem}") from None


@lru_cache(maxsize=1)
def _read(path: Path, changed: int, size: int) -> Rules:
    """The rules of the file; changed and size tell one writing of it from another."""
    given = loads(path.read_text())
    if not isinstance(given, dict):
        raise ValueError("an object of skill names and verdicts is expected")
    return {name: _rule(name, verdict) for name, verdict in given.items()}


def _rule(name: str, verdict: object) -> Verdict:
    majors = [skill for skill in registry.every() if skill.name == name]
    if not majors:
        raise ValueError(f"{name} is no skill")
    allowed = {one.name.lower(): one for one in Verdict}
    if not isinstance(verdict, str) or verdict not in allowed:
        raise ValueError(f"{name}: {verdict!r} is none of {', '.join(allowed)}")
    chosen = allowed[verdict]
    for skill in majors:
        try:
            decide(skill.metadata, chosen)
        except ValueError as problem:
            raise ValueError(f"{name}: {problem}") from None
    return chosen
