"""Files of a skill: kept when the result is, handed out to the caller alone, and only unchanged."""

import hashlib
import os
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from django.test import Client

from agents.models import Agent
from chimera.core.models import AuditEntry
from skills import artifacts
from skills.contract import SkillContext, SkillResult
from skills.models import SkillExecution, Status
from tests.helpers.calls import call
from tests.skills.conftest import PURE, Word

FILES = {"metadata": {"capabilities": frozenset({"IO"}), "timeout_sec": 5}}
TEXT = b"<h1>Merkato</h1>"


@pytest.fixture(autouse=True)
def own_folder(tmp_path: Path, settings: Any) -> Path:
    settings.CHIMERA = settings.CHIMERA.model_copy(update={"chimera_data_dir": tmp_path})
    return tmp_path


def made(make_skill: Any, agent: Agent, write: Any, **attributes: Any) -> SkillExecution:
    """An execution of a skill that gives the paths that `write(ctx)` returns as its files."""

    async def execute(self: Any, ctx: SkillContext[Word]) -> SkillResult:
        paths = write(ctx)
        return SkillResult(output={"word": "done"}, artifacts=[str(path) for path in paths])

    make_skill(**(FILES | {"execute": execute} | attributes))
    return call(agent, "probe")


def page(ctx: SkillContext[Word]) -> list[Path]:
    path = ctx.folder() / "report.html"
    path.write_bytes(TEXT)
    return [path]


def url(execution: SkillExecution, number: object = 0) -> str:
    return f"/api/v1/executions/{execution.id}/artifacts/{number}/"


@pytest.mark.req("I4", "I6")
def test_the_caller_downloads_what_the_execution_lists(
    make_skill: Any, orchestrator: Agent, api: Any
) -> None:
    execution = made(make_skill, orchestrator, page)
    client: Client = api(orchestrator)

    shown = client.get(f"/api/v1/executions/{execution.id}/").json()["artifacts"]
    answer = client.get(shown[0]["url"])

    sha256 = hashlib.sha256(TEXT).hexdigest()
    assert shown == [
        {"name": "report.html", "size": len(TEXT), "sha256": sha256, "url": url(execution)}
    ]
    assert answer.status_code == 200 and b"".join(answer.streaming_content) == TEXT  # type: ignore[attr-defined]
    assert answer["Content-Disposition"].startswith("attachment;")
    assert answer["Content-Type"] == "application/octet-stream"
    assert answer["X-Content-Type-Options"] == "nosniff" and "no-store" in answer["Cache-Control"]
    assert answer["Content-Security-Policy"] == "default-src 'none'; sandbox"


@pytest.mark.req("I6")
def test_nobody_else_gets_the_file(
    make_skill: Any, orchestrator: Agent, outsider: Agent, api: Any
) -> None:
    execution = made(make_skill, orchestrator, page)

    assert api(outsider).get(url(execution)).status_code == 404
    assert Client().get(url(execution)).status_code == 401
    assert api(orchestrator, "skills:*").get(url(execution)).status_code == 403


@pytest.mark.parametrize("number", [1, 99999999999999999999, -1, "x"])
@pytest.mark.req("I6")
def test_a_number_that_no_file_has_is_not_found(
    number: object, make_skill: Any, orchestrator: Agent, api: Any
) -> None:
    execution = made(make_skill, orchestrator, page)

    assert api(orchestrator).get(url(execution, number)).status_code == 404
    assert api(orchestrator).get(f"/api/v1/executions/{uuid4()}/artifacts/0/").status_code == 404


def _changed(path: Path) -> None:
    path.write_bytes(TEXT.upper())


def _linked(path: Path) -> None:
    other = path.with_name("other")
    path.rename(other)
    path.symlink_to(other)


@pytest.mark.parametrize("harm", [_changed, _linked, Path.unlink])
@pytest.mark.req("I6")
def test_a_file_that_is_not_the_one_made_is_withheld(
    harm: Any, make_skill: Any, orchestrator: Agent, api: Any
) -> None:
    execution = made(make_skill, orchestrator, page)
    harm(next(artifacts.root().rglob("report.html")))

    answer = api(orchestrator).get(url(execution))

    assert (answer.status_code, answer.json()["code"]) == (410, "ARTIFACT_CHANGED")


