"""A reviewer who never signs in: the services are told when the password was checked."""

import pytest
from django.contrib.auth.models import User

from tests.helpers.gate import decider


@pytest.fixture
def reviewer(db: None) -> User:
    """Rita, who may decide."""
    return decider("rita")
