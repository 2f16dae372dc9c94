"""Skills for tests of what every skill passes through, and an audit log of some entries."""

import pytest

from chimera.core.models import AuditEntry
from tests.helpers.audit_log import verified, write
from tests.skills.conftest import make_skill

__all__ = ["make_skill"]


@pytest.fixture
def log(db: None) -> list[AuditEntry]:
    """Seven entries, numbers 1 to 7, and a whole log."""
    entries = [write(number) for number in range(1, 8)]
    assert [entry.sequence for entry in entries] == list(range(1, 8))
    assert verified() == (0, "")
    return entries
