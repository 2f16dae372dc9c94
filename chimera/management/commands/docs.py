"""Write what can be generated: docs/settings.md, docs/skills.md, the README of every skill."""

import json
import sys
from argparse import ArgumentParser
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from pydantic_core import PydanticUndefined

from chimera.core.errors import CODES
from chimera.env import ROOT, Env
from content.validation.page import page as validation_page
from skills.catalogue import registry
from skills.contract import Skill
from skills.contract_page import page as contract_page
from skills.presenters import COMMON_CODES, description_of, examples_of, skill_dict
from skills.registration import example_problems

_FAMILIES = {
    "rpc_urls": "CHIMERA_RPC_URL_<NETWORK>",
    "skill_impls": "CHIMERA_SKILL_IMPL_<NAME>",
}
"""Fields of the environment that stand for one variable per network or skill."""


class Command(BaseCommand):
    help = "Write the generated documents; --check only tells whether they are up to date (exit status 1)."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--check", action="store_true")

    def handle(self, *args: Any, **options: Any) -> None:
        own = filter(_is_own, registry.every())
        wrong = [problem for skill in own for problem in example_problems(type(skill))]
        if wrong:
            raise CommandError("\n".join(wrong))
        stale = []
        for path, text in documents():
            if path.exists() and path.read_text() == text:
                continue
            stale.append(path)
            if not options["check"]:
                path.write_text(text)
        for path in stale:
            verb = "is out of date" if options["check"] else "written"
            self.stdout.write(f"{path.relative_to(ROOT)} {verb}")
        if stale and options["check"]:
            self.stderr.write("run .venv/bin/python manage.py docs and commit the result")
            sys.exit(1)


def documents() -> Iterator[tuple[Path, str]]:
    """(path, text) of every generated document."""
    yield ROOT / "docs" / "settings.md", settings_page()
    yield ROOT / "docs" / "skills.md", skills_page()
    yield ROOT / "docs" / "validation.md", validation_page()
    yield ROOT / "docs" / "skill_contract.md", contract_page()
    for skill in _own():
        yield _folder(skill) / "README.md", skill_page(skill)


def _own() -> list[Skill]:
    """The skills of this project; those of installed packages bring their own documents."""
    return list(filter(_is_own, registry.all()))


def _is_own(skill: Skill) -> bool:
    return _folder(skill).is_relative_to(ROOT / "skills")


def settings_page() -> str:
    """Every setting of the environment."""
    rows = [
        f"| `{name.upper()}` | {_default(field.default)} | {field.description} |"
        for name, field in Env.model_fields.items()
        if name not in _FAMILIES
    ]
    rows += [
        f"| `{family}` | | {Env.model_fields[name].description} |"
        for name, family in _FAMILIES.items()
    ]
    head = "# Settings\n\nRead from the environment; `NAME_FILE` reads the value of NAME from a file.\n"
    return "\n".join([head, "| name | default | meaning |", "|---|---|---|", *rows, ""])


def _default(value: Any) -> str:
    if isinstance(value, Path):
        return f"`{value.relative_to(ROOT) if value.is_relative_to(ROOT) else value}`"
    return f"`{value}`" if value not in ("", None, PydanticUndefined) else ""


def skills_page() -> str:
    """The index of all skills."""
    rows = [
        f"| [{skill.name}](../{_folder(skill).relative_to(ROOT)}/README.md) | {', '.join(registry.versions(skill))} "
        f"| {'signed' if skill.requires_approval else 'free'} | {skill.metadata.timeout_sec:g} s "
        f"| {description_of(skill)} |"
        for skill in _own()
    ]
    head = "# Skills\n\n| skill | versions | approval | time-out | what it does |\n|---|---|---|---|---|"
    return "\n".join([head, *rows, ""])


def _folder(skill: Skill) -> Path:
    return Path(sys.modules[type(skill).__module__].__file__ or "").resolve().parent


def skill_page(skill: Skill) -> str:
    """The README of one skill, out of its contract; older majors that are still served follow."""
    older = [each for each in registry.every() if each.name == skill.name and each is not skill]
    lines = [f"# {skill.name}", "", *_contract(skill)]
    for each in older:
        lines += [f"# {each.name}@v{each.metadata.version}", "", *_contract(each)]
    return "\n".join(lines)


def _contract(skill: Skill) -> list[str]:
    """Everything a caller needs of one major version."""
    shown = skill_dict(skill)
    meta = skill.metadata
    lines = [
        description_of(skill),
        "",
        f"- **Callers**: {', '.join(shown['roles'])}",
        f"- **Version**: {meta.version} (also callable: {_others(skill)}){_end(skill)}",
        f"- **Risk** {meta.risk_level}, **cost** {meta.cost_class}, "
        f"side effects: {'yes' if meta.side_effects else 'no'}, idempotent: {'yes' if meta.idempotent else 'no'}",
        f"- **Approval**: {'a person signs every call' if skill.requires_approval else 'none'}",
        f"- **Limits**: {meta.timeout_sec:g} s per attempt, {skill.retry.retries} retries "
        f"({', '.join(sorted(skill.retry.codes))}), cache {skill.cache_seconds} s",
        "",
        "## Input",
        *_table(shown["input_schema"]),
        "",
        "## Output",
        *_table(shown["output_schema"]),
        "",
        "## Errors",
        "| code | HTTP | retried | meaning |",
        "|---|---|---|---|",
        *[_error_row(skill, code) for code in sorted({*COMMON_CODES, *skill.error_codes})],
        "",
    ]
    for number, example in enumerate(examples_of(skill), 1):
        text = json.dumps(example, indent=2, ensure_ascii=False, default=float)
        lines += [f"## Example {number}", "```json", text, "```", ""]
    return lines


def _others(skill: Skill) -> str:
    own = skill.metadata.version
    return ", ".join(each for each in registry.versions(skill) if each != own) or "none"


def _end(skill: Skill) -> str:
    """When a deprecated version ends, for the line of its version."""
    if skill.deprecated_since is None:
        return ""
    end = f", gone from {skill.sunset}" if skill.sunset else ""
    return f"; deprecated since {skill.deprecated_since}{end}"


def _table(schema: dict[str, Any]) -> list[str]:
    required = set(schema.get("required", []))
    rows = ["| field | type | required | meaning |", "|---|---|---|---|"]
    for name, field in schema.get("properties", {}).items():
        needed = (
            "yes" if name in required else f"no, `{json.dumps(field.get('default'), default=str)}`"
        )
        meaning = str(field.get("description", "")).replace("\n", " ")
        rows.append(f"| `{name}` | {_type(field)} | {needed} | {meaning} |")
    return rows


def _type(field: dict[str, Any]) -> str:
    if "enum" in field or "const" in field:
        return " / ".join(str(value) for value in field.get("enum", [field.get("const")]))
    if "anyOf" in field:
        return " or ".join(_type(option) for option in field["anyOf"])
    kind = str(field.get("type", "any"))
    limits = {
        "minimum": "≥",
        "maximum": "≤",
        "minLength": "length ≥",
        "maxLength": "length ≤",
        "minItems": "items ≥",
        "maxItems": "items ≤",
    }
    found = [f"{sign} {field[key]}" for key, sign in limits.items() if key in field]
    shape = field.get("format") or field.get("pattern", "")
    return " ".join([kind, *([f"`{shape}`"] if shape else []), *found]).replace("|", "\\|")


def _error_row(skill: Skill, code: str) -> str:
    spec = CODES[code]
    retried = "yes" if code in skill.retry.codes and spec.retryable else "no"
    return f"| {code} | {spec.http_status} | {retried} | {spec.title} |"
