"""The providers' servers, with a key that the deployment holds."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.fixtures import FakeServer


@pytest.fixture
def ideogram(fake: Callable[[str], FakeServer], settings: Any, tmp_path: Path) -> FakeServer:
    server = fake("ideogram")
    key = server.account()["access_token"]
    _use(settings, chimera_ideogram_url=server.url, chimera_ideogram_api_key=key)
    _use(settings, chimera_data_dir=tmp_path)
    return server


@pytest.fixture
def runway(fake: Callable[[str], FakeServer], settings: Any, tmp_path: Path) -> FakeServer:
    server = fake("runway")
    key = server.account()["access_token"]
    _use(settings, chimera_runway_url=server.url, chimera_runway_api_key=key)
    _use(settings, chimera_data_dir=tmp_path, chimera_runway_poll_sec=0.02)
    return server


def _use(settings: Any, **changes: Any) -> None:
    settings.CHIMERA = settings.CHIMERA.model_copy(update=changes)
