"""Finds skills: every folder skills/skill_*/ with a skill.py is one; nothing else is edited.

An installed package adds its own by entry points of the group `chimera.skills`, each a skill class.
One that cannot be used is left out and named in `refused`: a package must not stop the platform.

skill.py holds the newest major version; an older one that is still served moves to v1.py, v2.py ...
beside it. The last two majors can be called, a deprecated one until its `sunset`.
"""

import importlib
import inspect
import logging
import pkgutil
import re
from collections.abc import Iterator
from datetime import UTC, date, datetime, time
from functools import cached_property
from importlib.metadata import EntryPoint, entry_points
from types import ModuleType

import skills
from chimera.core.clock import now
from chimera.core.errors import ChimeraError
from skills.contract import Skill, version_numbers
from skills.registration import IncompleteSkill, problems_of

log = logging.getLogger("chimera.skills")
ENTRY_POINTS = "chimera.skills"
_REFERENCE = re.compile(
    r"(?P<name>[A-Za-z][A-Za-z0-9_]{1,63})(?:@v(?P<version>\d{1,4}\.\d{1,4}))?", re.ASCII
)
_OLDER = re.compile(r"v[1-9]\d*")
MAJORS_SERVED = 2
KEEP_PREFIX = {
    "skill_ingest_trend_feeds",
    "skill_generate_media_asset",
    "skill_execute_publish_intent",
}


