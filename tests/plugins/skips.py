"""Say what a run skipped and how to enable it, in its last line; CHIMERA_TEST_REQUIRE forbids it.

A test that needs something of the machine calls `need("browser", ...)`. The names that
CHIMERA_TEST_REQUIRE lists (postgres, redis, browser) then fail instead of skipping.
"""

import os
from collections import Counter
from collections.abc import Generator

import pytest

REMEDIES = {
    "browser": "install Chromium (Debian: apt install chromium)",
    "postgres": "start PostgreSQL, or name one: CHIMERA_TEST_POSTGRES=postgres://user:password@host",
    "redis": "start Redis, or name one: CHIMERA_TEST_REDIS=redis://host:6379/15",
}


def required() -> set[str]:
    """What CHIMERA_TEST_REQUIRE asks for."""
    names = {name.strip() for name in os.environ.get("CHIMERA_TEST_REQUIRE", "").split(",")} - {""}
    unknown = names - set(REMEDIES)
    if unknown:
        raise pytest.UsageError(
            f"CHIMERA_TEST_REQUIRE names {', '.join(sorted(unknown))}; it knows {', '.join(REMEDIES)}"
        )
    return names


def need(name: str, present: object) -> None:
    """Skip the test when the machine lacks what it needs; fail it when it is required."""
    if present:
        return
    message = f"needs {name}: {REMEDIES[name]}"
    if name in required():
        pytest.fail(f"{message} (CHIMERA_TEST_REQUIRE asks for it)", pytrace=False)
    pytest.skip(message)


def pytest_configure(config: pytest.Config) -> None:
    required()


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_sessionfinish(session: pytest.Session) -> Generator[None, None, None]:
    """Outermost, so what was skipped stands after pytest's own closing line."""
    yield
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if reporter and (skipped := reporter.stats.get("skipped", [])):
        reasons = Counter(_reason(report) for report in skipped)
        text = "; ".join(f"{count} x {reason}" for reason, count in reasons.most_common())
        reporter.write_line(f"Skipped: {text}")


def _reason(report: pytest.TestReport) -> str:
    reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
    return reason.removeprefix("Skipped: ")
