"""Fixtures for a world that tests share; import them in a conftest.py."""

from collections.abc import Iterator

import pytest

from tests.helpers.world import clear_faults, start_world


@pytest.fixture(scope="session")
def shared_world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with start_world(tmp_path_factory.mktemp("world")) as base_url:
        yield base_url


@pytest.fixture
def world(shared_world: str) -> Iterator[str]:
    """Base URL of a running world with no fault armed; posts of other tests may be there."""
    clear_faults(shared_world)
    yield shared_world
    clear_faults(shared_world)
