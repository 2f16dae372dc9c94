"""`manage.py demo` with input that it must refuse: status 2, a reason, and nothing started."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from pytest_httpserver import HTTPServer

from tests.chimera.test_stack import PRODUCTION

ROOT = Path(__file__).resolve().parents[2]


def run_demo(data_dir: Path, *arguments: str, **env: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, str(ROOT / "manage.py"), "demo", *arguments],
        env={**os.environ, "CHIMERA_DATA_DIR": str(data_dir), **env},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("", "is empty"),
        ("<html><body>hello</body></html>", "neither a feed nor JSON"),
        ("[1, 2", "is not valid JSON"),
        ("[]", "has no items"),
        ('[{"topic": "no platform"}]', "holds no usable item"),
    ],
)
def test_unusable_trends_end_with_status_2_and_the_reason(
    tmp_path: Path, content: str, reason: str
) -> None:
    feed = tmp_path / "feed"
    feed.write_text(content)
    with pytest.raises(CommandError) as refusal:
        call_command("demo", trends=str(feed))
    assert refusal.value.returncode == 2
    assert reason in str(refusal.value)
    assert str(feed) in str(refusal.value)


def test_missing_trends_file_is_named(tmp_path: Path) -> None:
    answer = run_demo(tmp_path, "--trends", "/nowhere/feed.xml")
    assert answer.returncode == 2
    assert "/nowhere/feed.xml: No such file" in answer.stderr
    assert not list(tmp_path.glob("log/*.log"))


def test_trends_url_that_answers_404_ends_with_status_2(httpserver: HTTPServer) -> None:
    httpserver.expect_request("/feed").respond_with_data("gone", status=404)
    with pytest.raises(CommandError, match="404") as refusal:
        call_command("demo", trends=httpserver.url_for("/feed"))
    assert refusal.value.returncode == 2


@pytest.mark.req("C5")
def test_approving_as_the_demo_reviewer_is_refused_outside_the_sandbox(tmp_path: Path) -> None:
    answer = run_demo(tmp_path, "--approve", **PRODUCTION)
    assert answer.returncode == 1
    assert "works in the sandbox only" in answer.stderr
