"""What keeps a class from being registered as a skill, and what is wrong with its examples."""

import inspect
import re
import sys
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError
from pydantic import BaseModel, ValidationError

from chimera.core.capabilities import CAPABILITIES
from chimera.core.errors import CODES
from chimera.core.jsontext import dumps, loads
from skills.contract import STORED, GatedSkill, Skill, SkillMetadata, version_numbers

_NAME = re.compile(r"[a-z][a-z0-9_]{1,63}")
_VERSION = re.compile(r"\d{1,4}\.\d{1,4}")
NOTICE = timedelta(days=30)


class IncompleteSkill(CommandError):
    """The class cannot be registered; the text says what is missing. It ends a command as one line."""


def problems_of(cls: type[Skill], name: str) -> Iterator[str]:
    """What keeps the class from being a skill, a short text each."""
    if not (inspect.isclass(cls) and issubclass(cls, Skill)) or inspect.isabstract(cls):
        yield "it must be a subclass of Skill that defines execute"
        return
    if not _NAME.fullmatch(name):
        yield f"the name {name!r} must be lower_snake_case"
    if not (_own_doc(sys.modules.get(cls.__module__)) or _own_doc(cls)):
        yield "its module has no docstring, whose first paragraph is the description"
    if not inspect.iscoroutinefunction(cls.execute):
        yield "execute must be async"
    yield from _model_problems(cls, "input_model", "validation")
    yield from _model_problems(cls, "output_model", "serialization")
    yield from _metadata_problems(cls)
    yield from _code_problems(cls)
    yield from _date_problems(cls)
    if cls.requires_approval and not issubclass(cls, GatedSkill):
        yield "requires_approval needs GatedSkill"


def _own_doc(thing: Any) -> str:
    """The docstring, not that of a base class."""
    return (vars(thing).get("__doc__") or "").strip() if thing else ""


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


def examples_file(cls: type[Skill]) -> Path:
    """Where the examples of a skill stand: beside it; those of v1.py in examples_v1.json."""
    module = Path(inspect.getfile(cls))
    name = "examples" if module.stem == "skill" else f"examples_{module.stem}"
    return module.with_name(f"{name}.json")


def example_problems(cls: type[Skill]) -> Iterator[str]:
    """What is wrong with the examples beside a skill: `FILE: example 1: output.caption: why`."""
    path = examples_file(cls)
    file = f"{path.parent.name}/{path.name}"
    try:
        examples = loads(path.read_bytes())
    except (OSError, ValueError) as problem:
        yield f"{file}: {problem}"
        return
    if not isinstance(examples, list) or not examples:
        yield f"{file}: must be a list with at least one example"
        return
    for number, example in enumerate(examples, 1):
        if not isinstance(example, dict) or set(example) != {"input", "output"}:
            yield f"{file}: example {number}: must hold input and output, and nothing else"
            continue
        for part, model in (("input", cls.input_model), ("output", cls.output_model)):
            for why in misfits(model, example[part]):
                yield f"{file}: example {number}: {part}{why}"


def misfits(model: type[BaseModel], given: Any) -> Iterator[str]:
    """`.field: why` of everything in a dict or model that does not fit, unknown fields with it."""
    try:
        kept = model.model_validate(given, context=STORED)
    except ValidationError as problem:
        for error in problem.errors():
            yield f"{''.join(f'.{part}' for part in error['loc'])}: {error['msg']}"
        return
    if isinstance(given, dict):
        known = kept.model_dump().keys() | kept.model_dump(by_alias=True).keys()
        for name in sorted(given.keys() - known):
            yield f".{name}: {model.__name__} has no such field"
