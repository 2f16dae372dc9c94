"""Generated media under our own address: everybody can read them, nothing else, and for ever."""

from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from chimera.core.errors import ChimeraError
from content.media import media_of
from content.mediatools import store

PNG = b"\x89PNG\r\n\x1a\n and so on"


@pytest.fixture(autouse=True)
def own_folder(settings: Any, tmp_path: Path) -> None:
    settings.CHIMERA = settings.CHIMERA.model_copy(update={"chimera_data_dir": tmp_path})


@pytest.mark.req("A3.3")
def test_a_file_is_served_to_everybody_and_may_be_kept_for_ever() -> None:
    name = store.put(PNG, "png")

    answer = Client().get(f"/media/generated/{name}")

    assert answer.status_code == 200 and b"".join(answer) == PNG  # type: ignore[arg-type]
    assert answer["Content-Type"] == "image/png" and answer["X-Content-Type-Options"] == "nosniff"
    assert answer["Cache-Control"] == "public, max-age=31536000, immutable"
    assert name == f"{sha256(PNG).hexdigest()}.png"


@pytest.mark.parametrize(
    ("asked", "status", "part"),
    [
        ("bytes=0-3", 206, PNG[:4]),
        ("bytes=4-", 206, PNG[4:]),
        ("bytes=-3", 206, PNG[-3:]),
        ("bytes=2-9999", 206, PNG[2:]),
        ("bytes=9999-", 416, b""),
        ("bytes=-", 416, b""),
        ("bytes=0-1,3-4", 200, PNG),
        ("lines=1", 200, PNG),
    ],
)
def test_a_player_gets_the_part_it_asks_for(asked: str, status: int, part: bytes) -> None:
    url = f"/media/generated/{store.put(PNG, 'png')}"

    answer = Client().get(url, headers={"Range": asked})

    body = b"".join(answer) if answer.streaming else answer.content  # type: ignore[arg-type]
    assert (answer.status_code, body) == (status, part)
    if status == 206:
        begin = PNG.index(part)
        told = f"bytes {begin}-{begin + len(part) - 1}/{len(PNG)}"
        assert answer["Content-Range"] == told and int(answer["Content-Length"]) == len(part)


@pytest.mark.parametrize("name", ["secret_key", "..%2fsecret_key", f"{'0' * 64}.png", "a.html"])
def test_nothing_else_is_served(name: str, tmp_path: Path) -> None:
    store.put(PNG, "png")
    (tmp_path / "secret_key").write_text("secret")
    (tmp_path / "generated" / "a.html").write_text("<script>")

    assert Client().get(f"/media/generated/{name}").status_code == 404


def test_a_file_can_only_be_read() -> None:
    assert Client().delete(f"/media/generated/{store.put(PNG, 'png')}").status_code == 405


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (PNG, "png"),
        (b"\xff\xd8\xff\xe0", "jpg"),
        (b"RIFF\0\0\0\0WEBP", "webp"),
        (b"\0\0\0\x18ftypmp42", "mp4"),
        (b"<html><body>", None),
        (b"<svg xmlns='http://www.w3.org/2000/svg'>", None),
        (b"", None),
    ],
)
def test_the_bytes_say_what_they_are(data: bytes, kind: str | None) -> None:
    assert store.kind_of(data) == kind


@pytest.mark.parametrize("environment", ["sandbox", "staging", "production"])
def test_a_package_with_our_media_is_hashed_without_the_network_in_every_environment(
    settings: Any, environment: str
) -> None:
    changes = {"chimera_environment": environment, "chimera_web_url": "https://chimera.invalid"}
    settings.CHIMERA = settings.CHIMERA.model_copy(update=changes)
    url = store.url_of(store.put(PNG, "png"))

    [found] = media_of({"media_urls": [url]})

    assert found["sha256"] == sha256(PNG).hexdigest() and found["type"] == "image"


def test_the_same_path_on_another_host_is_no_file_of_ours(settings: Any) -> None:
    name = store.put(PNG, "png")

    with pytest.raises(ChimeraError) as refused:
        media_of({"media_urls": [f"http://127.0.0.1:9/media/generated/{name}"]})

    assert refused.value.code == "SECURITY_VIOLATION"