class Registry:
    """Skills by name, by class name and by name@vMAJOR.MINOR; the majors of a name side by side."""

    def __init__(self) -> None:
        self._majors: dict[str, dict[int, Skill]] = {}
        self._classes: dict[str, Skill] = {}
        self._refused: dict[str, str] = {}

    def register(self, cls: type[Skill]) -> type[Skill]:
        """Add a skill class. IncompleteSkill names everything that is missing or doubled."""
        title = getattr(cls, "__name__", repr(cls))
        name = getattr(cls, "name", "") or _snake(title)
        problems = list(problems_of(cls, name)) or list(self._clashes(cls, name))
        if problems:
            raise IncompleteSkill(f"{title}: {'; '.join(problems)}")
        cls.name = name
        # Not constructed: a remote skill checks its resource when it is, which is for a call.
        skill = cls.__new__(cls)
        self._majors.setdefault(name, {})[cls.metadata.major] = skill
        if skill is self._newest(name) or cls.__name__ not in self._classes:
            self._classes[cls.__name__] = skill
        return cls

    def _clashes(self, cls: type[Skill], name: str) -> Iterator[str]:
        there = self._majors.get(name, {}).get(cls.metadata.major)
        if there is not None and type(there) is not cls:
            yield f"a skill {name} is registered already as v{there.metadata.version}"
        namesake = self._classes.get(cls.__name__)
        if namesake is not None and namesake.name != name:
            yield f"the class name is that of the skill {namesake.name}"

    def forget(self, name: str) -> None:
        """Take a skill out again, with all its versions."""
        self._majors.pop(name, None)
        self._classes = {key: skill for key, skill in self._classes.items() if skill.name != name}

    @cached_property
    def _discovered(self) -> bool:
        for found in pkgutil.iter_modules(skills.__path__):
            if found.ispkg and found.name.startswith("skill_"):
                self.load_folder(found.name)
        for point in entry_points(group=ENTRY_POINTS):
            self._load_installed(point)
        return True

    def _load_installed(self, point: EntryPoint) -> None:
        """Register what an installed package offers; what keeps it from that is logged and kept."""
        try:
            self.register(point.load())
        except Exception as problem:  # noqa: BLE001  foreign code may fail in any way when imported
            reason = f"{type(problem).__name__}: {problem}"
            self._refused[f"{point.name} ({point.value})"] = reason
            log.warning("the skill %s = %s is left out: %s", point.name, point.value, reason)

    def refused(self) -> dict[str, str]:
        """Skills of installed packages that were left out, and why."""
        assert self._discovered
        return dict(self._refused)

    def load_folder(self, folder: str) -> None:
        """Register skill.py, the newest major, and what v1.py, v2.py ... hold of older ones."""
        name = folder if folder in KEEP_PREFIX else folder.removeprefix("skill_")
        package = importlib.import_module(f"skills.{folder}")
        modules = [module.name for module in pkgutil.iter_modules(package.__path__)]
        for module in ("skill", *filter(_OLDER.fullmatch, modules)):
            cls = _skill_class(importlib.import_module(f"skills.{folder}.{module}"))
            cls.name = cls.name or name
            self.register(cls)
            if module not in ("skill", f"v{cls.metadata.major}"):
                raise IncompleteSkill(f"skills/{folder}/{module}.py holds v{cls.metadata.version}")

    def _newest(self, name: str) -> Skill:
        majors = self._majors[name]
        return majors[max(majors)]

    def _callable(self, name: str) -> list[Skill]:
        """The last majors, the newest first, without those that are past their sunset."""
        majors = self._majors[name]
        last = [majors[number] for number in sorted(majors, reverse=True)[:MAJORS_SERVED]]
        return [skill for skill in last if not is_gone(skill)]

    def all(self) -> list[Skill]:
        """The newest major of every skill, by name."""
        assert self._discovered
        return [self._newest(name) for name in sorted(self._majors)]

    def every(self) -> list[Skill]:
        """Every callable major of every skill, by name, the newest first."""
        return [each for skill in self.all() for each in self._callable(skill.name)]

    def versions(self, skill: Skill) -> list[str]:
        """Callable versions of the skill's name, the newest first."""
        return [version for each in self._callable(skill.name) for version in served(each)]

    def get(self, reference: str) -> Skill:
        """The skill to call by `name`, `name@v1.0` or class name. SKILL_NOT_FOUND, VERSION_GONE."""
        named, wanted = self._named(reference)
        if named is None:
            message = f"No skill {reference}; GET /api/v1/skills/ lists them"
            raise ChimeraError("SKILL_NOT_FOUND", message)
        skill = self.named(reference)
        if skill in self._callable(named.name) and (not wanted or wanted in served(skill)):
            return skill
        raise self._no_version(named, wanted or named.metadata.version)

    def named(self, reference: str) -> Skill | None:
        """The skill and major that a reference means, callable or not; None where there is none."""
        named, wanted = self._named(reference)
        if named is None or not wanted:
            return named
        return self._majors[named.name].get(version_numbers(wanted)[0])

    def accepted(self, skill: str, version: str) -> Skill | None:
        """What runs a call that was accepted, even if it could be made no more.

        None: this process knows no such version; a newer one may.
        """
        assert self._discovered
        asked = version_numbers(version)
        found = self._majors.get(skill, {}).get(asked[0])
        return found if found and asked <= version_numbers(found.metadata.version) else None

    def _named(self, reference: str) -> tuple[Skill | None, str]:
        """(the skill of that name or class name, the version asked for or '')."""
        assert self._discovered
        parts = _REFERENCE.fullmatch(reference)
        if parts is None:
            return None, ""
        name, version = parts.group("name"), parts.group("version") or ""
        named = self._newest(name) if name in self._majors else self._classes.get(name)
        return named, version

    def _no_version(self, named: Skill, wanted: str) -> ChimeraError:
        asked = version_numbers(wanted)
        same = self._majors[named.name].get(asked[0]) or self._newest(named.name)
        was = (1, 0) <= asked <= version_numbers(same.metadata.version)
        code = "VERSION_GONE" if was else "SKILL_NOT_FOUND"
        offered = ", ".join(f"v{version}" for version in self.versions(named)) or "no version"
        return ChimeraError(code, f"{named.name} is served as {offered}, not as v{wanted}")


def served(skill: Skill) -> list[str]:
    """The versions that this class answers to, the newest first."""
    return [skill.metadata.version, *skill.compatible_versions]


def is_gone(skill: Skill) -> bool:
    """Its sunset is over: no new call of it is taken."""
    return skill.sunset is not None and now() >= midnight(skill.sunset)


def is_deprecated(skill: Skill) -> bool:
    """Callers should move to a newer major."""
    return skill.deprecated_since is not None and now() >= midnight(skill.deprecated_since)


def midnight(day: date) -> datetime:
    """The moment at which a date of a contract begins: 00:00 UTC."""
    return datetime.combine(day, time.min, UTC)


def _skill_class(module: ModuleType) -> type[Skill]:
    own = [
        cls
        for _, cls in inspect.getmembers(module, inspect.isclass)
        if issubclass(cls, Skill)
        and cls.__module__ == module.__name__
        and not inspect.isabstract(cls)
    ]
    if len(own) != 1:
        raise IncompleteSkill(f"{module.__name__} must define exactly one skill, not {len(own)}")
    return own[0]


def _snake(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower().removesuffix("_skill")


registry = Registry()