def _missing(ctx: SkillContext[Word]) -> list[Any]:
    return [ctx.folder() / "never.html"]


def _outside(ctx: SkillContext[Word]) -> list[Any]:
    path = ctx.folder().parent.parent / "elsewhere.txt"
    path.write_text("secret")
    return [path]


def _upwards(ctx: SkillContext[Word]) -> list[Any]:
    _outside(ctx)
    return [ctx.folder() / ".." / ".." / "elsewhere.txt"]


def _link(ctx: SkillContext[Word]) -> list[Any]:
    path = ctx.folder() / "report.html"
    path.symlink_to("/etc/passwd")
    return [path]


def _linked_folder(ctx: SkillContext[Word]) -> list[Any]:
    _outside(ctx)
    (ctx.folder() / "inside").symlink_to(ctx.folder().parent.parent)
    return [ctx.folder() / "inside" / "elsewhere.txt"]


def _pipe(ctx: SkillContext[Word]) -> list[Any]:
    os.mkfifo(ctx.folder() / "report.html")
    return [ctx.folder() / "report.html"]


def _directory(ctx: SkillContext[Word]) -> list[Any]:
    (ctx.folder() / "pages").mkdir()
    return [ctx.folder() / "pages"]


def _relative(ctx: SkillContext[Word]) -> list[Any]:
    page(ctx)
    return ["report.html"]


def _odd_name(ctx: SkillContext[Word]) -> list[Any]:
    path = ctx.folder() / 'a"\r\nX: y.html'
    path.write_text("x")
    return [path]


@pytest.mark.parametrize(
    "write",
    [_missing, _outside, _upwards, _link, _linked_folder, _pipe, _directory, _relative, _odd_name],
)
@pytest.mark.req("I6", "I5")
def test_a_path_that_is_no_file_of_the_execution_is_a_security_error_and_audited(
    write: Any, make_skill: Any, orchestrator: Agent
) -> None:
    execution = made(make_skill, orchestrator, write)

    assert execution.status == Status.FAILED and execution.error["code"] == "SECURITY_VIOLATION"
    assert execution.artifacts == [] and execution.retry_count == 0
    entry = AuditEntry.objects.get(action="execution.security_violation")
    assert entry.object_id == str(execution.id) and entry.actor == orchestrator.actor


@pytest.mark.req("I6", "X3")
def test_a_worker_that_was_given_up_cannot_touch_what_its_successor_delivered(
    make_skill: Any, orchestrator: Agent, api: Any
) -> None:
    execution = made(make_skill, orchestrator, page)
    earlier = SkillExecution(id=execution.id, claims=execution.claims - 1)
    artifacts.folder_of(earlier).mkdir(parents=True)
    (artifacts.folder_of(earlier) / "report.html").write_bytes(b"late")

    assert api(orchestrator).get(url(execution)).status_code == 200


@pytest.mark.req("I8", "I5")
def test_a_skill_that_did_not_declare_io_gets_no_folder(
    make_skill: Any, orchestrator: Agent, own_folder: Path
) -> None:
    execution = made(make_skill, orchestrator, page, metadata=PURE)

    assert execution.error["code"] == "SECURITY_VIOLATION"
    assert not (own_folder / "artifacts").exists()


@pytest.mark.req("I6")
def test_an_answer_with_files_is_never_another_calls_answer(
    make_skill: Any, orchestrator: Agent, outsider: Agent
) -> None:
    first = made(make_skill, orchestrator, page, cache_seconds=60)
    second = call(outsider, "probe")

    assert first.artifacts and not second.cached
    assert second.artifacts[0]["sha256"] == first.artifacts[0]["sha256"]


@pytest.mark.req("I6")
def test_outside_the_framework_the_folder_is_a_temporary_one() -> None:
    context = SkillContext(params=Word())

    assert context.folder().is_dir() and context.folder() == context.folder()
