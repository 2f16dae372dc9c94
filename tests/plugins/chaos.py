"""Options of the chaos tests, and the platform that journeys and chaos share."""

import random
from collections.abc import Iterator

import pytest

from tests.helpers.servers import migrate_ahead, own_servers
from tests.helpers.stack import Stack, free_ports

STACK = pytest.StashKey[Stack]()


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("chaos")
    group.addoption(
        "--chaos-long",
        action="store_true",
        help="kill at every point, alone and with the whole worker, and at random moments",
    )
    group.addoption(
        "--chaos-seed",
        type=int,
        default=None,
        help="repeat the choices of an earlier run; its report names the seed",
    )


def pytest_configure(config: pytest.Config) -> None:
    if config.option.chaos_seed is None:
        config.option.chaos_seed = random.randrange(1_000_000)


def pytest_report_header(config: pytest.Config) -> str:
    extent = "long" if config.option.chaos_long else "short"
    return f"chaos: {extent}, --chaos-seed={config.option.chaos_seed}"


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """What was killed how often, how many journeys ended, how long the platform took to start."""
    stack = config.stash.get(STACK, None)
    if stack is None:
        return
    kills = ", ".join(f"{count} x {what}" for what, count in sorted(stack.kills.items()))
    starts = ", ".join(f"{seconds:.0f} s" for seconds in stack.starts)
    terminalreporter.write_line(
        f"chaos: {stack.journeys} journeys, kill -9 of {kills or 'nothing'}; "
        f"starts {starts}; --chaos-seed={config.option.chaos_seed}"
    )


@pytest.fixture(scope="session")
def shared_stack(
    tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> Iterator[Stack]:
    """One running platform for the whole session; the first campaign is left to the tests."""
    with own_servers() as servers:
        env = {"CHIMERA_RATE_LIMIT": "10000", "CHIMERA_READ_RATE_LIMIT": "100000"} | servers
        stack = Stack(free_ports(), tmp_path_factory.mktemp("stack"), env)
        migrate_ahead(stack.data_dir)
        request.config.stash[STACK] = stack
        try:
            stack.start()
            yield stack
        finally:
            if stack.process:
                stack.interrupt()


@pytest.fixture
def stack(shared_stack: Stack) -> Iterator[Stack]:
    """The shared platform, running and with no kill point armed."""
    if shared_stack.process is None or shared_stack.process.poll() is not None:
        shared_stack.start()
    shared_stack.await_whole()
    yield shared_stack
    shared_stack.disarm()
