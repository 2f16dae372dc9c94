"""What keeps a class from being registered as a skill."""

import inspect
import re
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

from pydantic import BaseModel

from chimera.core.capabilities import CAPABILITIES
from chimera.core.errors import CODES
from chimera.core.jsontext import dumps
from skills.contract import GatedSkill, Skill, SkillMetadata, version_numbers

_NAME = re.compile(r"[a-z][a-z0-9_]{1,63}")
_VERSION = re.compile(r"\d{1,4}\.\d{1,4}")
NOTICE = timedelta(days=30)


class IncompleteSkill(Exception):
    """The class cannot be registered; the text says what is missing."""


def problems_of(cls: type[Skill], name: str) -> Iterator[str]:
    """What keeps the class from being a skill, a short text each."""
    if not (inspect.isclass(cls) and issubclass(cls, Skill)) or inspect.isabstract(cls):
        yield "it must be a subclass of Skill that defines execute"
        return
    if not _NAME.fullmatch(name):
        yield f"the name {name!r} must be lower_snake_case"
    if not inspect.iscoroutinefunction(cls.execute):
        yield "execute must be async"
    yield from _model_problems(cls, "input_model", "validation")
    yield from _model_problems(cls, "output_model", "serialization")
    yield from _metadata_problems(cls)
    yield from _code_problems(cls)
    yield from _date_problems(cls)
    if cls.requires_approval and not issubclass(cls, GatedSkill):
        yield "requires_approval needs GatedSkill"


def _model_problems(cls: type[Skill], attribute: str, mode: Any) -> Iterator[str]:
    model = getattr(cls, attribute, None)
    if not (inspect.isclass(model) and issubclass(model, BaseModel)):
        yield f"{attribute} is missing" if model is None else f"{attribute} is no Pydantic model"
        return
    try:
        dumps(model.model_json_schema(mode=mode))
    except Exception as problem:  # noqa: BLE001  pydantic raises several kinds for a type without a schema
        yield f"{attribute} is not JSON-serialisable: {problem}"


def _metadata_problems(cls: type[Skill]) -> Iterator[str]:
    metadata = getattr(cls, "metadata", None)
    if not isinstance(metadata, SkillMetadata):
        yield "metadata is missing" if metadata is None else "metadata is no SkillMetadata"
        return
    strange = metadata.capabilities - CAPABILITIES
    if strange:
        yield f"unknown capabilities {sorted(strange)}"
    if metadata.requires_gpu and "GPU" not in metadata.capabilities:
        yield "requires_gpu needs the capability GPU"
    for version in cls.compatible_versions:
        if not _VERSION.fullmatch(version) or not _is_older_minor(version, metadata.version):
            yield f"{version} is no earlier minor version of {metadata.version}"


def _is_older_minor(version: str, newest: str) -> bool:
    asked, top = version_numbers(version), version_numbers(newest)
    return asked[0] == top[0] and asked < top


def _code_problems(cls: type[Skill]) -> Iterator[str]:
    named = {*cls.error_codes, *cls.retry.codes, *cls.stale_codes, *cls.escalate_codes}
    unknown = (named | {*cls.field_codes.values(), cls.timeout_code}) - set(CODES)
    if unknown:
        yield f"unknown error codes {sorted(unknown)}"
    final = {code for code in cls.retry.codes - unknown if not CODES[code].retryable}
    if final:
        yield f"codes that are never retried: {sorted(final)}"


def _date_problems(cls: type[Skill]) -> Iterator[str]:
    since, sunset = cls.deprecated_since, cls.sunset
    if sunset is not None and since is None:
        yield "sunset needs deprecated_since"
    elif sunset is not None and since is not None and sunset - since < NOTICE:
        yield f"sunset must be at least {NOTICE.days} days after deprecated_since"
