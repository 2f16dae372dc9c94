"""A new skill is a folder: made by the command, known everywhere, and nothing else is edited."""

import difflib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from chimera.management.commands.new_skill import EXAMPLES, SKILL

ROOT = Path(__file__).parents[2]
PARTS = ("agents", "approvals", "chimera", "content", "skills", "wallets", "docs", "tests")
FILES = ("manage.py", "pyproject.toml", "mcp.sample.json", "README.md")

EDITS = {
    "Give the text back as it came; say here, in one sentence, what the skill does.": (
        "Put the words of a caption that are known into another language; the rest stays as it is."
    ),
    "from skills.contract import": (
        'WORDS = {"am": {"thanks": "አመሰግናለሁ"}, "de": {"market": "Markt", "thanks": "danke"}}\n\n'
        "from skills.contract import"
    ),
    'text: str = Field(min_length=1, max_length=2200, description="What the skill works on")': (
        'caption: str = Field(min_length=1, max_length=2200, description="The caption")\n'
        '    language: str = Field(pattern="^(am|de)$", description="Target language")'
    ),
    'text: str = Field(description="What came of it")': (
        'caption: str = Field(description="The caption in the target language")'
    ),
    "return SkillResult(output=Output(text=ctx.params.text), output_text=ctx.params.text)": (
        "known = WORDS[ctx.params.language]\n"
        '        made = " ".join(known.get(word, word) for word in ctx.params.caption.split())\n'
        "        return SkillResult(output=Output(caption=made), output_text=made)"
    ),
}
EXAMPLE = {
    "input": {"caption": "thanks market", "language": "de"},
    "output": {"caption": "danke Markt"},
}
ASK = """
from django.test import Client
from agents.services import agent_create, credential_issue
agent = agent_create(name="Tester", role="orchestrator", actor="system:test")
key = credential_issue(agent=agent, actor="system:test")
body = {"grant_type": "client_credentials", "client_id": key.client_id, "client_secret": key.client_secret,
        "scope": "skills:translate_caption"}
token = Client(headers={"Host": "localhost"}).post("/oauth/token/", body).json()["access_token"]
client = Client(headers={"Host": "localhost", "Authorization": f"Bearer {token}"})
shown = client.get("/api/v1/skills/translate_caption/").json()
made = client.post("/api/v1/skills/translate_caption/executions/",
                   '{"input": {"caption": "thanks market", "language": "de"}}', content_type="application/json")
from skills import invoke
said = invoke("translate_caption", agent=agent, caption="thanks market", language="de")
print(shown["input_schema"]["required"], made.status_code, said)
"""


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the project."""
    copy = tmp_path_factory.mktemp("house")
    for part in PARTS:
        shutil.copytree(ROOT / part, copy / part, ignore=shutil.ignore_patterns("__pycache__"))
    for part in ("templates", "static"):
        (copy / part).symlink_to(ROOT / part)
    for file in FILES:
        shutil.copy(ROOT / file, copy / file)
    return copy


Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def run(house: Path, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """`run("manage.py", ...)` runs Python in the copy, with a database of its own."""
    drop = ("DATABASE_URL", "CACHE_URL", "CELERY_BROKER_URL", "CHIMERA_TEST_REQUIRE")
    data = str(tmp_path_factory.mktemp("data"))
    environment = {key: value for key, value in os.environ.items() if key not in drop}
    environment |= {"CHIMERA_DATA_DIR": data, "PYTHONPATH": str(house)}

    def run(*arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
        command = [sys.executable, *arguments]
        return subprocess.run(
            command, cwd=house, env=environment, input=stdin, text=True, capture_output=True
        )

    return run


def _state(house: Path) -> dict[str, bytes]:
    files = (path for part in PARTS for path in (house / part).rglob("*"))
    return {
        str(path.relative_to(house)): path.read_bytes()
        for path in files
        if path.is_file() and "__pycache__" not in path.parts
    }


@pytest.fixture(scope="module")
def made(house: Path, run: Run) -> dict[str, bytes]:
    """The project before `new_skill translate_caption`, which has been run."""
    before = _state(house)
    ran = run("manage.py", "new_skill", "translate_caption")
    assert ran.returncode == 0, ran.stderr
    return before


CONTRACTS = (
    "-m",
    "pytest",
    "-q",
    "-p",
    "no:cacheprovider",
    "-k",
    "translate_caption or up_to_date",
)
CONTRACT = (*CONTRACTS, "tests/contracts/test_every_skill.py")
SUITE = (*CONTRACT, "tests/contracts/test_bad_input.py")


@pytest.mark.req("B5")
def test_a_new_skill_passes_the_contract_suite_as_it_is_made(
    house: Path, run: Run, made: dict[str, bytes]
) -> None:
    after = _state(house)
    changed = {path for path in made if after.get(path) != made[path]}
    new = {Path(path).name for path in after.keys() - made.keys()}

    suite = run(*SUITE)

    assert suite.returncode == 0, suite.stdout
    assert new == {"__init__.py", "skill.py", "examples.json", "README.md"}
    assert changed == {"docs/skills.md"}, "the index that manage.py docs writes, and nothing else"


@pytest.mark.req("B5", "B4")
def test_translate_caption_takes_less_than_thirty_edited_lines_in_its_own_folder(
    house: Path, run: Run, made: dict[str, bytes]
) -> None:
    folder = house / "skills" / "skill_translate_caption"
    original = (folder / "skill.py").read_text() + (folder / "examples.json").read_text()
    text = (folder / "skill.py").read_text()
    for old, new in EDITS.items():
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    (folder / "skill.py").write_text(text)
    (folder / "examples.json").write_text(f"[{json.dumps(EXAMPLE, ensure_ascii=False)}]\n")
    edited = text + (folder / "examples.json").read_text()

    docs, suite = run("manage.py", "docs"), run(*CONTRACT)
    run("manage.py", "migrate", "-v0")
    asked = run("manage.py", "shell", "-v0", stdin=ASK)

    diff = difflib.ndiff(original.splitlines(), edited.splitlines())
    assert sum(line.startswith("+ ") for line in diff) < 30
    assert docs.returncode == suite.returncode == 0, suite.stdout
    assert "['caption', 'language'] 202 {'caption': 'danke Markt'}" in asked.stdout, asked.stderr
    assert "translate_caption" in (house / "docs" / "skills.md").read_text()
    assert "Target language" in (folder / "README.md").read_text()


@pytest.fixture
def say_again(house: Path) -> Iterator[Path]:
    """The folder of a skill like a new one, which a test breaks."""
    folder = house / "skills" / "skill_say_again"
    folder.mkdir()
    (folder / "__init__.py").touch()
    (folder / "skill.py").write_text(SKILL.replace("{title}", "SayAgain"))
    (folder / "examples.json").write_text(EXAMPLES)
    yield folder
    shutil.rmtree(folder)


def _change(file: Path, old: str, new: str) -> None:
    text = file.read_text()
    assert text.count(old) == 1, old
    file.write_text(text.replace(old, new))


@pytest.mark.req("B4", "B5")
def test_an_output_that_breaks_its_model_fails_the_contract_suite_by_its_field(
    run: Run, say_again: Path
) -> None:
    _change(say_again / "skill.py", "=Output(text=ctx.params.text)", '={"text": "x", "unkown": []}')
    _change(say_again / "examples.json", '"output": {"text"', '"output": {"txt"')

    suite = run(*CONTRACTS[:-1], "say_again", "tests/contracts/test_every_skill.py")

    assert "2 failed" in suite.stdout and ".unkown: Output has no such field" in suite.stdout
    said = "skill_say_again/examples.json: example 1: output.text: Field required"
    assert said in suite.stdout, suite.stdout


@pytest.mark.req("B4")
def test_documents_are_not_written_from_an_example_that_breaks_its_model(
    run: Run, say_again: Path
) -> None:
    _change(say_again / "examples.json", '"output": {"text"', '"output": {"txt"')

    ran = run("manage.py", "docs")

    said = "CommandError: skill_say_again/examples.json: example 1: output.text: Field required\n"
    assert (ran.returncode, ran.stdout, ran.stderr) == (1, "", said)
    assert not (say_again / "README.md").exists()


@pytest.mark.req("B5", "W1")
def test_an_incomplete_skill_ends_a_command_with_one_line_that_names_it(
    run: Run, say_again: Path
) -> None:
    _change(say_again / "skill.py", "    metadata = ", "    meta_data = ")

    ran = run("manage.py", "check")

    assert ran.returncode == 1 and ran.stdout == ""
    assert ran.stderr == "IncompleteSkill: SayAgain: metadata is missing\n"


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("echo", "There is a skill echo already"),
        ("normalize_handle", "There is a skill normalize_handle already"),
        ("skill_translate", "Leave the skill_ out: translate"),
        ("Translate", "cannot be the name of a skill"),
        ("translate-caption", "cannot be the name of a skill"),
        ("translate__caption", "cannot be the name of a skill"),
        ("../evil", "cannot be the name of a skill"),
        ("", "cannot be the name of a skill"),
        ("x", "cannot be the name of a skill"),
        ("x" * 41, "2 to 40 letters"),
        ("2nd_try", "cannot be the name of a skill"),
        ("übersetze", "cannot be the name of a skill"),
    ],
)
@pytest.mark.req("B5")
def test_a_bad_or_taken_name_is_refused_and_nothing_is_written(name: str, why: str) -> None:
    before = {path.name for path in (ROOT / "skills").iterdir()}

    with pytest.raises(CommandError, match=why):
        call_command("new_skill", name)
    assert {path.name for path in (ROOT / "skills").iterdir()} == before
