"""Skills for tests of what every skill passes through."""

from tests.skills.conftest import make_skill

__all__ = ["make_skill"]
