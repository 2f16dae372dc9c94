"""Make a new skill: a folder that works, is documented and passes the contract suite as it stands."""

import importlib
import os
import re
import shutil
import tempfile
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError

from chimera.env import ROOT
from skills.catalogue import registry

NAME = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)*")
LONGEST = 40
SKILL = '''"""Give the text back as it came; say here, in one sentence, what the skill does."""

from pydantic import BaseModel, ConfigDict, Field

from skills.contract import CostClass, RiskLevel, Skill, SkillContext, SkillMetadata, SkillResult


class Input(BaseModel):
    """What the skill takes."""

    model_config = ConfigDict(extra="forbid")
    text: str = Field(min_length=1, max_length=2200, description="What the skill works on")


class Output(BaseModel):
    """What the skill gives."""

    text: str = Field(description="What came of it")


class {title}(Skill):
    """Pure: text in, text out."""

    input_model = Input
    output_model = Output
    metadata = SkillMetadata(
        risk_level=RiskLevel.LOW,
        cost_class=CostClass.CHEAP,
        side_effects=False,
        idempotent=True,
        timeout_sec=5,
    )

    async def execute(self, ctx: SkillContext[Input]) -> SkillResult:
        return SkillResult(output=Output(text=ctx.params.text), output_text=ctx.params.text)
'''
EXAMPLES = """[
  {"input": {"text": "Merkato knew first."}, "output": {"text": "Merkato knew first."}}
]
"""


class Command(BaseCommand):
    help = "Make skills/skill_NAME/: a skill that works and passes the contract suite. No other file is edited."
    requires_system_checks = ()  # a skill that is broken must not keep the next one from being made

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("name", help="verb_object in lower_snake_case, e.g. translate_caption")

    def handle(self, *args: Any, name: str, **options: Any) -> None:
        folder = ROOT / "skills" / f"skill_{name}"
        _check(name, folder)
        _make(folder, _title(name))
        importlib.invalidate_caches()
        registry.load_folder(folder.name)
        call_command("docs", stdout=self.stdout, stderr=self.stderr)
        self.stdout.write(
            f"{folder.relative_to(ROOT)} is ready: edit skill.py and examples.json, then run\n"
            "  .venv/bin/python manage.py docs\n"
            f"  .venv/bin/python -m pytest tests/contracts -k {name}"
        )


def _title(name: str) -> str:
    """translate_caption -> TranslateCaption"""
    return "".join(part.capitalize() for part in name.split("_"))


def _check(name: str, folder: Path) -> None:
    """CommandError for a name that cannot be used, with the remedy."""
    if name.startswith("skill_"):
        raise CommandError(f"Leave the skill_ out: {name.removeprefix('skill_')}.")
    if not NAME.fullmatch(name) or not 2 <= len(name) <= LONGEST:
        raise CommandError(
            f"{name[:80]!r} cannot be the name of a skill. Give verb_object in lower case, 2 to "
            f"{LONGEST} letters, digits and single underscores, e.g. translate_caption."
        )
    taken = folder.exists() or any(registry.named(each) for each in (name, _title(name)))
    if taken:
        raise CommandError(f"There is a skill {name} already; choose another name.")


def _make(folder: Path, title: str) -> None:
    """Write the folder beside its place and move it there whole: half a skill stops every process."""
    draft = Path(tempfile.mkdtemp(prefix=".new_", dir=folder.parent))
    try:
        draft.chmod(0o755)
        (draft / "__init__.py").write_text("")
        (draft / "skill.py").write_text(SKILL.replace("{title}", title))
        (draft / "examples.json").write_text(EXAMPLES)
        os.rename(draft, folder)
    except OSError as problem:
        raise CommandError(f"{folder}: {problem.strerror}") from None
    finally:
        shutil.rmtree(draft, ignore_errors=True)
