"""The outside of the platform, each one process for the whole run: the sandbox world and a chain."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.devnet import Devnet, start_devnet
from tests.helpers.world import clear_faults, start_world
from wallets.models import ChainCursor


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


@pytest.fixture(scope="session")
def chain(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Devnet, Path]]:
    """A running chain and its data directory."""
    folder = tmp_path_factory.mktemp("chain")
    with start_devnet(folder) as running:
        yield running, folder


@pytest.fixture
def devnet(chain: tuple[Devnet, Path], settings: Any, db: None) -> Iterator[Devnet]:
    """The chain as the platform's own: described in the data directory, read from its head on."""
    running, folder = chain
    settings.CHIMERA = settings.CHIMERA.model_copy(update={"chimera_data_dir": folder})
    head = int(running.rpc("eth_blockNumber"), 16)
    ChainCursor.objects.create(network="devnet", last_block=head)
    yield running
    running.rpc("chimera_resume")
