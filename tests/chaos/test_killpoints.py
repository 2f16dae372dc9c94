"""The kill points themselves: inert in every deployment, deadly once where a test arms them."""

import os
import signal
from pathlib import Path
from typing import Any

import pytest

from chimera import env
from chimera.core.killpoints import reach


@pytest.fixture
def folder(tmp_path: Path, settings: Any) -> Path:
    settings.CHIMERA = settings.CHIMERA.model_copy(update={"chimera_kill_at": tmp_path})
    return tmp_path


@pytest.fixture
def killed(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    """Who would have been killed, and how."""
    calls: list[tuple[int, int]] = []
    monkeypatch.setattr(os, "kill", lambda *call: calls.append(call))
    return calls


def test_point_is_inert_where_no_folder_is_named(
    tmp_path: Path, settings: Any, killed: list[tuple[int, int]]
) -> None:
    (tmp_path / "debit.sent").write_text("process")
    assert settings.CHIMERA.chimera_kill_at is None
    reach("debit.sent")
    assert killed == [] and (tmp_path / "debit.sent").exists()


@pytest.mark.parametrize(("scope", "victim"), [("process", os.getpid()), ("group", 0)])
def test_armed_point_kills_once_and_leaves_its_proof(
    folder: Path, killed: list[tuple[int, int]], scope: str, victim: int
) -> None:
    (folder / "debit.sent").write_text(scope)
    reach("debit.signed")
    assert killed == []
    reach("debit.sent")
    reach("debit.sent")
    assert killed == [(victim, signal.SIGKILL)]
    assert (folder / "debit.sent.hit").exists()


def test_production_that_names_the_folder_does_not_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CHIMERA_ENVIRONMENT", "production")
    monkeypatch.setenv("CHIMERA_KILL_AT", str(tmp_path))
    with pytest.raises(env.Misconfigured, match="CHIMERA_KILL_AT kills processes"):
        env.load()
