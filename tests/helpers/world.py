"""Starts the sandbox world as a process of its own, as the platform does."""

import os
import select
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.helpers.http import HTTP

ROOT = Path(__file__).parents[2]
START_SECONDS = 60


def spawn_world(
    data_dir: Path, port: int = 0, feeds: Sequence[str] = ()
) -> tuple[subprocess.Popen[str], str]:
    """The process and its base URL, once it listens; port 0 takes a free one."""
    hidden = ("CHIMERA_NEWS_FEEDS", "DJANGO_SETTINGS_MODULE")
    options = [f"--port={port}", f"--data-dir={data_dir}", f"--feeds={','.join(feeds)}"]
    process = subprocess.Popen(
        [sys.executable, "-m", "chimera.sandbox", *options],
        cwd=ROOT,
        env={name: value for name, value in os.environ.items() if name not in hidden},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    select.select([process.stdout], [], [], START_SECONDS)
    line = process.stdout.readline() if process.poll() is None else ""
    if "http://" not in line:
        process.kill()
        raise RuntimeError(f"the world did not start: {process.communicate()[1]}")
    return process, line.split()[-1]


@contextmanager
def start_world(data_dir: Path, port: int = 0, feeds: Sequence[str] = ()) -> Iterator[str]:
    """A world on this data directory; yields its base URL, stops it at the end."""
    process, base_url = spawn_world(data_dir, port, feeds)
    try:
        yield base_url
    finally:
        process.terminate()
        process.communicate(timeout=10)


def arm_fault(base_url: str, target: str, kind: str, count: int = 1) -> None:
    """The next `count` calls to the target fail in this way."""
    body = {"target": target, "kind": kind, "count": count}
    HTTP.post(f"{base_url}/faults/", json=body).raise_for_status()


def clear_faults(base_url: str) -> None:
    HTTP.delete(f"{base_url}/faults/").raise_for_status()


def open_account(base_url: str, platform: str, handle: str) -> str:
    """The access token of the account, which is created if need be."""
    body = {"platform": platform, "handle": handle}
    reply = HTTP.post(f"{base_url}/social/accounts", json=body)
    return str(reply.raise_for_status().json()["access_token"])


def list_posts(base_url: str, account: str = "") -> list[dict[str, Any]]:
    """Everything that has been posted, newest first; of one account when it is named."""
    posts = HTTP.get(f"{base_url}/posts.json").raise_for_status().json()
    return [post for post in posts if account in ("", post["account"])]
